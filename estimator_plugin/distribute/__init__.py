"""Training on many machines: TensorFlow's parameter servers, and tables that live on them."""

from .cluster import rank_id, rank_size
from .local_cluster import LocalCluster, local_cluster
from .placement import servers
from .session_config import session_config
from .sync_replicas import SyncReplicasOptimizer

__all__ = [
    "LocalCluster",
    "SyncReplicasOptimizer",
    "local_cluster",
    "rank_id",
    "rank_size",
    "servers",
    "session_config",
]

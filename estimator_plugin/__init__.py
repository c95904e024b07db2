"""Growing embedding tables for tf.estimator: the public names.

    import estimator_plugin as ep

    table = ep.create_table(tf.int64, 16, "user", tf.compat.v1.truncated_normal_initializer())
    embeddings = ep.sparse_lookup(table, features["user"], is_train=mode == "train")
    train_op = ep.optimizers.lazy_adam.create_hash_optimizer(0.01).minimize(loss, global_step)

The sub-packages `hooks`, `model_fns` and `sparse_core` load when they are first used.
"""

import importlib
import os

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(_HERE)
# In a bare checkout the sub-packages ops, hooks and model_fns lie beside this directory.
if not os.path.isdir(os.path.join(_HERE, "ops")) and os.path.isfile(
    os.path.join(_ROOT, "ops", "__init__.py")
):
    __path__.append(_ROOT)

from .requirements import check  # noqa: E402

check()

from . import admission, checkpoint, constants, distribute  # noqa: E402, I001
from . import eviction, optimizers, warm_start  # noqa: E402
from .config import Config, get_config  # noqa: E402
from .feature_pipeline import get_asc_insert_func, start_asc_pipeline  # noqa: E402
from .feature_spec import FeatureSpec  # noqa: E402
from .graph.session import (  # noqa: E402
    do_merge_lookup,
    get_initializer,
    modify_graph_and_start_emb_cache,
)
from .host_pipeline import import_host_pipeline_ops  # noqa: E402
from .initialize import init, terminate_config_initializer  # noqa: E402
from .table_export import export  # noqa: E402
from .lookup import sparse_lookup  # noqa: E402
from .table import EmbeddingTable, create_table  # noqa: E402
from .table_initialization import tables_initializer  # noqa: E402
from .variable import get_dense_and_sparse_variable  # noqa: E402
from .version import __version__  # noqa: E402

__all__ = [
    "Config",
    "EmbeddingTable",
    "FeatureSpec",
    "__version__",
    "admission",
    "checkpoint",
    "constants",
    "create_table",
    "distribute",
    "do_merge_lookup",
    "eviction",
    "export",
    "get_asc_insert_func",
    "get_config",
    "get_dense_and_sparse_variable",
    "get_initializer",
    "hooks",
    "import_host_pipeline_ops",
    "init",
    "model_fns",
    "modify_graph_and_start_emb_cache",
    "optimizers",
    "sparse_core",
    "sparse_lookup",
    "start_asc_pipeline",
    "tables_initializer",
    "terminate_config_initializer",
    "warm_start",
]

_LAZY = ("hooks", "model_fns", "sparse_core")

if distribute.cluster.is_server():
    # It runs ops of graphs that others build, and builds none itself.
    importlib.import_module(__name__ + ".ops").load()


def __getattr__(name):
    if name in _LAZY:
        return importlib.import_module("%s.%s" % (__name__, name))
    raise AttributeError("module %r has no attribute %r" % (__name__, name))

"""TPUEmbeddingV2's mid-level API on CPUs: tables stacked into few variables, sharded by row.

from estimator_plugin import sparse_core

item = sparse_core.TableConfig(1000, 16, combiner="sum", name="item")
features = {"item": sparse_core.FeatureConfig(item, output_shape=[64])}
embedding = sparse_core.TPUEmbeddingV2(features, sparse_core.Adagrad(0.1))
activations, csr = embedding({"item": ids})
update = embedding.apply_gradients({"item": gradient}, csr)
"""

from .configuration import (
    FeatureConfig,
    QuantizationConfig,
    SparseCoreEmbeddingConfig,
    TableConfig,
)
from .embedding import TPUEmbeddingV2
from .initialization import ShardInfo
from .layout import SparseCoreTableLayout
from .optimizers import FTRL, SGD, Adagrad, AdagradMomentum, Adam
from .preprocessing import PartitionedCsrFormatTensor

__all__ = [
    "Adagrad",
    "AdagradMomentum",
    "Adam",
    "FTRL",
    "FeatureConfig",
    "PartitionedCsrFormatTensor",
    "QuantizationConfig",
    "SGD",
    "ShardInfo",
    "SparseCoreEmbeddingConfig",
    "SparseCoreTableLayout",
    "TPUEmbeddingV2",
    "TableConfig",
]

"""Models for `tf.estimator.Estimator` on embedding tables, and the builder under them."""

from .builder import build_model_fn
from .config import MlpConfig, ModelOptions, Optimizers
from .dcn_v2 import CrossConfig, dcn_v2
from .deepfm import deepfm
from .dlrm import dlrm
from .features import CategoricalFeature, NumericFeature, TableSpec
from .heads import BinaryHead, Head, RegressionHead
from .inputs import NetworkInputs
from .serving import serving_input_receiver_fn
from .sparse_core_embeddings import SparseCoreOptions
from .wide_and_deep import wide_and_deep

__all__ = [
    "BinaryHead",
    "CategoricalFeature",
    "CrossConfig",
    "Head",
    "MlpConfig",
    "ModelOptions",
    "NetworkInputs",
    "NumericFeature",
    "Optimizers",
    "RegressionHead",
    "SparseCoreOptions",
    "TableSpec",
    "build_model_fn",
    "dcn_v2",
    "deepfm",
    "dlrm",
    "serving_input_receiver_fn",
    "wide_and_deep",
]

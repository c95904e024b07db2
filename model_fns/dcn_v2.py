"""DCN V2 (Wang et al. 2021), stacked: explicit feature crosses, then a deep network over them."""

import dataclasses
from typing import Optional

from . import towers
from .builder import build_model_fn
from .config import MlpConfig


@dataclasses.dataclass(frozen=True)
class CrossConfig:
    """The cross network.

    Args:
      layers: cross layers, at least 1; n layers model crosses of up to n + 1 features.
      rank: None for full weight matrices, else the rank of their factors.
      l2: weight of the kernels' squared norms (halved) in the loss.

    Raises:
      ValueError: a value is out of range.
    """

    layers: int = 2
    rank: Optional[int] = None
    l2: float = 0.0

    def __post_init__(self):
        if not isinstance(self.layers, int) or self.layers < 1:
            raise ValueError(
                "CrossConfig: layers must be an int of at least 1, got %r" % (self.layers,)
            )
        if self.rank is not None and (not isinstance(self.rank, int) or self.rank < 1):
            raise ValueError(
                "CrossConfig: rank must be None or an int of at least 1, got %r" % (self.rank,)
            )
        if self.l2 < 0:
            raise ValueError("CrossConfig: l2 must not be negative, got %r" % (self.l2,))


def dcn_v2(features, cross=None, mlp=None, options=None):
    """A model_fn: embeddings and numbers → cross network → deep network → logit.

    Args:
      features: list of `CategoricalFeature` (tables of any dims) and `NumericFeature`.
      cross: `CrossConfig` of the cross network.
      mlp: `MlpConfig` of the deep network.
      options: `ModelOptions`.

    Returns:
      A model_fn, see `build_model_fn`.
    """
    cross = cross or CrossConfig()
    mlp = mlp or MlpConfig()

    def network(inputs, training):
        x = inputs.concatenated()
        crossed = towers.cross_network(x, cross.layers, "cross", cross.rank, cross.l2)
        deep = towers.mlp(crossed, mlp, "deep", training)
        return towers.dense(deep, 1, "logit")

    return build_model_fn(network, features, options)

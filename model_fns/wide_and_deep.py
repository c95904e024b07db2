"""Wide & Deep (Cheng et al. 2016): a linear model and a deep network trained together."""

from . import towers
from .builder import build_model_fn
from .config import MlpConfig


def wide_and_deep(features, mlp=None, options=None):
    """A model_fn: logit = one weight per id + deep network over embeddings and numbers.

    Both parts see all features; for a crossed feature, cross the ids in the input pipeline. Both
    share the one sparse optimizer, where the paper trains the wide part with FTRL.

    Args:
      features: list of `CategoricalFeature` (tables of any dims) and `NumericFeature`.
      mlp: `MlpConfig` of the deep network.
      options: `ModelOptions`.

    Returns:
      A model_fn, see `build_model_fn`.
    """
    mlp = mlp or MlpConfig()

    def network(inputs, training):
        deep = towers.mlp(inputs.concatenated(), mlp, "deep", training)
        return inputs.linear_logit() + towers.dense(deep, 1, "logit")

    return build_model_fn(network, features, options, first_order=True)

"""DeepFM (Guo et al. 2017): a factorization machine and a deep network on the same embeddings."""

from . import towers
from .builder import build_model_fn
from .config import MlpConfig


def deepfm(features, mlp=None, options=None):
    """A model_fn: logit = first-order weights + pairwise products of embeddings + deep network.

    Args:
      features: list of `CategoricalFeature` (tables of one dim) and `NumericFeature`.
      mlp: `MlpConfig` of the deep network.
      options: `ModelOptions`.

    Returns:
      A model_fn, see `build_model_fn`.

    Example:
      users, items = TableSpec("user", dim=16), TableSpec("item", dim=16)
      model_fn = deepfm([CategoricalFeature("user_id", users), CategoricalFeature("item_id",
      items)]) tf.estimator.Estimator(model_fn, "/tmp/model").train(input_fn, steps=100)
    """
    mlp = mlp or MlpConfig()

    def network(inputs, training):
        deep = towers.mlp(inputs.concatenated(), mlp, "deep", training)
        pairs = towers.factorization_machine(inputs.stacked())
        return inputs.linear_logit() + pairs + towers.dense(deep, 1, "logit")

    return build_model_fn(network, features, options, first_order=True)

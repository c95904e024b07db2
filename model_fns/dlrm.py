"""DLRM (Naumov et al. 2019): dot products of embeddings and of a vector made of the numbers."""

import tensorflow as tf

from . import towers
from .builder import build_model_fn
from .config import MlpConfig


def dlrm(features, bottom=None, top=None, options=None):
    """A model_fn: numbers → bottom MLP → one more field; dot products → top MLP → logit.

    Args:
      features: list of `CategoricalFeature` (tables of one dim) and `NumericFeature`; without
        numbers there is no bottom MLP.
      bottom: `MlpConfig` of the hidden layers of the bottom MLP; a layer of the tables' dim follows
        them.
      top: `MlpConfig` of the top MLP.
      options: `ModelOptions`.

    Returns:
      A model_fn, see `build_model_fn`.
    """
    bottom = bottom or MlpConfig((64,))
    top = top or MlpConfig()

    def network(inputs, training):
        fields = inputs.stacked()
        carried = []
        if inputs.dense is not None:
            hidden = towers.mlp(inputs.dense, bottom, "bottom", training)
            vector = towers.dense(hidden, int(fields.shape[2]), "bottom_field", bottom.activation)
            fields = tf.concat([fields, tf.expand_dims(vector, 1)], axis=1)
            carried = [vector]
        if int(fields.shape[1]) < 2:
            raise ValueError(
                "dlrm needs at least two fields to multiply, got one categorical feature"
            )
        interactions = tf.concat(carried + [towers.dot_interaction(fields)], axis=1)
        return towers.dense(towers.mlp(interactions, top, "top", training), 1, "logit")

    return build_model_fn(network, features, options)

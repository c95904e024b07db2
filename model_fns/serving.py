"""What an exported model is fed with."""

import tensorflow as tf

from .features import split_features


def serving_input_receiver_fn(features):
    """A receiver for `export_saved_model`: one placeholder per feature, under its name.

    A feature without combiner is fed as `[batch]`; one with a combiner as `[batch, n]`, padded with
    -1 (or ""); a number as `[batch, size]`.

    Args:
      features: the list the model was built with.

    Returns:
      A function without arguments that returns a `ServingInputReceiver`.

    Example:
      estimator.export_saved_model("/tmp/export", serving_input_receiver_fn(features))
    """
    categorical, numeric = split_features(features)

    def receiver():
        placeholder = tf.compat.v1.placeholder
        tensors = {}
        # A scope of their own: a placeholder must not take the name of a variable.
        with tf.compat.v1.name_scope("serving"):
            for feature in categorical:
                shape = [None] if feature.combiner is None else [None, None]
                tensors[feature.name] = placeholder(feature.dtype, shape, feature.name)
            for feature in numeric:
                shape = [None, feature.size]
                tensors[feature.name] = placeholder(tf.float32, shape, feature.name)
        return tf.estimator.export.ServingInputReceiver(tensors, tensors)

    return receiver

"""What a network gets to see of a batch."""

import collections

import tensorflow as tf


class NetworkInputs(
    collections.namedtuple("NetworkInputs", ["embeddings", "first_order", "dense"])
):
    """One batch, looked up.

    Fields:
      embeddings: ordered dict from feature name to float32 `[batch, dim of its table]`.
      first_order: ordered dict from feature name to float32 `[batch, 1]`, the weight of its ids in
        a linear model; empty unless the model asked for it.
      dense: float32 `[batch, total size]` of all numeric features, or None when there are none.
    """

    __slots__ = ()

    def concatenated(self):
        """Everything but the first-order weights, side by side: `[batch, width]`."""
        parts = list(self.embeddings.values())
        if self.dense is not None:
            parts.append(self.dense)
        return tf.concat(parts, axis=1)

    def stacked(self):
        """The embeddings as fields: `[batch, fields, dim]`.

        Raises:
          ValueError: there are no embeddings or their tables differ in dim.
        """
        dims = collections.OrderedDict((n, int(e.shape[-1])) for n, e in self.embeddings.items())
        if not dims:
            raise ValueError("this model needs at least one CategoricalFeature, got none")
        if len(set(dims.values())) > 1:
            raise ValueError(
                "this model multiplies embeddings, so all tables must have the same dim; got %s"
                % ", ".join("%s=%d" % item for item in dims.items())
            )
        return tf.stack(list(self.embeddings.values()), axis=1)

    def linear_logit(self):
        """The sum of all first-order weights: `[batch, 1]`."""
        return tf.add_n(list(self.first_order.values()))

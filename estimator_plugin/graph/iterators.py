"""The iterator behind an IteratorGetNext, and one like it over a dataset made of its dataset."""

import tensorflow as tf

from .. import tf_compat

v1 = tf.compat.v1
_SUPPORTED = (
    "ids move behind initializable iterators, one-shot iterators and those that an Estimator makes"
)


class InitializableIterator:
    """Made by make_initializable_iterator, Iterator.from_structure or an Estimator.

    Args:
      get_next: the IteratorGetNext operation.
      makers: the MakeIterator operations that start it, each with a dataset of its own.
    """

    def __init__(self, get_next, makers):
        self._get_next = get_next
        self.initializers = makers

    def rebuilt(self, change):
        """The batch of a new iterator over `change(dataset)`, which the old initializers start."""
        datasets = [change(_dataset(op.inputs[0], self._get_next)) for op in self.initializers]
        spec = tf.data.experimental.get_structure(datasets[0])
        handle = tf.raw_ops.IteratorV2(shared_name="", container="", **_types(spec))
        for op, dataset in zip(self.initializers, datasets):
            tf_compat.update_input(op, 0, tf.data.experimental.to_variant(dataset))
            tf_compat.update_input(op, 1, handle)
        return tf.raw_ops.IteratorGetNext(iterator=handle, **_types(spec))


class OneShotIterator:
    """Made by make_one_shot_iterator; it starts by itself.

    Args:
      get_next: the IteratorGetNext operation.
    """

    initializers = ()

    def __init__(self, get_next):
        self._get_next = get_next

    def rebuilt(self, change):
        """The batch of a new iterator over `change(dataset)`."""
        factory = self._get_next.inputs[0].op.get_attr("dataset_factory").name

        def make():
            # A dataset of a function that could run twice, or early, would not be a variant.
            (variant,) = tf.raw_ops.StatefulPartitionedCall(args=[], Tout=[tf.variant], f=factory)
            return change(_dataset(variant, self._get_next))

        handle, spec = _one_shot(make)
        return tf.raw_ops.IteratorGetNext(iterator=handle, **_types(spec))


def _one_shot(make):
    """A one-shot iterator over the dataset that the function `make` makes, and its structure.

    The dataset is made within the iterator: what `make_one_shot_iterator` takes must not call
    functions that have state, as a shuffle has.
    """
    specs = []

    @tf.function(autograph=False)
    def factory():
        dataset = make()
        specs.append(tf.data.experimental.get_structure(dataset))
        return tf.data.experimental.to_variant(dataset)

    function = factory.get_concrete_function()
    return tf.raw_ops.OneShotIterator(dataset_factory=function, **_types(specs[0])), specs[0]


def _types(spec):
    return {
        "output_types": [part.dtype for part in spec],
        "output_shapes": [part.shape for part in spec],
    }


def of(get_next):
    """The iterator that the operation `get_next` reads.

    Raises:
      ValueError: it is of another kind, or something else reads it too; the message says what.
    """
    handle = get_next.inputs[0]
    others = [op for op in handle.consumers() if op is not get_next]
    makers = [op for op in others if op.type == "MakeIterator"]
    # Every Iterator object makes the operation that tells its handle; few ever run it.
    readers = [op for op in others if op.type not in ("MakeIterator", "IteratorToStringHandle")]
    if readers:
        raise ValueError(
            "the iterator of %r is read by %s too; %s, where one get_next() is all that reads them"
            % (get_next.name, ", ".join("%s (%s)" % (x.name, x.type) for x in readers), _SUPPORTED)
        )
    if handle.op.type == "OneShotIterator":
        return OneShotIterator(get_next)
    if not makers:
        raise ValueError(
            "%r reads an iterator of type %s, which no dataset of this graph starts; %s"
            % (get_next.name, handle.op.type, _SUPPORTED)
        )
    return InitializableIterator(get_next, makers)


def _dataset(variant, get_next):
    """The dataset whose flat elements `get_next` gives: sparse and ragged ones are tensors of type
    variant, which other operations of the graph take apart."""
    spec = tuple(tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in get_next.outputs)
    return tf.data.experimental.from_variant(variant, spec)

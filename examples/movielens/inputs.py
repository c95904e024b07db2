"""`input_fn`s over arrays in memory.

The arrays stay outside the graph: as constants they would be written with every graph definition.
"""

import numpy as np
import tensorflow as tf


def training_input_fn(features, labels, batch_size, seed):
    """Endless shuffled batches of full size."""

    def row_numbers():
        random = np.random.RandomState(seed)
        while True:
            order = random.permutation(len(labels))
            for start in range(0, len(labels) - batch_size + 1, batch_size):
                yield order[start : start + batch_size]

    return _input_fn(features, labels, row_numbers)


def evaluation_input_fn(features, labels, batch_size):
    """Every event once, in order."""

    def row_numbers():
        for start in range(0, len(labels), batch_size):
            yield slice(start, start + batch_size)

    return _input_fn(features, labels, row_numbers)


def streaming_input_fn(features, labels, batch_size):
    """Every event once, in order; the timestamp of a batch is that of its last event."""

    def row_numbers():
        for start in range(0, len(labels), batch_size):
            yield slice(start, start + batch_size)

    return _input_fn(features, labels, row_numbers, latest=("timestamp",))


def _input_fn(features, labels, row_numbers, latest=()):
    """`latest` names features of which a batch has one value, the last event's."""

    def batches():
        for rows in row_numbers():
            batch = {name: values[rows] for name, values in features.items()}
            batch.update({name: batch[name][-1] for name in latest})
            yield batch, labels[rows]

    def input_fn():
        types = {name: tf.as_dtype(values.dtype) for name, values in features.items()}
        shapes = {name: [None] + list(values.shape[1:]) for name, values in features.items()}
        shapes.update({name: [] for name in latest})
        dataset = tf.data.Dataset.from_generator(
            batches, (types, tf.as_dtype(labels.dtype)), (shapes, [None])
        )
        options = tf.data.Options()
        # There is nothing to tune, and closing a session can wait a minute for the tuner to wake.
        options.autotune.enabled = False
        return dataset.prefetch(2).with_options(options)

    return input_fn

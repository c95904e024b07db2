"""The Estimator's DeepFM with ids that the graph hashes from strings, 106,496 of them a step."""

import numpy as np
import tensorflow as tf

from benchmarks.scenarios import estimator
from benchmarks.workload import FEATURES


def _input_fn(workload):
    generator = np.random.RandomState(0)
    samples = (workload.batches, workload.samples)
    dense = generator.random_sample(samples + (estimator.DENSE_FEATURES,)).astype(np.float32)
    clicks = (generator.random_sample(samples + (1,)) < 0.25).astype(np.float32)

    def as_strings(ids, dense, labels):
        features = {"c%d" % i: tf.strings.as_string(ids[:, i]) for i in range(FEATURES)}
        return dict(features, dense=dense), labels

    dataset = tf.data.Dataset.from_tensor_slices((workload.by_feature(), dense, clicks))
    return dataset.map(as_strings).cache().repeat().prefetch(2)  # Strings are made once.


def serve(channel, system_class, dim, optimizer, workload):
    """As `estimator.serve`."""
    estimator.serve(channel, system_class, dim, optimizer, workload, _input_fn)

"""26 features of ids below a table's rows: one id a sample, or lists of 1 to 15, on average 8."""

import numpy as np
import tensorflow as tf

from benchmarks.workload import FEATURES, zipf_ranks

_BATCHES = 4  # With lists, 55 MB of ids at 4096 samples.
_LONGEST = 15  # No list is empty: tf.nn.embedding_lookup_sparse asks for that.


class Features:
    """Placeholders of one batch, and batches to feed them.

    Args:
      kind: "dense" or "ragged".
      workload: Workload; each table has its rows // 26.

    Attributes:
      samples, rows: ints, of a batch and of each table.
      values: list of 26 int64 vectors of ids.
      splits, samples_of_ids: likewise, where each sample's ids end, and which sample an id is of:
        every system is given the form that it works with.
    """

    KINDS = ("dense", "ragged")

    def __init__(self, kind, workload):
        self.kind = kind
        self.samples = workload.samples
        self.rows = workload.rows // FEATURES
        shape = [self.samples if kind == "dense" else None]
        self.values = [tf.compat.v1.placeholder(tf.int64, shape) for _ in range(FEATURES)]
        if kind == "dense":
            self.splits = [tf.range(self.samples + 1, dtype=tf.int64)] * FEATURES
            self.samples_of_ids = [tf.range(self.samples, dtype=tf.int64)] * FEATURES
        else:
            end = [self.samples + 1]
            self.splits = [tf.compat.v1.placeholder(tf.int64, end) for _ in range(FEATURES)]
            self.samples_of_ids = [
                tf.compat.v1.placeholder(tf.int64, shape) for _ in range(FEATURES)
            ]

    def inputs(self):
        """A list of tensors, or of RaggedTensors by their splits."""
        if self.kind == "dense":
            return self.values
        return [
            tf.RaggedTensor.from_row_splits(values, splits, validate=False)
            for values, splits in zip(self.values, self.splits)
        ]

    def by_sample(self):
        """A list of RaggedTensors by the sample of each id, which segment sums go by."""
        return [
            tf.RaggedTensor.from_value_rowids(values, rows, nrows=self.samples, validate=False)
            for values, rows in zip(self.values, self.samples_of_ids)
        ]

    def batches(self):
        """Feeds: popular ids by the Zipf law, their rows scattered over the table."""
        row_of_rank = np.random.RandomState(5).permutation(self.rows)
        generator = np.random.RandomState(11)
        feeds = []
        for batch in range(_BATCHES):
            feed = {}
            lengths = np.ones([FEATURES, self.samples], np.int64)
            if self.kind == "ragged":
                lengths = generator.randint(1, _LONGEST + 1, lengths.shape)
            ids = row_of_rank[zipf_ranks(self.rows, lengths.sum(), seed=20 + batch)]
            by_feature = np.split(ids, np.cumsum(lengths.sum(axis=1))[:-1])
            for feature, values in enumerate(by_feature):
                feed[self.values[feature]] = values
                if self.kind == "ragged":
                    ends = np.cumsum(lengths[feature])
                    feed[self.splits[feature]] = np.concatenate([[0], ends])
                    samples = np.repeat(np.arange(self.samples), lengths[feature])
                    feed[self.samples_of_ids[feature]] = samples
            feeds.append(feed)
        return feeds

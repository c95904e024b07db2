"""Trains a table on batches of ids given by hand, in either of the two ways to set thresholds."""

import collections
import contextlib

import numpy as np
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.ops import table_ops, transfer_ops
from tests.plugin import support

v1 = tf.compat.v1
MODES = ("spec", "config")

Row = collections.namedtuple("Row", ["count", "last_seen"])


def dataset(batches, times=None, names=("ids",)):
    """A dataset of dicts; an element of `batches` is a list of ids, or a tuple of one a name."""

    def generate():
        for i, batch in enumerate(batches):
            parts = batch if isinstance(batch, tuple) else (batch,)
            element = {name: np.array(ids, np.int64) for name, ids in zip(names, parts)}
            if times is not None:
                element["timestamp"] = np.int64(times[i])
            yield element

    types = {name: tf.int64 for name in names}
    shapes = {name: [None] for name in names}
    if times is not None:
        types["timestamp"], shapes["timestamp"] = tf.int64, []
    return tf.data.Dataset.from_generator(generate, types, shapes)


def lookups(table, mode, data, names=("ids",), timed=False, **thresholds):
    """(features, embeddings of each name): training lookups of a dataset's next batch."""
    if mode == "spec":
        specs = [ep.FeatureSpec(name, table_name=table.name, **thresholds) for name in names]
        clock = [ep.FeatureSpec("timestamp", is_timestamp=True)] if timed else []
        data = data.map(ep.get_asc_insert_func(tgt_key_specs=specs + clock))
        features = v1.data.make_one_shot_iterator(data).get_next()
        return features, [ep.sparse_lookup(table, spec, batch=features) for spec in specs]
    features = v1.data.make_one_shot_iterator(data).get_next()
    if timed:
        v1.add_to_collection(ep.constants.ASCEND_TIMESTAMP, features["timestamp"])
    return features, [
        ep.sparse_lookup(table, features[name], access_and_evict_config=thresholds)
        for name in names
    ]


class Training:
    """A table of rows of ones and its training lookups, in a session.

    Args:
      mode: one of MODES.
      batches, times: as `dataset` takes them.
      names: what the parts of a batch are called; a lookup for each.
      table: keyword arguments of create_table.
      **thresholds: access_threshold, eviction_threshold, faae_coefficient.
    """

    def __init__(self, mode, batches, times=None, names=("ids",), table=None, **thresholds):
        self.table = support.table(**(table or {}))
        self.global_step = v1.train.get_or_create_global_step()
        data = dataset(batches, times, names)
        _, found = lookups(self.table, mode, data, names, times is not None, **thresholds)
        with tf.control_dependencies(found):
            self._step = [found, v1.assign_add(self.global_step, 1)]
        self._statistics = table_ops.table_statistics(self.table.handle)
        self._content = transfer_ops.table_export(self.table.handle, self.table.num_buckets)
        self.session = None

    @contextlib.contextmanager
    def running(self):
        """Within it there is a session, with all variables and tables initialized."""
        with support.ready_session() as self.session:
            yield self

    def step(self):
        """Which ids of the next batch have a row: a list of booleans for each lookup."""
        found, _ = self.session.run(self._step)
        return [(embeddings[:, 0] == 1).tolist() for embeddings in found]

    def rows(self):
        """{key: Row} of the table."""
        content = self.session.run(self._content)
        parts = [np.concatenate(p).tolist() for p in (content[2], content[4], content[5])]
        return {key: Row(count, seen) for key, count, seen in zip(*parts)}

    def statistics(self):
        """What `table_ops.STATISTICS` names, as a dict."""
        values = self.session.run(self._statistics).tolist()
        return dict(zip(table_ops.STATISTICS, values))

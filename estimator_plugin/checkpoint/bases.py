"""What the tables of a graph count their changes from, asked and told in a session."""

import collections

import tensorflow as tf

from ..ops import bundle_ops

BaseState = collections.namedtuple(
    "BaseState",
    [
        "prefix",  # str, the checkpoint all tables count from; "" where they have none in common.
        "can_save_delta",  # bool, whether all changes since are known.
    ],
)


class TableBases:
    """The ops that commit saves and read bases; made while the graph is still open.

    Args:
      partitions: Partitions of tables of the default graph.
    """

    def __init__(self, partitions):
        by_device = collections.OrderedDict()
        for partition in partitions:
            by_device.setdefault(partition.device, []).append(partition)
        self._commits = []
        with tf.name_scope("table_bases"):
            self._prefix = tf.compat.v1.placeholder(tf.string, [], "prefix")
            for device, group in by_device.items():
                with tf.device(device):
                    self._commits.append(
                        bundle_ops.commit_save(
                            self._prefix, [p.table_name for p in group], [p.handle for p in group]
                        )
                    )
            self._bases = []
            for partition in partitions:
                with tf.device(partition.device):
                    self._bases.append(tuple(bundle_ops.table_save_base(partition.handle)))

    def commit(self, session, prefix):
        """Makes `prefix`, a checkpoint on disk, the base of all tables it is the newest save of.

        Returns:
          Whether it is the base of all tables now.

        Raises:
          tf.errors.OpError: the checkpoint cannot be read.
        """
        committed = session.run(self._commits, {self._prefix: prefix})
        return all(flag for flags in committed for flag in flags)

    def read(self, session):
        """The BaseState of the tables."""
        bases = session.run(self._bases)
        prefixes = {tf.compat.as_str_any(prefix) for prefix, _ in bases}
        prefix = prefixes.pop() if len(prefixes) == 1 else ""
        return BaseState(prefix, bool(prefix) and all(complete for _, complete in bases))

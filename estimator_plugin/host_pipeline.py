"""`import_host_pipeline_ops`: operations on what a running job admits."""

import tensorflow as tf

from . import graph_state, notices, table_options, tracking, validate
from .ops import usage_ops


class HostPipelineOps:
    """What `import_host_pipeline_ops` returns."""

    @staticmethod
    def set_threshold(input_tensor, emb_name="", ids_name=""):
        """Changes the access threshold of a table while it is trained.

        Run it in the training session, between steps or beside them. A value above 0 is the new
        threshold and keys are counted, again if they were not. 0 freezes counting: the threshold
        stays, keys that have a row keep it, keys that wait go on waiting. The value is saved with
        checkpoints, and holds until the program is given another access_threshold.

        Args:
          input_tensor: int32 tensor; its first element is the value.
          emb_name: str, or a list of one: a table's name. Empty: all tables with a threshold.
          ids_name: accepted for the Rec SDK's sake.

        Returns:
          Scalar int32 tensor, 1.

        Raises:
          ValueError: the graph has no such table, or the table no access_threshold. When run, a
            value below 0, or none, is a tf.errors.InvalidArgumentError.

        >>> change = import_host_pipeline_ops().set_threshold(tf.constant([5]), emb_name="user")
        >>> session.run(change)
        1
        """
        del ids_name
        value = tf.cast(tf.convert_to_tensor(input_tensor), tf.int32)
        changes = [
            _set_threshold(table, partition, value)
            for table in _tables(emb_name)
            for partition in table.partitions
        ]
        with tf.control_dependencies(changes):
            return tf.constant(1, tf.int32)


def import_host_pipeline_ops(so_pkg_name=None):
    """The operations of the Rec SDK's host pipeline that have a meaning here: `set_threshold`.

    Args:
      so_pkg_name: accepted for the Rec SDK's sake; the library is the plugin's own.

    Semantics: `mx_rec.util.ops.import_host_pipeline_ops` of the Rec SDK.
    """
    validate.string("import_host_pipeline_ops", "so_pkg_name", so_pkg_name, 100, optional=True)
    if so_pkg_name is not None:
        notices.no_meaning("import_host_pipeline_ops", ["so_pkg_name"])
    return HostPipelineOps()


def _set_threshold(table, partition, value):
    configured = tracking.rules_of(table).thresholds.access
    with tf.device(partition.device):
        return usage_ops.table_set_threshold(partition.handle, value, access_threshold=configured)


def _tables(emb_name):
    """The tables that `emb_name` names."""
    if isinstance(emb_name, (list, tuple)) and len(emb_name) == 1:
        emb_name = emb_name[0]
    if not isinstance(emb_name, str):
        validate.fail("set_threshold", "emb_name", emb_name, "a table's name")
    state = graph_state.of()
    tables = dict(state.tables, **state.table_of_merged_name)
    counted = [
        t for t in state.tables.values() if tracking.rules_of(t).thresholds.access is not None
    ]
    if not emb_name:
        return counted
    table = tables.get(table_options.normal_name(emb_name))
    if table is None:
        wanted = "the name of a table, one of %s" % (", ".join(map(repr, tables)) or "none so far")
        validate.fail("set_threshold", "emb_name", emb_name, wanted)
    if table not in counted:
        raise ValueError(
            "set_threshold: no training lookup of table %r so far has an access_threshold; give it "
            "one, 0 admits all keys" % table.name
        )
    return [table]

"""Synchronous training: one update for the gradients of several replicas."""

import tensorflow as tf

from .. import lookup_registry, validate
from ..optimizers.base import HashOptimizer
from . import cluster, placement, updates
from .sync_hook import SyncHook

_OWNER = "SyncReplicasOptimizer"


class SyncReplicasOptimizer:
    """Trains variables and tables together, one update for the gradients of several replicas.

    Variables go by `tf.compat.v1.train.SyncReplicasOptimizer`; the gradients of a table's row are
    added up on its server over all replicas and divided by their number, and make one update. A
    gradient that was computed from rows or variables of an update before the last is dropped. With
    one replica the result is that of one process, bit for bit.

    In a graph whose tables live in this process it is the two optimizers and nothing more, so a
    model_fn needs no cases.

    Args:
      dense_optimizer: tf.compat.v1.train.Optimizer of the variables.
      table_optimizer: HashOptimizer of the tables.
      replicas_to_aggregate: int from 1, how many gradients make an update.
      total_num_replicas: int from 1, how many replicas there are; default replicas_to_aggregate.

    Raises:
      ValueError: an argument is of a wrong type or out of range.

    Example, in a model_fn:
      optimizer = ep.distribute.SyncReplicasOptimizer(
          tf.compat.v1.train.AdamOptimizer(0.001),
          ep.optimizers.lazy_adam.create_hash_optimizer(0.01),
          replicas_to_aggregate=ep.distribute.rank_size(),
      )
      train_op = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
      hooks = [optimizer.make_session_run_hook()]

    Semantics: `tf.compat.v1.train.SyncReplicasOptimizer`.
    """

    def __init__(
        self, dense_optimizer, table_optimizer, replicas_to_aggregate, total_num_replicas=None
    ):
        if not isinstance(dense_optimizer, tf.compat.v1.train.Optimizer):
            wanted = "a tf.compat.v1.train.Optimizer"
            validate.fail(_OWNER, "dense_optimizer", dense_optimizer, wanted)
        if not isinstance(table_optimizer, HashOptimizer):
            wanted = "an optimizer of ep.optimizers"
            validate.fail(_OWNER, "table_optimizer", table_optimizer, wanted)
        most = validate.INT32_MAX
        self._required = validate.integer(
            _OWNER, "replicas_to_aggregate", replicas_to_aggregate, 1, most
        )
        total = validate.integer(
            _OWNER, "total_num_replicas", total_num_replicas, 1, most, optional=True
        )
        self._total = total or self._required
        self._dense = dense_optimizer
        self._tables = table_optimizer
        self._sync = None  # TensorFlow's, once gradients are applied in a cluster.
        self._global_step = None
        self._servers = []  # Devices that gradients are handed in at.

    def minimize(self, loss, global_step=None, var_list=None):
        """One step: `compute_gradients`, then `apply_gradients`."""
        return self.apply_gradients(self.compute_gradients(loss, var_list), global_step)

    def compute_gradients(self, loss, var_list=None):
        """Gradients of `loss` for variables and tables.

        Args:
          loss: tensor to minimize.
          var_list: variables, and tables or their handles; None is all trainable variables and all
            tables of the graph.

        Returns:
          A list of (gradient, variable) and (tf.IndexedSlices or None, table).
        """
        tables = None
        if var_list is not None:
            tables = [v for v in var_list if lookup_registry.table_of(v) is not None]
            var_list = [v for v in var_list if lookup_registry.table_of(v) is None]
        dense = self._dense.compute_gradients(loss, var_list)
        if tables is None and not lookup_registry.tables_of_graph() or tables == []:
            return dense
        return dense + self._tables.compute_gradients(loss, tables)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Hands this replica's gradients in, and waits for the update they are part of.

        Args:
          grads_and_vars: pairs as `compute_gradients` gives them, or as HashOptimizer takes them.
          global_step: variable to increase by one with each update; needed in a cluster.
          name: str, the name of the operation.

        Returns:
          The operation that does so.

        Raises:
          ValueError: in a cluster, there is no global_step, no variable has a gradient, or a table
            lives in this process and not on the servers.
        """
        pairs = [tuple(pair) for pair in grads_and_vars]
        of_variables = [p for p in pairs if isinstance(p[1], tf.Variable)]
        of_tables = [p for p in pairs if not isinstance(p[1], tf.Variable)]
        by_table = self._tables.segments_by_table(of_tables) if of_tables else {}
        if not placement.current() and not any(table.is_distributed for table in by_table):
            return self._apply_here(of_variables, of_tables, global_step, name)
        self._check(of_variables, by_table, global_step)
        pushed = updates.accumulate(updates.pack(by_table, self._tables.on_non_finite))
        # The servers count a replica by its gradients of variables, which therefore come last.
        with tf.control_dependencies(pushed):
            of_variables = [(_identity(gradient), v) for gradient, v in of_variables]
        self._global_step = global_step
        self._servers = sorted(
            {partition.device for table in by_table for partition in table.partitions}
            | {variable.device for gradient, variable in of_variables if gradient is not None}
        )
        self._sync = tf.compat.v1.train.SyncReplicasOptimizer(
            _Both(self._dense, self._tables, list(by_table), self._required),
            self._required,
            self._total,
        )
        return self._sync.apply_gradients(of_variables, global_step, name)

    def make_session_run_hook(self, is_chief=None):
        """The hook that every replica's session needs; made after `apply_gradients`.

        Args:
          is_chief: bool; default: what TF_CONFIG says.
        """
        if self._sync is None:
            return tf.compat.v1.train.SessionRunHook()
        is_chief = cluster.is_chief() if is_chief is None else is_chief
        return SyncHook(
            self._sync, self._global_step, self._servers, is_chief, self._required, self._total
        )

    def _apply_here(self, of_variables, of_tables, global_step, name):
        made = []
        if of_variables:
            made.append(self._dense.apply_gradients(of_variables))
        if of_tables:
            made.append(self._tables.apply_gradients(of_tables))
        with tf.control_dependencies(made):
            if global_step is None:
                return tf.no_op(name=name)
            return tf.compat.v1.assign_add(global_step, 1, name=name).op

    def _check(self, of_variables, by_table, global_step):
        if global_step is None:
            validate.fail(_OWNER, "global_step", None, "given, to tell which gradients are late")
        if all(gradient is None for gradient, _ in of_variables):
            raise ValueError(
                "%s: none of %d variables has a gradient; there must be one, by which TensorFlow "
                "counts replicas" % (_OWNER, len(of_variables))
            )
        for table in by_table:
            if not table.is_distributed:
                raise ValueError(
                    "%s: table %r lives in this process, so other replicas cannot share it; create "
                    "it on the servers" % (_OWNER, table.name)
                )


class _Both:
    """What TensorFlow's class takes for the optimizer: its one update is that of the tables too."""

    def __init__(self, dense, tables, trained, required):
        self._dense = dense
        self._tables = tables
        self._trained = trained
        self._required = required

    def apply_gradients(self, grads_and_vars, global_step):
        made = [self._dense.apply_gradients(grads_and_vars)]
        if self._trained:
            made += self._tables.finish(
                updates.apply_accumulated(
                    self._trained,
                    self._tables.hyperparameter_vector(),
                    self._tables,
                    self._required,
                )
            )
        with tf.control_dependencies(made):
            return tf.compat.v1.assign_add(global_step, 1).op


def _identity(gradient):
    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(
            tf.identity(gradient.values), gradient.indices, gradient.dense_shape
        )
    return tf.identity(gradient)

"""The base of the sparse optimizers: from gradients of lookups to one update op per table."""

import collections

import tensorflow as tf

from .. import graph_state, lookup_registry, notices, validate
from ..distribute import updates
from ..ops import update_ops
from . import segments


class HashOptimizer(tf.compat.v1.train.Optimizer):
    """An optimizer of growing tables. Not made directly: see the modules of this package.

    It is used as any `tf.compat.v1.train.Optimizer`, with tables in the place of variables:
    `minimize(loss, global_step)`; `compute_gradients` and `apply_gradients`; or by hand, with

      * `(gradient, addresses)`: a tensor [n, dim] and an address tensor [n] of the collection
        ASCEND_SPARSE_LOOKUP_ID_OFFSET;
      * `(tf.IndexedSlices, table)` or `(tf.IndexedSlices, table.handle)`, with row addresses as
        indices, as `tf.gradients(loss, table.handle)` gives them.

    All gradients that reach a row in one `apply_gradients` are summed and make one update,
    whichever lookups they come from; so give all pairs of a step to one call. Only rows that were
    looked up change. An optimizer works by key and by address whatever
    `init(use_dynamic_expansion=...)` said.

    Args:
      name: str of 1 to 200 characters.
      learning_rate: number from 0 to 10, scalar tensor, variable, or callable without arguments.
      use_locking: bool, accepted; updates of a row never mix in any case.
      on_non_finite: what to do with a row whose summed gradient is NaN or infinite: "reject", the
        default, fails the step and changes no row; "skip" leaves that row as it is.

    A subclass sets `rule` and overrides `hyperparameters`, and `finish` if it keeps a state.
    """

    rule = None  # The name of the update rule in ops/core/update_rule.h.

    def __init__(self, name, learning_rate, use_locking=False, on_non_finite="reject"):
        validate.string("optimizer", "name", name, 200)
        super().__init__(use_locking, name)
        self._owner = "optimizer %r" % name
        validate.boolean(self._owner, "use_locking", use_locking)
        if not callable(learning_rate) and not isinstance(learning_rate, (tf.Tensor, tf.Variable)):
            learning_rate = validate.real(self._owner, "learning_rate", learning_rate, 0, 10)
        self._learning_rate = learning_rate
        self.on_non_finite = validate.choice(
            self._owner, "on_non_finite", on_non_finite, ("reject", "skip")
        )

    def hyperparameters(self):
        """The rule's hyperparameters, numbers or scalar tensors, in the order of update_rule.h."""
        raise NotImplementedError

    def finish(self, updates):
        """The operations of a step, given those that update the tables."""
        return updates

    def learning_rate(self):
        """The learning rate of a step: a float or a scalar tensor."""
        return self._learning_rate() if callable(self._learning_rate) else self._learning_rate

    def compute_gradients(
        self,
        loss,
        var_list=None,
        gate_gradients=None,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        grad_loss=None,
    ):
        """Gradients of `loss` for the training lookups of tables.

        Args:
          loss: tensor to minimize.
          var_list: tables or table handles; None is every table of the graph.
          gate_gradients: accepted; each gradient is used as soon as it is there.
          aggregation_method, colocate_gradients_with_ops, grad_loss: as `tf.gradients` takes them.

        Returns:
          A list of (tf.IndexedSlices or None, table), one for each lookup made with is_train and
          is_grad. The values of the slices are [n, dim], their indices the row addresses [n].

        Raises:
          ValueError: `var_list` holds something that is no table, or there is no such lookup.
        """
        lookups = self._trained_lookups(var_list)
        if not lookups:
            raise ValueError(
                "%s: there is no sparse_lookup with is_train=True to train" % self._owner
            )
        gradients = tf.compat.v1.gradients(
            loss,
            [lookup.embeddings for lookup in lookups],
            grad_ys=grad_loss,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        return [
            (segments.slices_of(gradient, lookup), lookup.table)
            for gradient, lookup in zip(gradients, lookups)
        ]

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """One update of every table that has a gradient.

        Args:
          grads_and_vars: pairs as the class describes them; a pair without gradient is dropped.
          global_step: variable to increase by one after the update, or None.
          name: str, the name of the operation; None is the optimizer's name.

        Returns:
          The operation that updates the tables.

        Raises:
          ValueError: no pair has a gradient; a pair holds no table and no address; shapes differ;
            a table has another optimizer in this graph.
        """
        by_table = self.segments_by_table(grads_and_vars)
        with tf.compat.v1.name_scope(name or self._name):
            hyperparameters = self.hyperparameter_vector()
            made = []
            on_servers = collections.OrderedDict()
            for table, pairs in by_table.items():
                if table.is_distributed:
                    on_servers[table] = pairs
                else:
                    made.append(self._update(table, pairs, hyperparameters))
            pushes = updates.pack(on_servers, self.on_non_finite)
            made += updates.apply(pushes, hyperparameters, self)
            train_op = _count_step(tf.group(*self.finish(made), name="update"), global_step)
        train_ops = train_op.graph.get_collection_ref(tf.compat.v1.GraphKeys.TRAIN_OP)
        if train_op not in train_ops:
            train_ops.append(train_op)
        return train_op

    def segments_by_table(self, grads_and_vars):
        """Pairs by table, as `segments.segments_by_table` gives them; the tables are this
        optimizer's from now on."""
        by_table = segments.segments_by_table(self._owner, grads_and_vars)
        for table in by_table:
            self._claim(table)
        return by_table

    def hyperparameter_vector(self):
        """The hyperparameters of a step, a float64 vector."""
        return _double_vector(self.hyperparameters())

    def variables(self):
        """The variables of this optimizer in the default graph; slots live in the tables."""
        return graph_state.of().optimizer_variables(self)

    def _trained_lookups(self, var_list):
        tables = lookup_registry.tables_of_graph()
        if var_list is not None:
            tables = [self._require_table(v) for v in tf.nest.flatten(var_list)]
        return [
            lookup
            for table in tables
            for lookup in lookup_registry.lookups_of(table)
            if lookup.is_train and lookup.is_grad
        ]

    def _require_table(self, variable):
        table = lookup_registry.table_of(variable)
        if table is None:
            validate.fail(
                self._owner, "var_list", variable, "tables; give variables to a dense optimizer"
            )
        return table

    def _claim(self, table):
        owner = graph_state.of(table.graph).optimizer_of_table.setdefault(table.name, self)
        if owner is not self:
            raise ValueError(
                "table %r: optimizer %r trains it already, so optimizer %r cannot; a row has the "
                "slots of one optimizer" % (table.name, owner.get_name(), self._name)
            )

    def _update(self, table, pairs, hyperparameters):
        addresses = [segments.without_padding(table, addresses) for addresses, _ in pairs]
        with tf.device(table.handle.device):
            return update_ops.table_apply_gradients(
                table.handle,
                hyperparameters,
                addresses,
                [gradients for _, gradients in pairs],
                rule=self.rule,
                on_non_finite=self.on_non_finite,
            )


def check_fusion(owner, use_fusion_optim):
    """Checks the argument use_fusion_optim, which changes nothing: every update is one op."""
    validate.boolean(owner, "use_fusion_optim", use_fusion_optim)
    if use_fusion_optim:
        notices.no_meaning("optimizers", ["use_fusion_optim"])


def _double_vector(values):
    """A float64 vector of numbers and scalar tensors."""
    if not any(isinstance(value, (tf.Tensor, tf.Variable)) for value in values):
        return tf.constant(values, tf.float64)
    return tf.stack([tf.reshape(tf.cast(value, tf.float64), []) for value in values])


def _count_step(update, global_step):
    if global_step is None:
        return update
    with tf.control_dependencies([update]):
        return tf.compat.v1.assign_add(global_step, 1).op

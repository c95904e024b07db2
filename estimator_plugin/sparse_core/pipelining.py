"""`pipeline_execution_with_tensor_core=True`: every update happens one step late.

Step i looks up, and its gradients wait; what waited, step i - 1's, updates the tables. So the
lookup of step i sees the updates of steps 0 to i - 2, as it does on TPUs. `flush` applies what
waits. A save flushes first, so no checkpoint lacks an update; the hook of `flush_hook` flushes in
the end.

What waits is no part of checkpoints: its variables are local, and start empty.
"""

import collections

import tensorflow as tf

from ..ops.sparse_core_ops import CsrBuffer
from . import updating

_CSR_FIELDS = ("row_pointers", "sorted_sample_ids", "sorted_token_ids", "sorted_gains")


class Pipeline:
    """What waits for the next step, of all stacks.

    Args:
      plan: plan.Plan.
      variables: dict stack name -> dict slot -> tf.Variable.
      prefix: str before the names of variables.
    """

    def __init__(self, plan, variables, prefix=""):
        self._plan = plan
        self._variables = variables
        self._flush_of_graph = {}
        self._waiting = collections.OrderedDict(
            (stack.name, _Waiting(stack, prefix)) for stack in plan.stacks.values()
        )

    def exchange(self, stack, csr, gradients):
        """The operation that applies what waits of a stack and has this step's wait instead."""
        waiting = self._waiting[stack.name]
        hyperparameters = updating.hyperparameters_of(stack)
        # dequeue makes this step's row pointers wait for its lookup: the update comes after both.
        with tf.control_dependencies([csr.row_pointers]):
            applied = self.flush_stack(stack)
        with tf.control_dependencies(applied):
            return waiting.put(csr, gradients, hyperparameters)

    def flush(self):
        """The operations that apply what waits of all stacks.

        In a graph they are the same at every call: the reads of a save that each ask for them must
        not apply anything twice. (In a tf.function one comes after the other.)
        """
        graph = tf.compat.v1.get_default_graph()
        if tf.executing_eagerly() or graph.building_function:
            return self._flush_all()
        if graph not in self._flush_of_graph:
            with tf.control_dependencies(None):
                self._flush_of_graph[graph] = self._flush_all()
        return self._flush_of_graph[graph]

    def discard(self, stack_name):
        """The operation that forgets what waits of a stack."""
        return self._waiting[stack_name].is_full.assign(False, read_value=False)

    def _flush_all(self):
        return [op for stack in self._plan.stacks.values() for op in self.flush_stack(stack)]

    def flush_stack(self, stack):
        """As `flush`, of one stack. A list: empty when executed eagerly."""
        waiting = self._waiting[stack.name]

        def apply():
            csr, gradients, hyperparameters = waiting.get()
            variables = self._variables[stack.name]
            updated = updating.updated(
                self._plan, stack, variables, csr, gradients, hyperparameters
            )
            with tf.control_dependencies([] if updated is None else [updated]):
                return tf.identity(waiting.is_full.assign(False, read_value=True))

        def nothing():
            return tf.constant(False)

        result = tf.cond(waiting.is_full.read_value(), apply, nothing)
        return [] if tf.executing_eagerly() else [result.op]


class _Waiting:
    """The ids, gradients and hyperparameters of one stack's step, in local variables."""

    def __init__(self, stack, prefix):
        self._prefix = "%s%s/waiting/" % (prefix, stack.name)
        self.is_full = self._variable("is_full", False, [])
        self._csr = [
            self._variable(name, tf.zeros([0], tf.float32 if "gains" in name else tf.int32), [None])
            for name in _CSR_FIELDS
        ]
        self._minibatches = self._variable("num_minibatches", 1, [])
        self._gradients = self._variable(
            "gradients", tf.zeros([0, stack.width]), [None, stack.width]
        )
        count = 1 + len(stack.rule.hyperparameters)
        self._hyperparameters = self._variable(
            "hyperparameters", tf.zeros([count], tf.float64), [count]
        )

    def get(self):
        """(csr, gradients, hyperparameters), read now."""
        csr = CsrBuffer(
            *[variable.read_value() for variable in self._csr],
            row_pointers_unpadded_size=None,
            ids_unpadded_size=None,
            num_minibatches_per_sc=self._minibatches.read_value(),
        )
        return csr, self._gradients.read_value(), self._hyperparameters.read_value()

    def put(self, csr, gradients, hyperparameters):
        """The operation that keeps them; None when executed eagerly."""
        kept = [
            variable.assign(getattr(csr, name), read_value=False)
            for name, variable in zip(_CSR_FIELDS, self._csr)
        ]
        kept.append(self._minibatches.assign(csr.num_minibatches_per_sc, read_value=False))
        kept.append(self._gradients.assign(gradients, read_value=False))
        kept.append(self._hyperparameters.assign(hyperparameters, read_value=False))
        if tf.executing_eagerly():
            self.is_full.assign(True)
            return None
        with tf.control_dependencies(kept):
            return self.is_full.assign(True, read_value=False)

    def _variable(self, name, value, shape):
        return tf.compat.v1.Variable(
            initial_value=value,
            trainable=False,
            collections=[tf.compat.v1.GraphKeys.LOCAL_VARIABLES],
            name=self._prefix + name,
            use_resource=True,
            shape=tf.TensorShape(shape),
        )


class FlushHook(tf.compat.v1.train.SessionRunHook):
    """Applies the update that waits when training ends: see `TPUEmbeddingV2.flush_hook`.

    Not needed where a checkpoint is saved in the end, as an Estimator does.
    """

    def __init__(self, flush):
        self._make_flush = flush
        self._flush = None

    def begin(self):
        self._flush = self._make_flush()

    def end(self, session):
        session.run(self._flush)

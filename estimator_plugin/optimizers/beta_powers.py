"""The state Adam and AMSGrad keep beside the slots: the powers of their betas, one a step."""

import tensorflow as tf

from .. import graph_state
from .base import HashOptimizer


class BetaPowerOptimizer(HashOptimizer):
    """Base of the optimizers that correct for the start by powers of beta1 and beta2.

    The powers belong to the optimizer, not to a row, and advance once a step whichever rows the
    step touches. They are non-trainable variables, `<optimizer>/beta1_power` and `.../beta2_power`,
    in float32 as TensorFlow's AdamOptimizer keeps them, so every Saver saves them.
    """

    def __init__(self, name, learning_rate, betas, use_locking=False, on_non_finite="reject"):
        super().__init__(name, learning_rate, use_locking, on_non_finite)
        self._betas = betas

    def beta_powers(self):
        """The two variables in the default graph, made at the first call."""
        state = graph_state.of()
        if not state.optimizer_variables(self):
            scope = state.optimizer_name(self, self.get_name())
            with tf.init_scope(), tf.compat.v1.name_scope(scope + "/"):
                state.add_optimizer_variables(
                    self,
                    [
                        tf.compat.v1.Variable(
                            beta,
                            name="beta%d_power" % (i + 1),
                            dtype=tf.float32,
                            trainable=False,
                            use_resource=True,
                        )
                        for i, beta in enumerate(self._betas)
                    ],
                )
        return state.optimizer_variables(self)

    def finish(self, updates):
        with tf.control_dependencies(updates):
            return updates + [
                power.assign(power * beta, use_locking=True, read_value=False)
                for power, beta in zip(self.beta_powers(), self._betas)
            ]

"""The hooks that an NPUEstimator adds, and the one that its users add."""

import os

import tensorflow as tf

from .ranks import check_alone


class NPUSaver(tf.compat.v1.train.Saver):
    """The Saver of NPUCheckpointSaverHook: not sharded, built where it is made."""


class NPUCheckpointSaverHook(tf.compat.v1.train.CheckpointSaverHook):
    """Saves with a Saver of its own; the arguments are those of CheckpointSaverHook."""


class IterationsHook(tf.compat.v1.train.SessionRunHook):
    """Makes one `session.run` of the train op `iterations` steps.

    The device loops inside the run; here all steps but the last are made before it, unseen by other
    hooks. Where the data end in between, the steps that had data have been made.

    Args:
      iterations: int from 2.
      train_op: operation that makes one step.
    """

    def __init__(self, iterations, train_op):
        self._iterations = iterations
        self._train_op = train_op

    def before_run(self, run_context):
        for _ in range(self._iterations - 1):
            run_context.session.run(self._train_op)


class NPUBroadcastGlobalVariablesHook(tf.compat.v1.train.SessionRunHook):
    """Gives every rank the trainable variables of the root; there is one rank here.

    Raises:
      RuntimeError: there are several; see `ranks.check_alone`.
    """

    def __init__(self, root_rank=None, index=None):
        self.root_rank = root_rank
        self.index = index

    def begin(self):
        check_alone()


def npu_hooks_append(hooks_list=()):
    """`hooks_list`, a list that is added to in place, with the broadcast of variables at its end.

    What is no list counts as empty.

    >>> estimator.train(input_fn, hooks=npu_hooks_append([ProgressHook()]))

    Semantics: npu_hooks_append of the NPU's TensorFlow adapter.
    """
    hooks = hooks_list if isinstance(hooks_list, list) else []
    hooks.append(NPUBroadcastGlobalVariablesHook(0, int(os.environ.get("RANK_ID", "0"))))
    return hooks

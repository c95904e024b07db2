"""Which operations are a function of one batch alone, and so can move into the input pipeline."""

import collections

import tensorflow as tf

from .. import tf_compat

GET_NEXT = ("IteratorGetNext", "IteratorGetNextSync")
_FED = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
_CONTROL_FLOW = ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "ControlTrigger")

Verdict = collections.namedtuple(
    "Verdict",
    [
        "sources",  # frozenset of the IteratorGetNext operations that it reads.
        "blocker",  # The operation that keeps it in the training step, None if it can move.
        "reason",  # str, why, None if it can move.
    ],
)
CONSTANT = Verdict(frozenset(), None, None)


class Survey:
    """Verdicts on the operations of a graph, each made once.

    An operation can move if it is computed without state, feeds and control flow from the batches
    of at most one IteratorGetNext. One that reads none is a constant.
    """

    def __init__(self):
        self._verdicts = {}

    def verdict(self, op):
        """The Verdict on `op`."""
        waiting = [op]
        while waiting:
            top = waiting[-1]
            if top in self._verdicts:
                waiting.pop()
                continue
            reason = _own_reason(top)
            if reason is not None:
                self._verdicts[top] = Verdict(frozenset(), top, reason)
            elif top.type in GET_NEXT:
                self._verdicts[top] = Verdict(frozenset([top]), None, None)
            else:
                unknown = [x for x in ops_before(top) if x not in self._verdicts]
                waiting += unknown
                if not unknown:
                    self._verdicts[top] = self._joined(top)
        return self._verdicts[op]

    def _joined(self, op):
        verdicts = [self._verdicts[x] for x in ops_before(op)]
        blocked = next((v for v in verdicts if v.blocker is not None), None)
        if blocked is not None:
            return blocked
        sources = frozenset().union(*[v.sources for v in verdicts])
        if len(sources) > 1:
            names = ", ".join(sorted(source.name for source in sources))
            return Verdict(sources, op, "it reads the batches of several iterators, %s" % names)
        return Verdict(sources, None, None)


def ops_before(op):
    """The operations that run before `op` can."""
    return [tensor.op for tensor in op.inputs] + list(op.control_inputs)


def _own_reason(op):
    """Why `op` itself cannot move, None if it can."""
    if op.type in GET_NEXT:
        return None
    if op.type in _FED:
        return "it can be fed"
    if op.type in _CONTROL_FLOW or tf_compat.in_control_flow(op):
        return "it is part of control flow"
    if tf_compat.calls_functions(op):
        return "it calls a function"
    if op.op_def.is_stateful:
        return "it has state"
    if any(_is_shared(tensor.dtype) for tensor in list(op.inputs) + list(op.outputs)):
        return "it reads a variable or another resource"
    return None


def _is_shared(dtype):
    return dtype == tf.resource or dtype != dtype.base_dtype

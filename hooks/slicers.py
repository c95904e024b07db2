"""Hooks that move more than the ids of lookups into the input pipeline."""

import tensorflow as tf

from estimator_plugin import graph_state, validate
from estimator_plugin.graph import requests, survey


class LookupSubgraphSlicerHook(tf.compat.v1.train.SessionRunHook):
    """Moves operations of some types, with what they are computed from, into the input pipeline.

    It says what is to move; GraphModifierHook, which must stand behind it, moves it. What depends
    on more than a batch stays, with one log line each.

    Args:
      op_types: list of at least one type of operation, for example ["StringToNumber"].

    Raises:
      ValueError: op_types is anything else.
      RuntimeError: at the start, the graph was modified already.

    Example:
      hooks = [LookupSubgraphSlicerHook(["StringToNumber"]), GraphModifierHook()]

    Semantics: `mx_rec.graph.slicers.LookupSubgraphSlicerHook` of the Rec SDK. Here it also finds
    operations that no lookup reads; GraphModifierHook(dump_graph=True) writes what moved.
    """

    def __init__(self, op_types):
        name = type(self).__name__
        if not isinstance(op_types, list) or not op_types:
            validate.fail(name, "op_types", op_types, "a list of at least one type of operation")
        for op_type in op_types:
            validate.string(name, "op_types", op_type, 255)
        self._types = set(op_types)

    def begin(self):
        graph = _unmodified_graph(self)
        for op in graph.get_operations():
            if op.type in self._types:
                owner = "LookupSubgraphSlicerHook, operation %r" % op.name
                requests.add(requests.Request(owner, None, list(op.outputs)), graph)


class OrphanLookupKeySlicerHook(tf.compat.v1.train.SessionRunHook):
    """Moves ids that no iterator is read for, constants, into the graph's one input pipeline.

    GraphModifierHook, which must stand behind it, moves them.

    Raises:
      RuntimeError: at the start, the graph was modified already, or has not exactly one iterator.

    Semantics: `mx_rec.graph.slicers.OrphanLookupKeySlicerHook` of the Rec SDK.
    """

    def begin(self):
        graph = _unmodified_graph(self)
        found = [op for op in graph.get_operations() if op.type in survey.GET_NEXT]
        if len(found) != 1:
            raise RuntimeError(
                "OrphanLookupKeySlicerHook: constant ids move to the graph's one iterator, and it "
                "has %d" % len(found)
            )
        graph_state.of(graph).orphans_adopter = found[0]


def _unmodified_graph(hook):
    graph = graph_state.outermost_graph()
    if graph_state.of(graph).pipeline is not None:
        raise RuntimeError(
            "%s: the graph was modified already; put it before GraphModifierHook"
            % type(hook).__name__
        )
    return graph

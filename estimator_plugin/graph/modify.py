"""Modifies a graph: what lookups asked to have moved, moves into the input pipeline."""

import collections

import tensorflow as tf

from .. import config, constants, graph_state, notices, tf_compat
from . import cut, iterators, merge, requests, stand_in, survey

Pipeline = collections.namedtuple(
    "Pipeline",
    [
        "cuts",  # list of Cut, what moved.
        "iterators",  # {IteratorGetNext operation: its iterator} of the cuts.
        "stayed",  # list of str, what did not move and why.
    ],
)


def modify(graph):
    """Moves what the requests of `graph` want moved. Once a graph, before a session runs it.

    Returns:
      Pipeline.

    Raises:
      RuntimeError: the graph was modified before, or no lookup is in it.
      ValueError: an iterator is of a kind that cannot be replaced.
    """
    state = graph_state.of(graph)
    _check(state)
    merge.merge([lookup for lookup in state.lookups if lookup.table.is_merged])
    verdicts = survey.Survey()
    wanted, stayed = _wanted(state, graph, verdicts)
    orphans = [] if state.orphans_adopter is None else _orphans(state, verdicts)
    found = cut.cuts(wanted, verdicts, orphans, state.orphans_adopter)
    cut.say_readers(found, requests.lookup_of_tensor(state.pipeline_requests))
    old = {part.get_next: iterators.of(part.get_next) for part in found}
    with graph.as_default(), tf.control_dependencies(None):
        for part in found:
            _move(part, old[part.get_next])
    for iterator in old.values():
        for op in iterator.initializers:
            graph.add_to_collection(constants.ASCEND_CUTTING_POINT_INITIALIZER, op)
    state.pipeline = Pipeline(found, old, stayed)
    return state.pipeline


def _check(state):
    if state.pipeline is not None:
        raise RuntimeError(
            "this graph was modified already; give one GraphModifierHook, or call "
            "modify_graph_and_start_emb_cache once"
        )
    if not state.lookups:
        raise RuntimeError(
            "this graph has no lookup to modify it for; make its lookups first, in the same graph"
        )
    if not state.pipeline_requests:
        notices.warn_once(
            "no lookup of the graph has modify_graph=True, so nothing moves into the input pipeline"
        )


def _wanted(state, graph, verdicts):
    """(tensors of `graph` to move, lines on what cannot move, which are logged)."""
    wanted, stayed = [], []
    for request in state.pipeline_requests:
        tensors = requests.tensors_of(request)
        obstacle = _obstacle(tensors, graph, verdicts)
        if obstacle is not None:
            stayed.append("%s: stays in the training step from %s" % (request.owner, obstacle))
            notices.warn_once(stayed[-1])
        wanted += [tensor for tensor in tensors if tensor.graph is graph]
    return wanted, stayed


def _obstacle(tensors, graph, verdicts):
    """What keeps some of `tensors` in the training step, None if all can move."""
    if any(tensor.graph is not graph for tensor in tensors):
        return "a function body (tf.map_fn, tf.cond, tf.function)"
    found = [verdicts.verdict(tensor.op) for tensor in tensors]
    for verdict in found:
        if verdict.blocker is not None:
            blocker = verdict.blocker
            return "operation %r (%s): %s" % (blocker.name, blocker.type, verdict.reason)
    adopter = graph_state.of(graph).orphans_adopter
    if adopter is None and not any(verdict.sources for verdict in found):
        op = tensors[0].op
        return "operation %r (%s): it reads no iterator" % (op.name, op.type)
    return None


def _orphans(state, verdicts):
    """The tensors wanted that no iterator is read for."""
    return [
        tensor
        for request in state.pipeline_requests
        for tensor in request.tensors
        if verdicts.verdict(tensor.op) == survey.CONSTANT
    ]


def _move(part, iterator):
    """Makes the operations of a Cut run in the input pipeline."""
    depth = config.get_config().prefetch_batch_number
    get_next = part.get_next
    with tf.device(get_next.device), tf.compat.v1.name_scope("input_pipeline"):
        compute = tf.autograph.experimental.do_not_convert(part.apply)
        batch = iterator.rebuilt(lambda dataset: dataset.map(compute).prefetch(depth))
        for old, new in zip(list(get_next.outputs) + part.outputs, batch):
            tf_compat.repoint(old, new, part.moved)
            old.graph.prevent_feeding(old)  # Nothing reads it any more, so a feed would be lost.
        stand_in.install(get_next, batch[: len(get_next.outputs)])

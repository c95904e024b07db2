"""Which tensors of a graph somebody wants computed in the input pipeline."""

import collections
import re
import threading

import tensorflow as tf

from .. import graph_state, notices

_hook_was_made = threading.Event()

Request = collections.namedtuple(
    "Request",
    [
        "owner",  # str, who asks, for log lines.
        "lookup",  # lookup_registry.Lookup that asks; None if it is none.
        "tensors",  # The tensors to move.
    ],
)


def announce_hook():
    """Says that this process has a hook that acts on requests."""
    _hook_was_made.set()


def of_lookup(lookup, ids):
    """Asks for what a lookup with modify_graph=True reads.

    Args:
      lookup: lookup_registry.Lookup.
      ids: the tensor, sparse or ragged, that its keys were taken from.
    """
    parts = [t for t in tf.nest.flatten(ids, expand_composites=True) if isinstance(t, tf.Tensor)]
    owner = "lookup %r in table %r" % (lookup.name, lookup.table.name)
    add(Request(owner, lookup, parts + [lookup.keys]), lookup.table.graph)
    if not _hook_was_made.is_set():
        notices.warn_once(
            "sparse_lookup: modify_graph=True waits for GraphModifierHook, or for "
            "modify_graph_and_start_emb_cache; without either, ids are computed in the training "
            "step"
        )


def add(request, graph):
    """Records `request`."""
    graph_state.of(graph).pipeline_requests.append(request)


def of_mode(graph, is_train):
    """The requests of the training lookups of `graph`, or of the others."""
    return [
        request
        for request in graph_state.of(graph).pipeline_requests
        if request.lookup is not None and request.lookup.is_train is is_train
    ]


def lookup_of_tensor(requests):
    """Dict from the name of a tensor to that of a lookup that wants it moved, as operations can be
    called."""
    found = {}
    for request in requests:
        if request.lookup is not None:
            name = "%s/%s" % (request.lookup.table.name, request.lookup.name)
            for tensor in tensors_of(request):
                found.setdefault(tensor.name, re.sub(r"[^\w.\-/]", "_", name))
    return found


def tensors_of(request):
    """All that `request` wants moved, now that the graph is built."""
    found, lookup = list(request.tensors), request.lookup
    if lookup is None:
        return found
    state = graph_state.of(lookup.table.graph)
    if lookup.is_train:
        for counts in state.batch_counts_of_table.get(lookup.table.name, ()):
            found += counts.occurrences
    # For parameter servers, keys are made unique and sorted by server.
    for exchange in state.exchanges:
        if exchange.has_lookup(lookup):
            found += exchange.route.routed + exchange.route.positions
    return found

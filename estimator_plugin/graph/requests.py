"""Which tensors of a graph somebody wants computed in the input pipeline."""

import collections
import threading

import tensorflow as tf

from .. import graph_state, notices

_hook_was_made = threading.Event()

Request = collections.namedtuple(
    "Request",
    [
        "owner",  # str, who asks, for log lines.
        "table",  # The table of the lookup that asks; None if it is none.
        "is_train",  # Whether that lookup trains.
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
    add(Request(owner, lookup.table, lookup.is_train, parts + [lookup.keys]), lookup.table.graph)
    if not _hook_was_made.is_set():
        notices.warn_once(
            "sparse_lookup: modify_graph=True waits for GraphModifierHook, or for "
            "modify_graph_and_start_emb_cache; without either, ids are computed in the training "
            "step"
        )


def add(request, graph):
    """Records `request`."""
    graph_state.of(graph).pipeline_requests.append(request)


def tensors_of(request):
    """All that `request` wants moved, now that the graph is built."""
    found = list(request.tensors)
    if request.is_train:
        state = graph_state.of(request.table.graph)
        for counts in state.batch_counts_of_table.get(request.table.name, ()):
            found += counts.occurrences
    return found

"""Graph modification for plain sessions, by the names that Rec SDK programs know."""

import tensorflow as tf

from .. import graph_state, graph_walk, validate
from . import dump, iterators, merge, modify, requests, survey

_OWNER = "modify_graph_and_start_emb_cache"


def modify_graph_and_start_emb_cache(full_graph=None, dump_graph=False):
    """Moves what lookups with modify_graph=True compute their ids with into the input pipeline.

    Call it once, when the graph is whole, gradients included, and before a session runs it.
    Operations that are a function of the batch alone (hashing, casts, crosses, string splits) run
    in a `map` behind the dataset, and `init(prefetch_batch_number=)` batches are ready before a
    step asks for them. The results of a step are the same as without. What cannot move stays, with
    one log line.

    Args:
      full_graph: None or tf.Graph; None is the default graph.
      dump_graph: bool, default False. True writes the graph before and after, and what moved, as
        text into ./export_graph.

    Raises:
      ValueError: an argument is of a wrong type, or ids come from an iterator that is neither
        initializable nor one-shot, or that is read in several places.
      RuntimeError: the graph has no lookup, or was modified before.

    >>> train = optimizer.minimize(loss)
    >>> modify_graph_and_start_emb_cache()
    >>> session.run([tf.compat.v1.global_variables_initializer(), get_initializer(True)])

    Semantics: `mx_rec.graph.modifier.modify_graph_and_start_emb_cache` of the Rec SDK. Here the
    iterator's own initializer works too, and the graph need not be the default one.
    """
    if full_graph is not None and not isinstance(full_graph, tf.Graph):
        validate.fail(_OWNER, "full_graph", full_graph, "None or a tf.Graph")
    validate.boolean(_OWNER, "dump_graph", dump_graph)
    modified(graph_state.outermost_graph(full_graph), dump_graph)


def modified(graph, dump_graph):
    """`modify.modify`, with files that show it."""
    if dump_graph:
        dump.write_graph("old_graph", graph.as_graph_def())
    pipeline = modify.modify(graph)
    if dump_graph:
        dump.write_graph("new_graph", graph.as_graph_def())
        dump.write_pipeline(pipeline)
    return pipeline


def get_initializer(is_training):
    """The operation that starts the iterators of the training, or of the other, lookups.

    Args:
      is_training: bool. Whether of the lookups with is_train=True or of those with False.

    Returns:
      An operation; to run it again restarts them. For one-shot iterators it does nothing.

    Raises:
      ValueError: is_training is no bool, or an iterator has several initializers.
      RuntimeError: the default graph was not modified, or no such lookup asked for it.

    Semantics: `mx_rec.graph.modifier.get_initializer` of the Rec SDK.
    """
    validate.boolean("get_initializer", "is_training", is_training)
    state = graph_state.of()
    if state.pipeline is None:
        raise RuntimeError("get_initializer: call %s first" % _OWNER)
    asked = requests.of_mode(graph_state.outermost_graph(), is_training)
    if not asked:
        raise RuntimeError(
            "get_initializer: no lookup with is_train=%s and modify_graph=True is in the graph"
            % is_training
        )
    sources = set()
    for request in asked:
        for tensor in request.tensors:
            sources |= graph_walk.sources(graph_walk.ops_above(tensor))
    return tf.group(
        *_initializers(sources, state.pipeline.iterators), name="initialize_input_pipeline"
    )


def _initializers(sources, moved):
    """The operations that start the iterators among `sources`, of which `moved` are known."""
    found = []
    for op in sorted(sources, key=lambda op: op.name):
        if op.type in survey.GET_NEXT:
            iterator = moved[op] if op in moved else iterators.of(op)
            makers = iterator.initializers
            if len(makers) > 1:
                raise ValueError(
                    "get_initializer: the iterator of %r has %d initializers; run the one that is "
                    "meant" % (op.name, len(makers))
                )
            found += makers
    return found


def do_merge_lookup(is_train=True):
    """Makes the lookups that each table has in a step one operation, where they read one batch.

    Only lookups with modify_graph=True take part, those of tables without thresholds in this
    process. The results are the same, and so is the gradient, which updates a table by one
    operation in any case. A step that fetches one of the lookups then looks all of them up. Call
    it before or after gradients are computed, any number of times.

    Args:
      is_train: bool, default True. Whether for lookups with is_train=True or with False.

    Raises:
      ValueError: is_train is no bool.
      RuntimeError: the default graph has no such lookup.

    >>> do_merge_lookup(is_train=True)

    Semantics: `mx_rec.graph.merge_lookup.do_merge_lookup` of the Rec SDK. Lookups of parameter
    servers share a round trip without it.
    """
    validate.boolean("do_merge_lookup", "is_train", is_train)
    graph = graph_state.outermost_graph()
    lookups = [lookup for lookup in graph_state.of(graph).lookups if lookup.is_train == is_train]
    if not lookups:
        raise RuntimeError("do_merge_lookup: no lookup with is_train=%s is in the graph" % is_train)
    merge.merge(lookups)

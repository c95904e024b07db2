"""GraphModifierHook: moves the work on ids into the input pipeline."""

import tensorflow as tf

from estimator_plugin import graph_state, validate
from estimator_plugin.graph import requests, session

_NAME = "GraphModifierHook"


class GraphModifierHook(tf.compat.v1.train.SessionRunHook):
    """Makes lookups with modify_graph=True find their ids ready.

    Operations that compute ids from the batch alone (hashing, casts, crosses, string splits) run
    in a `map` behind the input_fn's dataset, and the next `init(prefetch_batch_number=)` batches
    are computed while a step runs. model_fn and input_fn stay as they are, and so do the results.

    Args:
      dump_graph: bool, default False. True writes the graph before and after, and what moved, as
        text into ./export_graph.
      modify_graph: bool, default True. False leaves the graph as it is.

    Raises:
      ValueError: an argument is no bool; at the start, ids come from an iterator that is neither
        initializable nor one-shot, or that is read in several places.
      RuntimeError: at the start, the graph has no lookup, or it was modified before.

    Give it as `hooks=` of `train`, `evaluate` and `predict`, of TrainSpec and EvalSpec, or to a
    MonitoredTrainingSession.

    Example:
      estimator.train(input_fn, hooks=[GraphModifierHook()])

    Semantics: `mx_rec.graph.modifier.GraphModifierHook` of the Rec SDK. Here it may stand anywhere
    among the hooks, but behind those of `slicers`, and iterators need not end in a prefetch.
    """

    def __init__(self, dump_graph=False, modify_graph=True):
        self._dumps = validate.boolean(_NAME, "dump_graph", dump_graph)
        self._modifies = validate.boolean(_NAME, "modify_graph", modify_graph)
        requests.announce_hook()

    def begin(self):
        if self._modifies:
            session.modified(graph_state.outermost_graph(), self._dumps)

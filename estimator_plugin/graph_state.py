"""What the plugin remembers about one graph: its tables, lookups and optimizers.

It hangs on the graph itself, so it lives as long as the graph and two graphs know nothing of each
other (an Estimator builds a new graph for each train, evaluate, predict and export).
"""

import collections
import itertools

import tensorflow as tf

_ATTRIBUTE = "_estimator_plugin_state"


class GraphState:
    """Everything known about one graph. Building a graph is single-threaded, and so is this."""

    def __init__(self):
        self.tables = collections.OrderedDict()  # Table name -> EmbeddingTable.
        self.table_of_handle = {}  # Name of a handle tensor -> EmbeddingTable.
        self.mergeable_tables = {}  # What merged tables have in common -> EmbeddingTable.
        self.table_of_merged_name = {}  # Name that was merged -> EmbeddingTable.
        self.lookups = []  # lookup_registry.Lookup, in order of creation.
        self.lookup_of_address = {}  # Name of an address tensor -> Lookup.
        self.rules_of_table = {}  # Table name -> tracking.Rules of its training lookups.
        self.batch_counts_of_table = {}  # Table name -> list of batch_counts.BatchCounts.
        self.optimizer_of_table = {}  # Table name -> HashOptimizer.
        self.pipeline_requests = []  # graph.requests.Request, in order.
        self.orphans_adopter = None  # The IteratorGetNext operation that constant ids move behind.
        self.pipeline = None  # graph.modify.Pipeline, once the graph is modified.
        self.stacked = []  # sparse_core.warm_starting.WarmStarter of each embedding.
        self.savers = []  # Streaming savers, in order of creation.
        self.servers = []  # Stack of tuples of device strings: where tables that are made live.
        self.exchanges = []  # distribute.exchange.Exchange, in order of creation.
        self.model_dir = None  # Where the run saves, if its model_fn has said.
        self.incremental_saver = None  # Whom a Saver asks that saves where it does.
        self.has_save_hook = False  # Whether somebody gave it an IncrementalSaveHook.
        self._optimizer_names = {}  # HashOptimizer -> its name in this graph.
        self._optimizer_variables = {}  # HashOptimizer -> its variables.

    def optimizer_name(self, optimizer, name):
        """`name`, or `name_1` and so on when other optimizers of this graph have taken it."""
        if optimizer not in self._optimizer_names:
            taken = set(self._optimizer_names.values())
            candidates = itertools.chain([name], ("%s_%d" % (name, i) for i in itertools.count(1)))
            self._optimizer_names[optimizer] = next(c for c in candidates if c not in taken)
        return self._optimizer_names[optimizer]

    def optimizer_variables(self, optimizer):
        """The variables `optimizer` has in this graph."""
        return list(self._optimizer_variables.get(optimizer, ()))

    def add_optimizer_variables(self, optimizer, variables):
        """Records the variables of `optimizer` in this graph."""
        self._optimizer_variables[optimizer] = list(variables)


def outermost_graph(graph=None):
    """`graph` (default: the default graph), or the graph its function body belongs to."""
    graph = graph if graph is not None else tf.compat.v1.get_default_graph()
    while getattr(graph, "outer_graph", None) is not None:
        graph = graph.outer_graph
    return graph


def of(graph=None):
    """The GraphState of `graph` (default: the default graph), made at the first call."""
    graph = outermost_graph(graph)
    if not hasattr(graph, _ATTRIBUTE):
        setattr(graph, _ATTRIBUTE, GraphState())
    return getattr(graph, _ATTRIBUTE)

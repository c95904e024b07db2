"""The lookups of a graph: which table an address tensor belongs to, and what a step trains."""

import collections

import tensorflow as tf

from . import constants, graph_state, validate
from .table import EmbeddingTable

Lookup = collections.namedtuple(
    "Lookup",
    [
        "table",  # EmbeddingTable.
        "name",  # The lookup's name, unique within its table.
        "keys",  # int64 [n].
        "embeddings",  # float [n, dim]: gradients are taken with respect to it.
        "addresses",  # int64 [n], in step with `embeddings`.
        "is_train",  # New keys get a row, and `minimize` trains it.
        "is_grad",  # Gradients flow.
    ],
)


def default_name(table):
    """The name of the next lookup of `table` that was given none: sparse_lookup_0, ..._1, ..."""
    made = sum(1 for lookup in graph_state.of(table.graph).lookups if lookup.table is table)
    return "sparse_lookup_%d" % made


def register(lookup):
    """Records `lookup`; a training lookup also joins the two collections of the Rec SDK."""
    state = graph_state.of(lookup.table.graph)
    state.lookups.append(lookup)
    state.lookup_of_address[lookup.addresses.name] = lookup
    if lookup.is_train and lookup.addresses.graph is lookup.table.graph:
        graph = lookup.table.graph
        graph.add_to_collection(constants.ASCEND_SPARSE_LOOKUP_LOCAL_EMB, lookup.embeddings)
        graph.add_to_collection(constants.ASCEND_SPARSE_LOOKUP_ID_OFFSET, lookup.addresses)


def lookups_of(table):
    """The lookups of `table` in its graph, oldest first."""
    return [x for x in graph_state.of(table.graph).lookups if x.table is table]


def table_of_address(addresses):
    """The table that an address tensor of a lookup belongs to.

    Raises:
      ValueError: `addresses` is not an address tensor of `sparse_lookup`.
    """
    state = graph_state.of(addresses.graph)
    if addresses.name in state.lookup_of_address:
        return state.lookup_of_address[addresses.name].table
    raise ValueError(
        "tensor %r holds no addresses of a lookup; pass a tensor of the collection %s as it is, "
        "or (tf.IndexedSlices(gradients, addresses), table)"
        % (addresses.name, constants.ASCEND_SPARSE_LOOKUP_ID_OFFSET)
    )


def table_of(variable):
    """The table that `variable` stands for: an EmbeddingTable or a table's handle, else None."""
    if isinstance(variable, EmbeddingTable):
        return variable
    if isinstance(variable, tf.Tensor):
        return graph_state.of(variable.graph).table_of_handle.get(variable.name)
    return None


def tables_of_graph(graph=None):
    """The tables of `graph` (default: the default graph), in order of creation."""
    return list(graph_state.of(graph).tables.values())


def require_table(owner, value):
    """`value` if it is an EmbeddingTable of the graph being built, else ValueError."""
    if not isinstance(value, EmbeddingTable):
        validate.fail(owner, "hashtable", value, "a table made by create_table")
    if value.graph is not graph_state.outermost_graph():
        raise ValueError(
            "%s: table %r belongs to another graph; call create_table where this graph is built "
            "(in an Estimator: inside model_fn)" % (owner, value.name)
        )
    return value

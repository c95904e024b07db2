"""`create_table(enable_merge=True)`: tables that are alike are one table under several names."""

import tensorflow as tf

from . import config, initializers, validate

_PREFIX = "mergeable_table"


def table_for(options, initializer, state, make):
    """The table that a call of create_table with enable_merge=True gives.

    Args:
      options: TableOptions of the call.
      initializer: its emb_initializer.
      state: GraphState of the graph.
      make: function from TableOptions and an initializer to a new EmbeddingTable.

    Returns:
      The table that others like it have made, or a new one, mergeable_table_<n>.

    Raises:
      RuntimeError: tables do not grow by `init(use_dynamic_expansion=True)`.
      ValueError: the name is one that merged tables are given.
    """
    owner = "table %r" % options.name
    if not config.get_config().use_dynamic_expansion:
        raise RuntimeError(
            "%s: enable_merge needs init(use_dynamic_expansion=True), which was not called" % owner
        )
    if options.name.startswith(_PREFIX):
        wanted = "a name that does not begin with %r, with enable_merge" % _PREFIX
        validate.fail(owner, "name", options.name, wanted)
    likeness = _likeness(options, initializer)
    table = state.mergeable_tables.get(likeness)
    if table is None:
        name = "%s_%d" % (_PREFIX, len(state.mergeable_tables))
        table = make(options._replace(name=name), initializer)
        state.mergeable_tables[likeness] = table
    table.join(options)
    state.table_of_merged_name[options.name] = table
    return table


def _likeness(options, initializer):
    """What two tables must have in common to be one."""
    spec = initializers.spec_of(_PREFIX, initializer, options.dim, options.init_param)
    drawn = (spec.kind, tuple(spec.arguments), spec.seed)
    if spec.bank is not None:  # Drawn by TensorFlow, from what the initializer says of itself.
        drawn = (type(initializer).__name__, repr(sorted(initializer.get_config().items())))
    return (
        drawn,
        tf.as_dtype(options.key_dtype).name,
        options.dim,
        options.num_buckets,
        options.is_save,
        options.is_dp,
        options.init_param,
        bool(options.padding_keys),
        repr(options.admission),
        repr(options.eviction),
    )

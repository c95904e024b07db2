"""`warm_start`: makes the initializers of variables and tables read old checkpoints."""

import collections

import tensorflow as tf

from .. import graph_state, lookup_registry, tf_compat
from ..checkpoint import reader
from ..checkpoint.tensor_reader import open_reader
from ..table import EmbeddingTable
from . import plan, settings, tables

_OPTIMIZER_OPS = (
    "Apply",
    "ResourceApply",
    "ResourceSparseApply",
    "SparseApply",
    "EpTableApply",
    "EpSparseCoreApply",
)


def warm_start(
    ckpt_to_initialize_from,
    vars_to_warm_start=".*",
    var_name_to_vocab_info=None,
    var_name_to_prev_var_name=None,
):
    """Starts variables and tables of the default graph from checkpoints instead of afresh.

    `tf.compat.v1.train.warm_start` with tables, growing and stacked, and with lists. Call it when
    the model is built and before initializers are: in a model_fn, or before
    `tf.compat.v1.global_variables_initializer()` and `tables_initializer()`. Estimators call it
    after `ep.init()`; `WarmStartHook` calls it without.

    Args:
      ckpt_to_initialize_from: str, the prefix of a checkpoint, full or delta, a directory with one,
        or the directory of a SavedModel; `WithoutSlots(path)` leaves optimizer slots of tables
        behind. Or a list of them, applied in order: what a later one starts replaces what an
        earlier one did. Each other argument is then a list as long, or left at its default.
      vars_to_warm_start: what to start. A table's name; or a regular expression that names are
        matched with from their beginning, among tables and trainable variables; or a list of these,
        which see all global variables, such as moving averages; or a list of variables and tables;
        or None, only what has a vocabulary. Default ".*".
      var_name_to_vocab_info: dict from a variable's name to `tf.estimator.VocabInfo`, as
        TensorFlow's.
      var_name_to_prev_var_name: dict from the name of a variable or table of this graph to its name
        in the checkpoint.

    Raises:
      ValueError: a path is no checkpoint; lists are of unequal length; a pattern is no regular
        expression, or matches nothing that both the graph and the checkpoint have; a table has
        another dim in the checkpoint; what `tf.compat.v1.train.warm_start` raises.
      tf.errors.OpError: a checkpoint cannot be read.

    >>> warm_start(["/tmp/a", "/tmp/b"], [".*", ["user", "item"]])

    Semantics: `tf.compat.v1.train.warm_start`; lists as `mx_rec.saver.warm_start` of the Rec SDK.
    """
    sources = settings.sources_of(
        ckpt_to_initialize_from,
        vars_to_warm_start,
        var_name_to_vocab_info,
        var_name_to_prev_var_name,
    )
    stacked = graph_state.of().stacked
    by_name = _tables_by_name(stacked)
    starts = collections.OrderedDict()  # Table -> its Start; the last path wins.
    for source in sources:
        prefix = settings.find(source)
        made = _plan(source, prefix, by_name, stacked)
        for note in made.notes:
            tf.compat.v1.logging.warning("Warm start: %s", note)
        if made.variables or source.variables is None:
            _start_variables(source, prefix, made)
        else:
            tf.compat.v1.logging.info("Warm-starting from: %s", prefix)
        for table, previous in made.tables.items():
            starts[table] = tables.Start(prefix, previous, source.with_slots)
    _start_tables(starts, by_name)
    if starts:
        tf.compat.v1.logging.info("Warm-started %d tables.", len(starts))


def _tables_by_name(stacked):
    """{name: an EmbeddingTable, or the WarmStarter of a stacked table}.

    Raises:
      ValueError: a growing table and a stacked one have one name.
    """
    by_name = {table.name: table for table in lookup_registry.tables_of_graph()}
    for starter in stacked:
        for name in starter.names:
            if name in by_name:
                raise ValueError(
                    "warm start: a growing table and a stacked table are both called %r; give one "
                    "of them, or the TPUEmbeddingV2, another name" % name
                )
            by_name[name] = starter
    return by_name


def _start_tables(starts, by_name):
    """Starts each table from its Start, those of an embedding together."""
    of_starter = collections.OrderedDict()
    for name, start in starts.items():
        table = by_name[name]
        is_stacked = not isinstance(table, EmbeddingTable)
        opened = open_reader(start.prefix)
        growing = start.name in reader.table_names(start.prefix)
        if is_stacked and start.name in table.tables_in(opened):
            of_starter.setdefault(table, {})[name] = (start, opened)
        elif not is_stacked and growing:
            tables.start(table, start)
        else:
            kinds = ("stacked", "growing") if is_stacked else ("growing", "stacked")
            raise ValueError(
                "warm start: table %r is a %s one and cannot start from %r, a %s one of %s"
                % (name, kinds[0], start.name, kinds[1], start.prefix)
            )
    for starter, of_tables in of_starter.items():
        starter.start(of_tables)


def _plan(source, prefix, by_name, stacked):
    in_stacks = {name for starter in stacked for name in starter.variable_names}
    graph = plan.GraphNames(
        list(by_name),
        [v.name for v in tf.compat.v1.trainable_variables()],
        [v.name for v in tf.compat.v1.global_variables() if v.name not in in_stacks],
        _trains(tf.compat.v1.get_default_graph()),
    )
    known = reader.table_names(prefix)
    opened = open_reader(prefix)
    tensors = [t for t in opened.shapes if t.partition("/")[0] not in known]
    if stacked:
        known = known + [t for t in stacked[0].tables_in(opened) if t not in known]
    checkpoint = plan.CheckpointNames(prefix, known, tensors)
    if source.variables is None:
        return plan.Plan({}, [], source.previous_names, [])
    if isinstance(source.variables, str):
        return plan.plan_patterns([source.variables], source, graph, checkpoint)
    if isinstance(source.variables[0], str):
        return plan.plan_patterns(source.variables, source, graph, checkpoint)
    found = [(item, lookup_registry.table_of(item)) for item in source.variables]
    return plan.plan_objects(
        [table.name for _, table in found if table is not None],
        [item for item, table in found if table is None],
        source,
        graph,
        checkpoint,
    )


def _start_variables(source, prefix, made):
    """Lets TensorFlow start the variables, so that they start as they do without tables."""
    variables = source.variables
    if isinstance(variables, list):
        named = {v.name: v for v in tf.compat.v1.global_variables()}
        # TensorFlow would take a variable that two patterns match for one in two parts.
        variables = [named[v] if isinstance(v, str) else v for v in made.variables]
    tf_compat.warm_start(prefix, variables, source.vocabularies, made.previous_names)


def _trains(graph):
    return any(op.type.startswith(_OPTIMIZER_OPS) for op in graph.get_operations())

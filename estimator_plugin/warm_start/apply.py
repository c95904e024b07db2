"""`warm_start`: makes the initializers of variables and tables read old checkpoints."""

import collections

import tensorflow as tf

from .. import lookup_registry, tf_compat
from ..checkpoint import reader
from ..checkpoint.tensor_reader import open_reader
from . import plan, settings, tables

_OPTIMIZER_OPS = ("Apply", "ResourceApply", "ResourceSparseApply", "SparseApply", "EpTableApply")


def warm_start(
    ckpt_to_initialize_from,
    vars_to_warm_start=".*",
    var_name_to_vocab_info=None,
    var_name_to_prev_var_name=None,
):
    """Starts variables and tables of the default graph from checkpoints instead of afresh.

    `tf.compat.v1.train.warm_start` with tables and with lists. Call it when the model is built and
    before initializers are: in a model_fn, or before `tf.compat.v1.global_variables_initializer()`
    and `tables_initializer()`. Estimators call it after `ep.init()`; `WarmStartHook` calls it
    without.

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
    by_name = {table.name: table for table in lookup_registry.tables_of_graph()}
    starts = collections.OrderedDict()  # Table -> its Start; the last path wins.
    for source in sources:
        prefix = settings.find(source)
        made = _plan(source, prefix, by_name)
        for note in made.notes:
            tf.compat.v1.logging.warning("Warm start: %s", note)
        if made.variables or source.variables is None:
            _start_variables(source, prefix, made)
        else:
            tf.compat.v1.logging.info("Warm-starting from: %s", prefix)
        for table, previous in made.tables.items():
            starts[table] = tables.Start(prefix, previous, source.with_slots)
    for table, start in starts.items():
        tables.start(by_name[table], start)
    if starts:
        tf.compat.v1.logging.info("Warm-started %d tables.", len(starts))


def _plan(source, prefix, by_name):
    graph = plan.GraphNames(
        list(by_name),
        [v.name for v in tf.compat.v1.trainable_variables()],
        [v.name for v in tf.compat.v1.global_variables()],
        _trains(tf.compat.v1.get_default_graph()),
    )
    known = reader.table_names(prefix)
    tensors = open_reader(prefix).shapes
    checkpoint = plan.CheckpointNames(
        prefix, known, [t for t in tensors if t.partition("/")[0] not in known]
    )
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

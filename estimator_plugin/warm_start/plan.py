"""Which variables and tables start from where: decided from names alone."""

import collections
import re

GraphNames = collections.namedtuple(
    "GraphNames",
    [
        "tables",  # Names of the graph's tables.
        "trainable",  # Names of its trainable variables, as `variable.name` gives them.
        "variables",  # Names of all its global variables.
        "trains",  # bool, whether the graph holds an optimizer.
    ],
)

CheckpointNames = collections.namedtuple(
    "CheckpointNames",
    [
        "prefix",  # str.
        "tables",  # Names of its tables.
        "tensors",  # Names of everything else.
    ],
)

Plan = collections.namedtuple(
    "Plan",
    [
        "tables",  # Ordered dict from a table of the graph to its name in the checkpoint.
        "variables",  # Names of variables, or None for whatever a pattern of TensorFlow's says.
        "previous_names",  # What var_name_to_prev_var_name says about variables.
        "notes",  # Lines to log: what was asked for and is left out.
    ],
)


def plan_patterns(patterns, source, graph, checkpoint):
    """The Plan of a Source that names what it wants by a pattern or by a list of them.

    A pattern that is a table's name means that table. Any other is a regular expression that names
    are matched with from their beginning, as TensorFlow does: a single one sees trainable
    variables and tables, those of a list see all global variables and tables.

    Args:
      patterns: list of str.
      source: settings.Source.
      graph: GraphNames.
      checkpoint: CheckpointNames.

    Raises:
      ValueError: a pattern is no regular expression or matches nothing; a table that is named is
        not in the checkpoint; a table has a previous name and is not among those that start;
        something that the graph lacks has a previous name.
    """
    _check_all_known(source, graph)
    candidates = graph.trainable if isinstance(source.variables, str) else graph.variables
    plan = Plan(collections.OrderedDict(), [], _of_variables(source, graph), [])
    for pattern in patterns:
        tables, variables = _match(pattern, candidates, graph)
        found = _tables(pattern, tables, source, checkpoint, plan.notes)
        plan.tables.update(found)
        plan.variables.extend(v for v in variables if v not in plan.variables)
        if not found and not variables:
            _nothing(pattern, tables, graph, checkpoint, plan.notes)
    _check_all_used(source, graph, plan)
    return plan


def plan_objects(tables, variables, source, graph, checkpoint):
    """The Plan of a Source that lists variables and tables themselves.

    Args:
      tables: names of tables, each of which must be in the checkpoint.
      variables: names of variables.
      source, graph, checkpoint: as `plan_patterns`.
    """
    plan = Plan(collections.OrderedDict(), list(variables), _of_variables(source, graph), [])
    for table in tables:
        plan.tables.update(_tables(table, [table], source, checkpoint, plan.notes))
    _check_all_used(source, graph, plan)
    return plan


def _match(pattern, candidates, graph):
    """The tables and variables of the graph that `pattern` means."""
    if pattern in graph.tables:
        return [pattern], []
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise ValueError(
            "warm start: vars_to_warm_start %r is no regular expression: %s" % (pattern, error)
        ) from error
    tables = [name for name in graph.tables if expression.match(name)]
    return tables, [name for name in candidates if expression.match(name)]


def _tables(pattern, tables, source, checkpoint, notes):
    """{table: name in the checkpoint} for those of `tables` that are there."""
    found = collections.OrderedDict()
    for table in tables:
        previous = source.previous_names.get(table, table)
        if previous in checkpoint.tables:
            found[table] = previous
        elif pattern == table or table in source.previous_names:
            raise ValueError(
                "warm start: table %r cannot start from %r of %s, which has %s"
                % (table, previous, checkpoint.prefix, _tables_text(checkpoint))
            )
        else:
            notes.append(
                "table %r starts fresh: %s has no table of that name" % (table, checkpoint.prefix)
            )
    return found


def _nothing(pattern, tables, graph, checkpoint, notes):
    """Judges a pattern that gives nothing to start from."""
    expression = re.compile(pattern)
    known = checkpoint.tables + checkpoint.tensors
    if not tables and not graph.trains and any(expression.match(name) for name in known):
        # An optimizer's variables, say, in a graph that evaluates.
        notes.append("%r is nothing in this graph" % pattern)
        return
    raise ValueError(
        "warm start: vars_to_warm_start %r matches nothing that both this graph and %s have; the "
        "checkpoint has %s, and variables %s; the graph has tables %s, and variables %s"
        % (
            pattern,
            checkpoint.prefix,
            _tables_text(checkpoint),
            _names_text(checkpoint.tensors),
            _names_text(graph.tables),
            _names_text(_variable_names(graph)),
        )
    )


def _of_variables(source, graph):
    return {k: v for k, v in source.previous_names.items() if k not in graph.tables}


def _variable_names(graph):
    return [name.partition(":")[0] for name in graph.variables]


def _check_all_known(source, graph):
    # TensorFlow's own check lists variables alone. It names a partitioned one by its whole.
    variables = _variable_names(graph)
    known = set(graph.tables).union(variables, [v.partition("/part_")[0] for v in variables])
    unknown = [name for name in source.previous_names if name not in known]
    if unknown:
        raise ValueError(
            "warm start: var_name_to_prev_var_name names %s, neither table nor variable of the "
            "graph; it has tables %s, and variables %s"
            % (_names_text(unknown), _names_text(graph.tables), _names_text(variables))
        )


def _check_all_used(source, graph, plan):
    unused = [
        name for name in source.previous_names if name in graph.tables and name not in plan.tables
    ]
    if not plan.variables:  # Else TensorFlow looks at these.
        unused += list(plan.previous_names) + list(source.vocabularies)
    if unused:
        raise ValueError(
            "warm start: var_name_to_prev_var_name or var_name_to_vocab_info names %s, which "
            "vars_to_warm_start does not start from %s" % (_names_text(unused), source.path)
        )


def _tables_text(checkpoint):
    return "tables %s" % _names_text(checkpoint.tables)


def _names_text(names):
    return ", ".join(repr(name) for name in sorted(names)) or "none"

"""TableStatsHook: how large tables are and what happens in them, for TensorBoard and the log."""

import collections

import tensorflow as tf

from estimator_plugin import graph_state, lookup_registry, validate
from estimator_plugin.ops import table_ops

_NAME = "TableStatsHook"
# What is shown as it stands, in this order; the hit rate follows.
_SHOWN = collections.OrderedDict(
    [
        ("rows", "rows"),
        ("bytes", "bytes"),
        ("admitted", "rows_admitted"),
        ("waiting", "waiting"),
        ("evicted", "rows_evicted"),
        ("stale_updates", "stale_updates"),
        ("backward_clocks", "backward_clocks"),
    ]
)


class TableStatsHook(tf.compat.v1.train.SessionRunHook):
    """Writes rows, bytes, admissions, evictions and hit rate of tables while a model is trained.

    For each table there are scalars `tables/<name>/<what>`:

      * rows, bytes: as they are now;
      * admitted, evicted, stale_updates, backward_clocks: since the table was made: rows that its
        filter let in, rows that an eviction removed, gradients that came too late for their row,
        timestamps that were behind;
      * waiting: keys that are counted and have no row yet;
      * hit_rate: the share of looked-up ids that had a row, since the last time.

    Reading them is one small op a table, when it is due and at no other step.

    Args:
      every_n_steps, every_n_secs: when to write; one of them, default 100 steps.
      output_dir: str, where summaries go; None writes none.
      summary_writer: a `tf.compat.v1.summary.FileWriter`, in the place of output_dir.
      tables: list of tables or names of tables; None is all tables of the graph.

    Raises:
      ValueError: both or neither of a pair are given, or a table is not in the graph.

    Example:
      estimator.train(input_fn, hooks=[TableStatsHook(1000, output_dir=estimator.model_dir)])
    """

    def __init__(
        self,
        every_n_steps=None,
        every_n_secs=None,
        output_dir=None,
        summary_writer=None,
        tables=None,
    ):
        if every_n_steps is None and every_n_secs is None:
            every_n_steps = 100
        if every_n_steps is not None and every_n_secs is not None:
            raise ValueError("%s: give one of every_n_steps and every_n_secs" % _NAME)
        if output_dir is not None and summary_writer is not None:
            raise ValueError("%s: give one of output_dir and summary_writer" % _NAME)
        if every_n_steps is not None:
            validate.integer(_NAME, "every_n_steps", every_n_steps, 1, validate.INT32_MAX)
        else:
            validate.real(_NAME, "every_n_secs", every_n_secs, 0, 1e9, above_low=True)
        self._timer = tf.compat.v1.train.SecondOrStepTimer(every_n_secs, every_n_steps)
        self._output_dir = output_dir
        self._writer = summary_writer
        self._tables = tables

    def begin(self):
        self._global_step = tf.compat.v1.train.get_or_create_global_step()
        self._statistics = {table.name: table.statistics() for table in _tables(self._tables)}
        self._looked_up = {name: (0, 0) for name in self._statistics}
        if self._output_dir is not None:
            self._writer = tf.compat.v1.summary.FileWriterCache.get(self._output_dir)

    def after_create_session(self, session, coord):
        self._timer.update_last_triggered_step(int(session.run(self._global_step)))

    def before_run(self, run_context):
        return tf.compat.v1.train.SessionRunArgs(self._global_step)

    def after_run(self, run_context, run_values):
        # What a step fetches may be from before its increment or from after it.
        if self._timer.should_trigger_for_step(int(run_values.results) + 1):
            step = int(run_context.session.run(self._global_step))
            if self._timer.should_trigger_for_step(step):
                self._show(run_context.session, step)

    def end(self, session):
        step = int(session.run(self._global_step))
        if step != self._timer.last_triggered_step():
            self._show(session, step)
        if self._writer is not None:
            self._writer.flush()

    def _show(self, session, step):
        self._timer.update_last_triggered_step(step)
        for name, values in sorted(session.run(self._statistics).items()):
            scalars = self._scalars(name, dict(zip(table_ops.STATISTICS, values.tolist())))
            text = ", ".join("%s %s" % (what, _text(value)) for what, value in scalars.items())
            tf.compat.v1.logging.info("%s: step %d, table %s: %s", _NAME, step, name, text)
            if self._writer is not None:
                self._writer.add_summary(_summary(name, scalars), step)

    def _scalars(self, name, statistics):
        shown = collections.OrderedDict((what, statistics[key]) for what, key in _SHOWN.items())
        now = statistics["keys_looked_up"], statistics["keys_found"]
        keys, found = (new - old for new, old in zip(now, self._looked_up[name]))
        self._looked_up[name] = now
        if keys:
            shown["hit_rate"] = found / keys
        return shown


def _summary(name, scalars):
    return tf.compat.v1.Summary(
        value=[
            tf.compat.v1.Summary.Value(tag="tables/%s/%s" % (name, what), simple_value=value)
            for what, value in scalars.items()
        ]
    )


def _text(value):
    return "%.4f" % value if isinstance(value, float) else f"{value:,}"


def _tables(wanted):
    """The tables of the graph that `wanted` names."""
    known = graph_state.of().tables
    if wanted is None:
        return lookup_registry.tables_of_graph()
    names = [getattr(table, "name", table) for table in wanted]
    for name in names:
        if name not in known:
            validate.fail(_NAME, "tables", name, "names of tables, out of %s" % sorted(known))
    return [known[name] for name in names]

"""ProgressHook: one line that says how far training is."""

import sys
import time

import tensorflow as tf

from estimator_plugin import lookup_registry

from .progress_line import ProgressLine, Speed, clock_text

TERMINAL_SECONDS = 0.5
PLAIN_SECONDS = 10.0


class ProgressHook(tf.compat.v1.train.SessionRunHook):
    """Shows step, loss, steps/s, time left and the rows of all tables while training.

    On a terminal one line is rewritten in place; elsewhere plain lines appear now and then:

        step 1200/3000 | loss 0.5821 | 96.3 steps/s | 0:18 left | 12,043 rows

    It goes by the global step, never by the number of calls, so it is right when one call makes
    many steps (`iterations_per_loop`) and when training resumes. A step fetches the loss and no
    more; the rest is read when a line is due.

    Args:
      total_steps: the global step training ends at, as `max_steps`; None shows neither total nor
        time left.
      loss: scalar tensor, or its name; None takes the loss that the Estimator put into the graph.
      every_secs: least seconds between lines; None is 0.5 on a terminal and 10 elsewhere.
      stream: text stream to write to; None is standard error.
      clock: function that returns seconds, for tests.

    Raises:
      ValueError: total_steps is below 1 or every_secs is negative.

    Example:
      estimator.train(input_fn, max_steps=3000, hooks=[ProgressHook(total_steps=3000)])
    """

    def __init__(self, total_steps=None, loss=None, every_secs=None, stream=None, clock=time.time):
        if total_steps is not None and (not isinstance(total_steps, int) or total_steps < 1):
            raise ValueError(
                "ProgressHook: total_steps must be None or an int of at least 1, got %r"
                % (total_steps,)
            )
        if every_secs is not None and not every_secs >= 0:
            raise ValueError(
                "ProgressHook: every_secs must be None or at least 0, got %r" % (every_secs,)
            )
        self._total = total_steps
        self._loss = loss
        self._line = ProgressLine(sys.stderr if stream is None else stream)
        default = TERMINAL_SECONDS if self._line.is_terminal else PLAIN_SECONDS
        self._every = default if every_secs is None else every_secs
        self._clock = clock
        self._speed = Speed()
        self._shown_at = None
        self._shown_step = None
        self._last_loss = None

    def begin(self):
        step = tf.compat.v1.train.get_global_step()
        if step is None:
            raise RuntimeError("ProgressHook: the graph has no global step; create one first")
        self._state = {"step": step}
        sizes = [table.size() for table in lookup_registry.tables_of_graph()]
        if sizes:
            self._state["rows"] = tf.add_n(sizes)
        self._loss_fetch = self._loss_tensor()

    def after_create_session(self, session, coord):
        self._speed = Speed()
        self._speed.update(int(session.run(self._state["step"])), self._clock())
        self._shown_at = self._clock()

    def before_run(self, run_context):
        if self._loss_fetch is None:
            return None
        return tf.compat.v1.train.SessionRunArgs(self._loss_fetch)

    def after_run(self, run_context, run_values):
        self._last_loss = run_values.results
        if self._clock() - self._shown_at >= self._every:
            self._show(run_context.session)

    def end(self, session):
        self._show(session)
        self._line.finish()

    def _show(self, session):
        # Read after the step: a fetch inside it may or may not see its increment.
        state = session.run(self._state)
        self._shown_at = self._clock()
        if state["step"] == self._shown_step:
            return
        self._shown_step = state["step"]
        self._speed.update(int(state["step"]), self._shown_at)
        self._line.write(self._text(int(state["step"]), state.get("rows")))

    def _text(self, step, rows):
        speed = self._speed.steps_per_second()
        parts = ["step %d" % step if self._total is None else "step %d/%d" % (step, self._total)]
        if self._last_loss is not None:
            parts.append("loss %.4f" % self._last_loss)
        if speed is not None:
            parts.append("%.1f steps/s" % speed)
        if speed and self._total is not None:
            parts.append("%s left" % clock_text((self._total - step) / speed))
        if rows is not None:
            parts.append(f"{rows:,} rows")
        return " | ".join(parts)

    def _loss_tensor(self):
        if self._loss is None:
            losses = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOSSES)
            return losses[-1] if losses else None
        graph = tf.compat.v1.get_default_graph()
        loss = graph.as_graph_element(self._loss, allow_operation=False)
        if loss.shape.rank not in (0, None):
            raise ValueError(
                "ProgressHook: loss must be a scalar, got %s of shape %s" % (loss.name, loss.shape)
            )
        return loss

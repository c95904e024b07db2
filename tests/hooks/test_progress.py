"""ProgressHook: what it writes, when, and what it asks of a step."""

import io

import pytest
import tensorflow as tf

import estimator_plugin as ep

ProgressHook = ep.hooks.ProgressHook


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """A clock that the test moves."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def run(hook, clock, calls, seconds_per_call=1.0, steps_per_call=1):
    """`calls` runs of a train op that makes `steps_per_call` steps each."""
    step = tf.compat.v1.train.get_or_create_global_step()
    train_op = tf.compat.v1.assign_add(step, steps_per_call)
    with tf.compat.v1.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(calls):
            clock.now += seconds_per_call
            session.run(train_op)


def test_plain_lines_come_no_more_often_than_asked():
    clock, stream = Clock(), io.StringIO()
    run(ProgressHook(every_secs=10, stream=stream, clock=clock), clock, 25)
    steps = [line.split(" | ")[0] for line in stream.getvalue().splitlines()]
    assert steps == ["step 10", "step 20", "step 25"]


def test_defaults_are_half_a_second_on_a_terminal_and_ten_seconds_elsewhere():
    for stream, expected in ((Terminal(), 20), (io.StringIO(), 1)):
        clock = Clock()
        with tf.Graph().as_default():
            run(ProgressHook(stream=stream, clock=clock), clock, 20, seconds_per_call=0.5)
        assert stream.getvalue().count("step ") == expected


def test_line_has_total_loss_speed_and_time_left():
    clock, stream = Clock(), io.StringIO()
    loss = tf.constant(0.25, name="my_loss")
    hook = ProgressHook(total_steps=100, loss=loss, every_secs=20, stream=stream, clock=clock)
    run(hook, clock, 10, seconds_per_call=2.0)
    assert (
        stream.getvalue().splitlines()[0] == "step 10/100 | loss 0.2500 | 0.5 steps/s | 3:00 left"
    )


def test_loss_by_name_and_from_the_collection():
    for loss in ("chosen:0", None):
        clock, stream = Clock(), io.StringIO()
        with tf.Graph().as_default():
            tf.constant(0.5, name="chosen")
            tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.LOSSES, tf.constant(0.75))
            run(ProgressHook(loss=loss, every_secs=1, stream=stream, clock=clock), clock, 1)
        assert ("loss 0.5000" if loss else "loss 0.7500") in stream.getvalue()


def test_goes_by_the_global_step_not_by_calls():
    clock, stream = Clock(), io.StringIO()
    hook = ProgressHook(total_steps=1000, every_secs=1, stream=stream, clock=clock)
    run(hook, clock, 3, steps_per_call=50)
    lines = stream.getvalue().splitlines()
    assert [line.split(" | ")[0] for line in lines[:3]] == [
        "step 50/1000",
        "step 100/1000",
        "step 150/1000",
    ]
    assert "50.0 steps/s | 0:17 left" in lines[2]


def test_rows_of_all_tables_are_added():
    clock, stream = Clock(), io.StringIO()
    for name, ids in (("a", [1, 2, 3]), ("b", list(range(2000)))):
        table = ep.create_table(tf.int64, 2, name, tf.compat.v1.zeros_initializer())
        lookup = ep.sparse_lookup(table, tf.constant(ids, tf.int64))
        tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.LOSSES, tf.reduce_sum(lookup))
    step = tf.compat.v1.train.get_or_create_global_step()
    losses = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOSSES)
    with tf.control_dependencies(losses):
        train_op = tf.compat.v1.assign_add(step, 1)
    hook = ProgressHook(every_secs=1, stream=stream, clock=clock)
    with tf.compat.v1.train.MonitoredSession(hooks=[hook]) as session:
        clock.now += 1
        session.run(train_op)
    assert stream.getvalue().splitlines()[0].endswith("| 2,003 rows")


def test_terminal_line_is_rewritten_and_left_standing():
    clock, stream = Clock(), Terminal()
    run(ProgressHook(every_secs=1, stream=stream, clock=clock), clock, 2)
    text = stream.getvalue()
    assert text.count("\r") == 2 and text.count("\n") == 1 and text.endswith("\n")


def test_the_last_line_has_the_last_loss():
    clock, stream = Clock(), io.StringIO()
    step = tf.compat.v1.train.get_or_create_global_step()
    loss = tf.cast(tf.identity(step), tf.float32)
    hook = ProgressHook(loss=loss, every_secs=1000, stream=stream, clock=clock)
    run(hook, clock, 3)
    assert len(stream.getvalue().splitlines()) == 1
    shown = float(stream.getvalue().split("loss ")[1].split(" ")[0])
    assert shown in (2.0, 3.0)  # Of the last step: read before or after its increment.


def test_a_line_due_at_the_end_is_not_repeated():
    clock, stream = Clock(), io.StringIO()
    run(ProgressHook(every_secs=1, stream=stream, clock=clock), clock, 2)
    lines = stream.getvalue().splitlines()
    assert [line.split(" | ")[0] for line in lines] == ["step 1", "step 2"]


@pytest.mark.parametrize("total", [0, -5, 2.5, "many"])
def test_bad_total_steps(total):
    with pytest.raises(ValueError, match="total_steps must be None or an int of at least 1"):
        ProgressHook(total_steps=total)


def test_bad_interval():
    with pytest.raises(ValueError, match=r"every_secs must be None or at least 0, got -1"):
        ProgressHook(every_secs=-1)


def test_loss_must_be_a_scalar():
    tf.compat.v1.train.get_or_create_global_step()
    hook = ProgressHook(loss=tf.constant([1.0, 2.0]), stream=io.StringIO())
    with pytest.raises(ValueError, match=r"loss must be a scalar, got .* of shape \(2,\)"):
        hook.begin()


def test_graph_without_global_step():
    with pytest.raises(RuntimeError, match="no global step"):
        ProgressHook(stream=io.StringIO()).begin()

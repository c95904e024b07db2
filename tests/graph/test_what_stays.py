"""What cannot move stays, works, and is said; what is used wrongly is refused."""

import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import graph_state, notices
from estimator_plugin.graph import requests
from estimator_plugin.hooks import (
    GraphModifierHook,
    LookupSubgraphSlicerHook,
    OrphanLookupKeySlicerHook,
)
from tests.plugin import support

v1 = tf.compat.v1


@pytest.fixture
def said(monkeypatch):
    """The lines of level WARNING that are said once, as if none had been said before."""
    lines = []
    monkeypatch.setattr(notices, "_said", set())
    monkeypatch.setattr(v1.logging, "warning", lambda form, *args: lines.append(form % args))
    return lines


def batch_of(count=4):
    return v1.data.make_one_shot_iterator(tf.data.Dataset.range(count).batch(2)).get_next()


def hashed(numbers):
    return tf.strings.to_hash_bucket_fast(tf.strings.as_string(numbers), 100)


def look_up(ids, **options):
    return ep.sparse_lookup(support.table(), ids, modify_graph=True, **options)


def by_variable(batch):
    return hashed(batch) + v1.get_variable("shift", [], tf.int64, v1.ones_initializer())


def by_condition(batch):
    return tf.cond(tf.reduce_all(batch > 1), lambda: hashed(batch), lambda: batch)


def by_state(batch):
    return tf.numpy_function(lambda n: n + 1, [hashed(batch)], tf.int64, name="call")


def by_two_iterators(batch):
    return hashed(batch) + hashed(batch_of())


def by_default(batch):
    return hashed(batch) + v1.placeholder_with_default(np.int64(3), [], name="fed")


@pytest.mark.parametrize(
    "make, reason",
    [
        (by_variable, "ReadVariableOp.*: it has state"),
        (by_condition, "control flow|calls a function"),
        (by_state, "'call' .*: it has state"),
        (by_two_iterators, "it reads the batches of several iterators"),
        (by_default, "'fed' .*: it can be fed"),
    ],
)
def test_ids_of_more_than_a_batch_stay(said, make, reason):
    seen = []
    for modifies in (False, True):
        with tf.Graph().as_default():
            ids = make(batch_of())
            read = look_up(tf.reshape(ids, [2]), name="of_ids")
            if modifies:
                ep.modify_graph_and_start_emb_cache()
            with support.ready_session() as session:
                seen.append([session.run([read, ids]) for _ in range(2)])
    np.testing.assert_equal(seen[1], seen[0])
    (line,) = [line for line in said if "stays in the training step" in line]
    assert "lookup 'of_ids' in table 'user'" in line
    assert re.search(reason, line)


def test_placeholders_stay(said):
    fed = v1.placeholder(tf.int64, [2], name="fed")
    read = look_up(hashed(fed))
    ep.modify_graph_and_start_emb_cache()
    assert any("'fed' (Placeholder): it can be fed" in line for line in said)
    with support.ready_session() as session:
        assert session.run(read, {fed: [1, 2]}).shape == (2, 4)


def test_a_lookup_in_a_function_stays(said):
    table = support.table()
    read = tf.map_fn(
        lambda n: ep.sparse_lookup(table, n, is_train=False, modify_graph=True),
        batch_of(),
        tf.float32,
    )
    ep.modify_graph_and_start_emb_cache()
    assert any("stays in the training step from" in line for line in said)
    with support.ready_session() as session:
        assert session.run(read).shape == (2, 4)


def test_no_lookup_asks(said):
    ep.sparse_lookup(support.table(), hashed(batch_of()))
    GraphModifierHook().begin()
    assert any("no lookup of the graph has modify_graph=True" in line for line in said)
    assert graph_state.of().pipeline.cuts == []


def test_a_missing_hook_is_said(said, monkeypatch):
    monkeypatch.setattr(requests, "_hook_was_made", threading.Event())
    look_up(hashed(batch_of()))
    assert any("waits for GraphModifierHook" in line for line in said)
    del said[:]
    notices._said.clear()
    GraphModifierHook()
    with tf.Graph().as_default():
        look_up(hashed(batch_of()))
    assert said == []


def test_a_graph_without_lookups_is_refused():
    with pytest.raises(RuntimeError, match="no lookup to modify it for"):
        ep.modify_graph_and_start_emb_cache()


def test_a_second_hook_is_refused():
    read = look_up(hashed(batch_of()))
    with pytest.raises(RuntimeError, match="give one GraphModifierHook"):
        v1.train.MonitoredSession(hooks=[GraphModifierHook(), GraphModifierHook()])
    with support.ready_session() as session:
        assert session.run(read).shape == (2, 4)  # The first has done its work.


@pytest.mark.parametrize(
    "slicer", [lambda: LookupSubgraphSlicerHook(["Cast"]), OrphanLookupKeySlicerHook]
)
def test_slicers_come_first(slicer):
    look_up(hashed(batch_of()))
    with pytest.raises(RuntimeError, match="put it before GraphModifierHook"):
        v1.train.MonitoredSession(hooks=[GraphModifierHook(), slicer()])


@pytest.mark.parametrize(
    "call",
    [
        lambda: GraphModifierHook(dump_graph=1),
        lambda: GraphModifierHook(modify_graph="yes"),
        lambda: ep.modify_graph_and_start_emb_cache(full_graph="graph"),
        lambda: ep.modify_graph_and_start_emb_cache(dump_graph=None),
        lambda: ep.get_initializer(1),
        lambda: ep.do_merge_lookup("yes"),
        lambda: LookupSubgraphSlicerHook([]),
        lambda: LookupSubgraphSlicerHook("Cast"),
        lambda: LookupSubgraphSlicerHook([1]),
    ],
)
def test_wrong_arguments(call):
    with pytest.raises(ValueError, match="got|must"):
        call()


def test_what_is_asked_of_a_graph_that_has_it_not():
    with pytest.raises(RuntimeError, match="call modify_graph_and_start_emb_cache first"):
        ep.get_initializer(True)
    with pytest.raises(RuntimeError, match="no lookup with is_train=True"):
        ep.do_merge_lookup()
    look_up(hashed(batch_of()), is_train=False)
    ep.modify_graph_and_start_emb_cache()
    ep.do_merge_lookup(is_train=False)
    with pytest.raises(RuntimeError, match="no lookup with is_train=True"):
        ep.get_initializer(True)


def test_iterators_of_other_kinds_are_refused():
    iterator = v1.data.make_one_shot_iterator(tf.data.Dataset.range(4).batch(2))
    handle = v1.placeholder(tf.string, [])
    fed = v1.data.Iterator.from_string_handle(handle, tf.int64, tf.TensorShape([None]))
    look_up(hashed(fed.get_next()))
    with pytest.raises(ValueError, match="IteratorFromStringHandleV2, which no dataset"):
        ep.modify_graph_and_start_emb_cache()
    with tf.Graph().as_default():
        iterator = v1.data.make_one_shot_iterator(tf.data.Dataset.range(4).batch(2))
        look_up(hashed(iterator.get_next() + iterator.get_next()[::-1]))
        ep.modify_graph_and_start_emb_cache()  # Of two batches: nothing moves, nothing is refused.
    with tf.Graph().as_default():
        iterator = v1.data.make_one_shot_iterator(tf.data.Dataset.range(4).batch(2))
        iterator.get_next()
        look_up(hashed(iterator.get_next()))
        with pytest.raises(ValueError, match="is read by IteratorGetNext .* too"):
            ep.modify_graph_and_start_emb_cache()


def test_estimators_that_start_and_stop_leave_nothing():
    command = [sys.executable, "-m", "tests.graph.cycles", "--cycles", "20"]
    done = subprocess.run(
        command,
        cwd=support.ROOT,
        env=dict(os.environ, PYTHONPATH=support.ROOT),
        stdout=subprocess.PIPE,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout
    assert "20 cycles: +0 threads, +0 handles" in done.stdout


def test_runs_leave_no_thread():
    """Sessions that stop early, while their pipelines have batches ready."""

    def run():
        with tf.Graph().as_default():
            read = look_up(hashed(batch_of(1000)))
            hooks = [GraphModifierHook(), v1.train.StopAtStepHook(num_steps=2)]
            step = v1.train.get_or_create_global_step()
            with tf.control_dependencies([read]):
                count = v1.assign_add(step, 1)
            with v1.train.MonitoredSession(hooks=hooks) as session:
                while not session.should_stop():
                    session.run(count)

    def threads():
        return len(os.listdir("/proc/self/task"))

    for _ in range(3):
        run()
    before = threads()
    for _ in range(10):
        run()
    assert threads() <= before + 1

"""Counts, times, thresholds and the freeze flag in checkpoints: saved, merged, re-bucketed."""

import contextlib
import re

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.cli import main as cli
from estimator_plugin.ops import transfer_ops
from tests.plugin import support
from tests.plugin.admitting import Training

v1 = tf.compat.v1
FIRST, SECOND = [[1, 1, 2], [3, 1], [4]], [[2, 3], [4, 5], [5, 6, 1]]
TIMES = [100, 150, 200]
LATER = [250, 300, 350]
SAVERS = ["stock", "streaming"]


def saver_of(kind):
    return ep.checkpoint.saver() if kind == "streaming" else v1.train.Saver()


def waiting_of(training):
    """{key: (count, last_seen)} of the keys that wait for a row."""
    table = training.table
    with training.table.graph.as_default():
        content = transfer_ops.table_export_waiting(table.handle, table.num_buckets)
    keys, counts, seen = [np.concatenate(p).tolist() for p in training.session.run(content)[:3]]
    return dict(zip(keys, zip(counts, seen)))


def state_of(training):
    """All that admission and eviction go by."""
    statistics = training.statistics()
    kept = ("clock", "access_threshold", "frozen", "waiting", "rows")
    return training.rows(), waiting_of(training), {name: statistics[name] for name in kept}


@contextlib.contextmanager
def training_of(batches, times, saver="streaming", restore=None, **kwargs):
    """(Training, saver, set_threshold), running in a graph of its own."""
    kwargs = dict({"access_threshold": 3, "eviction_threshold": 100}, **kwargs)
    with tf.Graph().as_default():
        training = Training("config", batches, times, **kwargs)
        value = v1.placeholder(tf.int32, [1])
        change = ep.import_host_pipeline_ops().set_threshold(value)
        made = saver_of(saver)
        with training.running():
            if restore is not None:
                made.restore(training.session, restore)
            yield training, made, lambda v: training.session.run(change, {value: [v]})


def steps(training, batches):
    return [training.step() for _ in batches]


@pytest.mark.parametrize("threshold", [None, 0, 2])
@pytest.mark.parametrize("saver", SAVERS)
def test_training_goes_on_as_if_never_stopped(saver, threshold, tmp_path):
    with training_of(FIRST + SECOND, TIMES + LATER, saver) as (whole, _, change):
        steps(whole, FIRST)
        if threshold is not None:
            change(threshold)
        wanted = steps(whole, SECOND), state_of(whole)
    with training_of(FIRST, TIMES, saver) as (first, made, change):
        steps(first, FIRST)
        if threshold is not None:
            change(threshold)
        path = made.save(first.session, str(tmp_path / "model.ckpt"))
        saved = state_of(first)
    # By hand: 1 was seen three times; 2, 3 and 4 once.
    assert saved[:2] == ({1: (3, 150)}, {2: (1, 100), 3: (1, 150), 4: (1, 200)})
    with training_of(SECOND, LATER, saver, path) as (second, _, _):
        assert state_of(second) == saved
        assert (steps(second, SECOND), state_of(second)) == wanted


def test_the_programs_new_threshold_wins_over_the_saved_one(tmp_path):
    with training_of(FIRST, TIMES) as (first, made, change):
        steps(first, FIRST)
        change(9)
        path = made.save(first.session, str(tmp_path / "model.ckpt"))
    # The same program goes on with what was set: 9, and 2 has to wait.
    with training_of(SECOND, LATER, restore=path) as (same, _, _):
        assert same.step() == [[False, False]]
        assert same.statistics()["access_threshold"] == 9
    # Another program says 2: 2 and 3 were seen once before.
    with training_of(SECOND, LATER, restore=path, access_threshold=2) as (other, _, _):
        assert other.step() == [[True, True]]
        assert other.statistics()["access_threshold"] == 2


@pytest.mark.parametrize("frozen", [False, True])
def test_a_frozen_table_stays_frozen(frozen, tmp_path):
    with training_of(FIRST, TIMES) as (first, made, change):
        steps(first, FIRST)
        if frozen:
            change(0)
        path = made.save(first.session, str(tmp_path / "model.ckpt"))
    with training_of([[2], [2]], LATER, restore=path) as (second, _, change):
        assert second.statistics()["frozen"] == frozen
        assert steps(second, [0, 0]) == [[[False]], [[not frozen]]]


def test_the_coefficient_is_the_programs(tmp_path):
    """By hand: 7 counts 2 by the first program, and 3 more by the second one's coefficient."""
    with training_of([[7]], [5], access_threshold=5, faae_coefficient=2) as (first, made, _):
        first.step()
        path = made.save(first.session, str(tmp_path / "model.ckpt"))
    other = {"access_threshold": 5, "faae_coefficient": 3}
    with training_of([[7, 8]], [6], restore=path, **other) as (second, _, _):
        assert waiting_of(second) == {7: (2, 5)}
        assert second.step() == [[True, False]]
        assert second.rows() == {7: (5, 6)}


def test_a_sketch_is_saved(tmp_path):
    table = {"admission": ep.admission.CountingSketch(1 << 14)}
    with training_of([[7, 7]], [5], table=table) as (first, made, _):
        assert first.step() == [[False, False]]
        path = made.save(first.session, str(tmp_path / "model.ckpt"))
    with training_of([[7, 8]], [6], table=table, restore=path) as (second, _, _):
        assert second.step() == [[True, False]]
        assert second.rows() == {7: (3, 6)}


def test_a_checkpoint_of_before_admission(tmp_path):
    """Its rows are admitted; nobody waits."""
    with training_of(FIRST, None, access_threshold=None, eviction_threshold=None) as (old, made, _):
        steps(old, FIRST)
        path = made.save(old.session, str(tmp_path / "model.ckpt"))
    with training_of(SECOND, LATER, restore=path) as (new, _, _):
        assert steps(new, SECOND[:2]) == [[[True, True]], [[True, False]]]
        assert waiting_of(new) == {5: (1, 300)}


def test_a_stock_saver_and_a_checkpoint_of_before_admission(tmp_path):
    """It says what is missing; what a streaming saver saves, even before a step, has it."""
    with training_of(FIRST, None, access_threshold=None, eviction_threshold=None) as (old, made, _):
        steps(old, FIRST)
        path = made.save(old.session, str(tmp_path / "model.ckpt"))
    restored = training_of(SECOND, LATER, "stock", path)
    with pytest.raises(tf.errors.NotFoundError, match="user/bucket-.*/waiting_keys"), restored:
        pass
    with training_of(SECOND, LATER, "streaming", path) as (new, made, _):
        again = made.save(new.session, str(tmp_path / "again.ckpt"))
    with training_of(SECOND, LATER, "stock", again) as (new, _, _):
        assert steps(new, SECOND[:2]) == [[[True, True]], [[True, False]]]


def test_a_merged_checkpoint_has_the_waiting_keys(tmp_path, capsys):
    with training_of(FIRST, TIMES) as (first, made, change):
        steps(first, FIRST)
        change(4)
        path = made.save(first.session, str(tmp_path / "model.ckpt"))
        saved = state_of(first)
    output = str(tmp_path / "merged" / "model.ckpt")
    assert cli.main(["verify", path]) == 0
    assert cli.main(["inspect", path, "--table", "user"]) == 0
    shown = dict(re.findall(r"^  (\S.*?)  +(.*)$", capsys.readouterr().out, re.MULTILINE))
    assert shown["access_threshold"] == "4" and shown["counting"] == "True"
    assert shown["waiting keys"] == "3" and shown["last last_seen"] == "150"
    assert cli.main(["merge", path, "--output", output]) == 0
    with training_of(SECOND, LATER, restore=output) as (second, _, _):
        assert state_of(second) == saved


@pytest.mark.parametrize("buckets", [64, 4])
def test_a_warm_start_brings_waiting_keys(buckets, tmp_path):
    with training_of(FIRST, TIMES) as (first, made, _):
        steps(first, FIRST)
        path = made.save(first.session, str(tmp_path / "model.ckpt"))
    training = Training(
        "config", [[2, 2, 9]], [400], table={"num_buckets": buckets}, access_threshold=3
    )
    ep.warm_start.warm_start(path, vars_to_warm_start="user")
    with support.ready_session() as training.session:
        assert training.rows() == {1: (3, 150)}
        assert training.step() == [[True, True, False]]

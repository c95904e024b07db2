"""What admission and eviction go by, in checkpoints: any number of servers reads what any wrote."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import versions
from estimator_plugin.cli.main import main as cli
from tests.distribute import in_process
from tests.distribute.admitting import Admitting, batches

_SINCE_MADE = ("rows_inserted", "rows_updated", "rows_admitted", "rows_removed", "rows_evicted")
_LIMITS = {"access_threshold": 4, "eviction_threshold": 300}


def _train(model, seed, steps=3):
    return [model.step(ids, now) for ids, now in batches(steps, seed)]


def _kept(state):
    """What of a state a restore brings back."""
    rows, waiting, statistics = state
    kept = {n: v for n, v in statistics.items() if n not in _SINCE_MADE + ("waiting_evicted",)}
    return rows, waiting, kept


def _save(count, path, change=None, saver="streaming", **kwargs):
    """(prefix, state) of a table after three steps."""
    with tf.Graph().as_default():
        model = Admitting(count, saver, **dict(_LIMITS, **kwargs))
        with model.running():
            _train(model, 1)
            if change is not None:
                model.change(change)
            return model.save(path), _kept(model.state())


def _go_on(count, prefix, saver="streaming", **kwargs):
    """(state at once, what three more steps read, state then) on `count` servers."""
    with tf.Graph().as_default():
        model = Admitting(count, saver, **dict(_LIMITS, **kwargs))
        with model.running(prefix):
            return _kept(model.state()), _train(model, 3), _kept(model.state())


@pytest.mark.parametrize(
    "readers, writer, reader, change",
    [
        (0, "streaming", "streaming", 2),
        (1, "streaming", "streaming", 0),
        (3, "streaming", "streaming", None),
        (3, "streaming", "stock", 0),
        (5, "stock", "streaming", 2),
    ],
)
def test_a_full_checkpoint_of_two_servers(readers, writer, reader, change, tmp_path):
    expected = _save(0, str(tmp_path / "one"), change)
    prefix, state = _save(2, str(tmp_path / "two"), change, writer)
    rows, waiting, statistics = state
    assert state == expected[1] and rows and waiting
    assert statistics["frozen"] == (change == 0) and statistics["clock"] == 10300
    found = _go_on(readers, prefix, reader)
    assert found[0] == state and found == _go_on(0, expected[0])


def test_servers_restore_what_one_process_saved(tmp_path):
    prefix, _ = _save(0, str(tmp_path / "one"))
    assert _go_on(3, prefix) == _go_on(0, prefix)


def test_a_sketch_moves_to_other_servers(tmp_path):
    table = {"table": {"admission": ep.admission.CountingSketch(1 << 14)}}
    prefix, _ = _save(2, str(tmp_path / "two"), **table)
    found = _go_on(3, prefix, **table)
    assert found == _go_on(0, prefix, **table)
    assert len(found[2][0]) > len(found[0][0])


def test_a_combined_record_moves_to_other_servers(tmp_path, monkeypatch):
    monkeypatch.setenv("USE_COMBINE_FAAE", "1")
    prefix, _ = _save(2, str(tmp_path / "two"))
    found = _go_on(3, prefix)
    assert found == _go_on(0, prefix)
    assert len(found[2][0]) > len(found[0][0])


def _save_deltas(count, path):
    """(prefix of the second delta, state, keys that an eviction has removed before it)."""
    with tf.Graph().as_default():
        model = Admitting(count, **_LIMITS)
        with in_process.placed_on(count):
            evict = ep.eviction.evict(model.table, ep.eviction.OlderThan(100))
            incremental = ep.checkpoint.IncrementalSaver(model.saver)
        with model.running():
            _train(model, 1)
            incremental.save(model.session, path, 1)
            _train(model, 2)
            incremental.save(model.session, path, 2, delta=True)
            before = set(model.state()[0])
            assert model.session.run(evict) > 0
            gone = before - set(model.state()[0])
            model.step([1, 2, 2, 600], 20400)
            prefix, is_delta = incremental.save(model.session, path, 3, delta=True)
            assert is_delta and versions.read_version(prefix).kind == versions.DELTA
            return prefix, _kept(model.state()), gone


@pytest.mark.parametrize("readers", [0, 1, 3, 5])
def test_deltas_of_two_servers_with_evicted_rows(readers, tmp_path):
    expected, state, gone = _save_deltas(0, str(tmp_path / "one"))
    prefix, found, also_gone = _save_deltas(2, str(tmp_path / "two"))
    assert found == state and also_gone == gone and gone and state[1]
    reader = tf.train.load_checkpoint(prefix)
    removed = [reader.get_tensor("user/bucket-%d/removed" % b) for b in range(64)]
    assert gone - set(state[0]) <= set(np.concatenate(removed).tolist())
    on = _go_on(readers, prefix)
    assert on[0] == state and on == _go_on(0, expected)
    assert cli(["verify", prefix]) == 0


@pytest.mark.parametrize("count", [0, 3])
def test_warm_start_into_other_buckets(count, tmp_path):
    prefix, (rows, waiting, _) = _save(2, str(tmp_path / "two"))
    with tf.Graph().as_default():
        model = Admitting(count, table={"num_buckets": 16}, **_LIMITS)
        with in_process.placed_on(count):
            ep.warm_start.warm_start(prefix, "user")
        with model.running():
            found = model.state()
    assert found[0] == rows and found[1] == waiting


def test_keys_that_wait_are_no_other_servers(tmp_path):
    """Each of three servers holds what waits in its own buckets, and nothing else."""
    prefix, (_, waiting, _) = _save(2, str(tmp_path / "two"))
    with tf.Graph().as_default():
        model = Admitting(3, **_LIMITS)
        with model.running(prefix):
            parts = [
                set(np.concatenate(kept.keys).tolist())
                for _, kept in model.session.run(model.content)
            ]
            total = model.state()[2]["waiting"]
    assert sum(map(len, parts)) == len(set.union(*parts)) and set.union(*parts) == set(waiting)
    assert total == len(waiting)

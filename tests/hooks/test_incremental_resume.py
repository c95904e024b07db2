"""A run that stops and goes on from a delta is the uninterrupted run, to the bit."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import versions
from tests.plugin import trainer

v1 = tf.compat.v1


def _train(model_dir, stop, full=10**6, delta=3):
    latest = tf.train.latest_checkpoint(str(model_dir))
    start = int(tf.train.load_variable(latest, "global_step")) if latest else 0
    hook = ep.hooks.IncrementalSaveHook(
        str(model_dir), save_full_steps=full, save_delta_steps=delta, keep_checkpoint_max=0
    )
    trainer.estimator(str(model_dir), threads=2).train(
        lambda: trainer.batches(start, stop), hooks=[hook], max_steps=stop
    )


def _state(model_dir, prefix=None):
    """All variables, and each table's rows, slots, counts and times by key."""
    prefix = prefix or tf.train.latest_checkpoint(str(model_dir))
    state = {}
    with tf.Graph().as_default(), v1.Session() as session:
        variables = {
            name: tf.train.load_variable(prefix, name)
            for name, _ in tf.train.list_variables(prefix)
            if not name.startswith(("user/", "item/"))
        }
        state.update({name: np.asarray(value).tobytes() for name, value in variables.items()})
        for name, dim in (("user", 8), ("item", 4)):
            table = ep.create_table(tf.int64, dim, name, v1.zeros_initializer())
            saver = ep.checkpoint.saver(var_list=[table_saveable(table)])
            saver.restore(session, prefix)
            content = session.run(_export(table))
            for keys, rows, counts, seen in zip(*content):
                for key, row, count, time in zip(keys, rows, counts, seen):
                    state[(name, int(key))] = (row.tobytes(), int(count), int(time))
    return state


def table_saveable(table):
    saveables = v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS)
    return next(s for s in saveables if s.table is table)


def _export(table):
    content = ep.ops.transfer_ops.table_export(table.handle, table.num_buckets)
    return content.keys, content.rows, content.counts, content.last_seen


def _assert_equal(found, wanted):
    assert found.keys() == wanted.keys()
    different = [key for key in wanted if found[key] != wanted[key]]
    assert not different


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    model_dir = tmp_path_factory.mktemp("uninterrupted")
    _train(model_dir, 30)
    return _state(model_dir)


def test_resume_from_deltas(tmp_path, uninterrupted):
    for stop in (7, 16, 23):
        _train(tmp_path, stop)
        _make_last_a_delta(tmp_path)
    _train(tmp_path, 30)
    _assert_equal(_state(tmp_path), uninterrupted)


def _make_last_a_delta(model_dir):
    """Forgets the full checkpoint of the end, as if the job had been killed before."""
    recorded = versions.recorded(str(model_dir))
    deltas = [p for p in recorded if versions.read_version(p).kind == versions.DELTA]
    ep.checkpoint.retention.record(str(model_dir), deltas, 0.0)
    assert versions.read_version(tf.train.latest_checkpoint(str(model_dir))).kind == "delta"


def test_the_start_does_not_save_again_what_is_there(tmp_path):
    _train(tmp_path, 8)
    _make_last_a_delta(tmp_path)
    before = {v.prefix: v.saved_at for v in versions.list_versions(str(tmp_path))}
    _train(tmp_path, 9)
    after = {v.prefix: v for v in versions.list_versions(str(tmp_path))}
    assert {p: after[p].saved_at for p in before if not p.endswith("-8")} == {
        p: t for p, t in before.items() if not p.endswith("-8")
    }
    _assert_equal(_state(tmp_path), _reference(tmp_path, 9))


def _reference(tmp_path, stop):
    other = tmp_path / "reference"
    other.mkdir()
    _train(other, stop)
    return _state(other)

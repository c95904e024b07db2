"""Stacked tables that start from checkpoints, by logical name, in any topology and stacking."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import sparse_core
from tests.plugin import support
from tests.sparse_core import models

v1 = tf.compat.v1
NAMES = ("zed", "abe", "mid")


def _saved(path, names=NAMES, seed=0, **kwargs):
    """Saves random tables; the checkpoint's prefix and the logical tables in it."""
    with tf.Graph().as_default(), v1.Session() as session:
        embedding = models.embedding(names, **kwargs)
        embedding.build()
        session.run(models.random_tables(embedding, seed))
        prefix = v1.train.Saver().save(session, str(path / "model.ckpt"))
        return prefix, models.logical_tables(embedding, session)


def _started(*settings, names=NAMES, **kwargs):
    """The logical tables of a graph that warm starts by `settings`."""
    with tf.Graph().as_default(), v1.Session() as session:
        embedding = models.embedding(names, **kwargs)
        embedding.build()
        ep.warm_start.warm_start(*settings)
        session.run(v1.global_variables_initializer())
        return models.logical_tables(embedding, session)


def _is_fresh(slots):
    return (slots["parameters"] == 7).all() and not slots["momenta"].any()


@pytest.mark.parametrize(
    "target",
    [
        {"replicas": 2, "cores": 2},
        {"replicas": 4, "cores": 2},
        {"replicas": 1, "cores": 4, "stacking": False},
    ],
)
@pytest.mark.parametrize("stacking", [False, True])
def test_tables_start_in_any_topology_and_stacking(tmp_path, target, stacking):
    prefix, wanted = _saved(tmp_path, replicas=1, cores=4, stacking=stacking)
    models.assert_same(_started(prefix, **target), wanted)


@pytest.mark.parametrize("pattern", ["abe", ["abe"], "ab.*"])
def test_what_is_not_named_starts_fresh(tmp_path, pattern):
    prefix, wanted = _saved(tmp_path)
    tables = _started(prefix, pattern)
    models.assert_same(tables, wanted, ["abe"])
    assert _is_fresh(tables["zed"]) and _is_fresh(tables["mid"])


def test_a_later_checkpoint_replaces_an_earlier_one(tmp_path):
    first, of_first = _saved(tmp_path / "1")
    second, of_second = _saved(tmp_path / "2", seed=1, cores=4, stacking=False, name="deep")
    previous = [{}, {"abe": "deep/abe"}]
    tables = _started([first, second], [".*", "abe"], None, previous)
    models.assert_same(tables, of_first, ["zed", "mid"])
    models.assert_same(tables, of_second, ["abe"])


def test_slots_can_stay_behind(tmp_path):
    prefix, wanted = _saved(tmp_path)
    tables = _started(ep.warm_start.WithoutSlots(prefix))
    for name in NAMES:
        assert np.array_equal(tables[name]["parameters"], wanted[name]["parameters"])
        assert not tables[name]["momenta"].any() and not tables[name]["velocities"].any()


def test_slots_of_another_optimizer_start_fresh(tmp_path, caplog):
    prefix, wanted = _saved(tmp_path)
    with caplog.at_level("INFO", logger="tensorflow"):
        tables = _started(prefix, optimizer=sparse_core.Adagrad(0.1, 0.5))
    for name in NAMES:
        assert np.array_equal(tables[name]["parameters"], wanted[name]["parameters"])
        assert (tables[name]["accumulators"] == 0.5).all()
    line = "Warm-starting table: abe; prev_table: Unchanged; checkpoint: %s; 40 rows; slots: none"
    assert line % prefix + "; fresh: accumulators" in caplog.text


def test_growing_and_stacked_tables_start_together(tmp_path):
    def build(rows):
        user = support.table("user", initializer=v1.constant_initializer(rows))
        embedding = models.embedding(["abe"])
        embedding.build()
        return ep.sparse_lookup(user, [1, 2]), embedding

    with tf.Graph().as_default(), support.ready_session() as session:
        found, embedding = build(3.0)
        support.initialize(session)
        session.run([found] + models.random_tables(embedding))
        prefix = v1.train.Saver().save(session, str(tmp_path / "model.ckpt"))
        wanted = models.logical_tables(embedding, session)
    with tf.Graph().as_default(), v1.Session() as session:
        found, embedding = build(9.0)
        ep.warm_start.warm_start(prefix)
        support.initialize(session)
        assert (session.run(found) == 3).all()
        models.assert_same(models.logical_tables(embedding, session), wanted)


@pytest.mark.parametrize(
    "settings, arguments, message",
    [
        ([".*"], {"shapes": {"abe": (40, 6)}}, r"'abe' has shape \(40, 6\), .*\(40, 5\)"),
        (["new"], {"names": ("new",), "shapes": {"new": (4, 8)}}, "'new'.*tables 'abe', 'mid'"),
        (["abd"], {}, "matches nothing .*the graph has tables 'abe', 'mid', 'zed'"),
    ],
)
def test_what_does_not_fit_is_an_error(tmp_path, settings, arguments, message):
    prefix, _ = _saved(tmp_path)
    with pytest.raises(ValueError, match="warm start: .*" + message):
        _started(prefix, *settings, **arguments)


def test_a_stacked_table_and_a_growing_one_are_told_apart(tmp_path):
    with tf.Graph().as_default():
        support.table("abe", dim=5)
        with support.ready_session() as session:
            prefix = v1.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    with pytest.raises(ValueError, match="'abe' is a stacked one and cannot start from 'abe', a g"):
        _started(prefix, "abe")
    support.table("abe", dim=5)
    with pytest.raises(ValueError, match="are both called 'abe'"):
        models.embedding(["abe"]).build()
        ep.warm_start.warm_start(prefix)

"""The stock Saver: saved in one topology and stacking, restored in another."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import sparse_core
from tests.sparse_core import models

v1 = tf.compat.v1

_TARGETS = [
    {"replicas": 1, "cores": 4},
    {"replicas": 2, "cores": 2},
    {"replicas": 4, "cores": 2},
    {"replicas": 1, "cores": 1},
    {"replicas": 1, "cores": 4, "stacking": False},
    {"replicas": 2, "cores": 2, "stacking": False},
]


def _saved(path, names=("zed", "abe", "mid"), **kwargs):
    """Saves random tables; the checkpoint's prefix and the logical tables in it."""
    with tf.Graph().as_default(), v1.Session() as session:
        embedding = models.embedding(names, **kwargs)
        embedding.build()
        dense = v1.get_variable("dense", initializer=3.0)
        session.run(v1.global_variables_initializer())
        session.run(models.random_tables(embedding))
        session.run(dense.assign(4.0))
        prefix = v1.train.Saver().save(session, str(path / "model.ckpt"))
        return prefix, models.logical_tables(embedding, session)


def _restored(prefix, names=("zed", "abe", "mid"), sharded=False, **kwargs):
    """The logical tables that a Saver restores, nothing initialized before."""
    with tf.Graph().as_default(), v1.Session() as session:
        embedding = models.embedding(names, **kwargs)
        embedding.build()
        dense = v1.get_variable("dense", initializer=3.0)
        v1.train.Saver(sharded=sharded).restore(session, prefix)
        assert session.run(dense) == 4.0
        assert not session.run(v1.report_uninitialized_variables()).size
        return models.logical_tables(embedding, session)


def test_names_in_the_checkpoint(tmp_path):
    prefix, _ = _saved(tmp_path)
    assert dict(tf.train.list_variables(prefix)) == {
        "_sparse_core_table_layouts": [],
        "abe_mid_zed": [128, 8],
        "abe_mid_zed/momenta": [128, 8],
        "abe_mid_zed/velocities": [128, 8],
        "dense": [],
    }


@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("stacking", [False, True])
def test_restored_in_another_topology_and_stacking(tmp_path, target, stacking):
    prefix, tables = _saved(tmp_path, replicas=1, cores=4, stacking=stacking)
    sharded = target["replicas"] == 2  # As an Estimator's Saver is.
    models.assert_same(_restored(prefix, sharded=sharded, **target), tables)


def test_a_new_table_starts_from_its_initializer_and_an_old_one_is_left_out(tmp_path):
    prefix, wanted = _saved(tmp_path)
    tables = _restored(prefix, ("zed", "new", "mid"), shapes={"new": (12, 8)})
    models.assert_same(tables, wanted, ("zed", "mid"))
    assert np.array_equal(tables["new"]["parameters"], np.full([12, 8], 7, np.float32))
    assert not tables["new"]["momenta"].any()


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (
            {"names": ["new"], "shapes": {"new": (4, 8)}},
            tf.errors.InvalidArgumentError,
            "none of the tables new; it has.*abe.*mid.*zed",
        ),
        (
            {"shapes": {"abe": (40, 6)}},
            tf.errors.InvalidArgumentError,
            r"\[table\] \[abe\] \[has shape\] \[40 6\] .*checkpoint\] \[40 5\]",
        ),
        (
            {"optimizer": sparse_core.Adagrad(0.1), "cores": 4},
            tf.errors.NotFoundError,
            "abe_mid_zed/accumulators",
        ),
        (
            {"optimizer": sparse_core.Adagrad(0.1)},
            tf.errors.NotFoundError,
            "abe_mid_zed/accumulators",
        ),
    ],
)
def test_what_cannot_be_matched_is_an_error(tmp_path, arguments, error, message):
    prefix, _ = _saved(tmp_path)
    with pytest.raises((error, ValueError), match="(?s)" + message):
        _restored(prefix, **arguments)


def test_embeddings_of_one_graph_have_names(tmp_path):
    prefix, _ = _saved(tmp_path, name="deep")
    assert "deep/abe_mid_zed/momenta" in dict(tf.train.list_variables(prefix))
    wide = models.embedding(["zed"], name="wide")
    deep = models.embedding(["abe"], name="deep", stacking=False)
    wide.build(), deep.build()
    assert wide.embedding_tables["zed"].op.name == "wide/zed"
    with pytest.raises(ValueError, match="name must be another: .* has it already, got 'wide'"):
        models.embedding(["mid"], name="wide").build()


def test_two_embeddings_save_and_restore(tmp_path):
    def build(cores):
        made = [
            models.embedding(["zed", "abe"], name="wide", replicas=1, cores=cores),
            models.embedding(["zed", "mid"], name="deep", replicas=1, cores=cores),
        ]
        for each in made:
            each.build()
        return made

    with v1.Session() as session:
        made = build(4)
        session.run([models.random_tables(each, seed) for seed, each in enumerate(made)])
        wanted = [models.logical_tables(each, session) for each in made]
        prefix = v1.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    with tf.Graph().as_default(), v1.Session() as session:
        made = build(2)
        v1.train.Saver().restore(session, prefix)
        for each, tables in zip(made, wanted):
            models.assert_same(models.logical_tables(each, session), tables)


def test_a_checkpoint_without_layouts_names_what_is_missing(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        v1.get_variable("dense", initializer=4.0)
        session.run(v1.global_variables_initializer())
        prefix = v1.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    with pytest.raises(tf.errors.NotFoundError, match="_sparse_core_table_layouts"):
        _restored(prefix)


def _given_layouts(rotation):
    """Tables with rows of no table before, between and after them, against the names' order."""

    def table(name, offset):
        return sparse_core.TableConfig(
            12,
            8,
            tf.ones_initializer(),
            name=name,
            layout=sparse_core.SparseCoreTableLayout(
                table_name=name,
                stacked_table_name="given",
                num_sparse_cores=2,
                num_partitions=1,
                total_rows_per_sparse_core_shard=64,
                unsharded_shape=[12, 8],
                unsharded_padded_shape=[16, 8],
                sparse_core_shard_row_offset=offset,
                sparse_core_shard_rotation=rotation,
            ),
        )

    features = [
        sparse_core.FeatureConfig(table(name, offset), output_shape=[4])
        for name, offset in (("a", 40), ("b", 8))
    ]
    embedding = sparse_core.TPUEmbeddingV2(features, sparse_core.Adagrad(0.1), num_sc_per_chip=2)
    embedding.build()
    return embedding


def test_given_layouts_with_gaps(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        embedding = _given_layouts(0)
        session.run(v1.global_variables_initializer())
        session.run(models.random_tables(embedding))
        wanted = models.logical_tables(embedding, session)
        prefix = v1.train.Saver().save(session, str(tmp_path / "model.ckpt"))
    for rotation in (0, 1):
        with tf.Graph().as_default(), v1.Session() as session:
            embedding = _given_layouts(rotation)
            v1.train.Saver().restore(session, prefix)
            models.assert_same(models.logical_tables(embedding, session), wanted)
            if rotation:  # Put together anew: what is no table's is zeros.
                rows = session.run(embedding.embedding_tables["given"]).reshape(2, 64, 8)
                assert not rows[:, :8].any() and not rows[:, 16:40].any() and not rows[:, 48:].any()


def test_beside_growing_tables_in_a_saver_that_streams(tmp_path):
    def build(cores):
        embedding = models.embedding(replicas=1, cores=cores)
        embedding.build()
        table = ep.create_table(tf.int64, 4, "growing", v1.ones_initializer())
        keys = ep.sparse_lookup(table, tf.constant([[1, 5]], tf.int64), is_train=True)
        return embedding, keys, ep.checkpoint.saver()

    with tf.Graph().as_default(), v1.Session() as session:
        embedding, rows, saver = build(4)
        session.run([v1.global_variables_initializer(), ep.tables_initializer()])
        session.run([rows, models.random_tables(embedding)])
        wanted = models.logical_tables(embedding, session)
        prefix = saver.save(session, str(tmp_path / "model.ckpt"))
    assert ep.checkpoint.table_names(prefix) == ["growing"]
    with tf.Graph().as_default(), v1.Session() as session:
        embedding, rows, saver = build(2)
        saver.restore(session, prefix)
        models.assert_same(models.logical_tables(embedding, session), wanted)
        assert session.run(rows).sum() == 8

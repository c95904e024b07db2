"""tf.train.Checkpoint: genuine checkpoints, and ours in every topology and stacking."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin import sparse_core
from tests.sparse_core import cases, models

_TARGETS = [
    {"replicas": 2, "cores": 2},
    {"replicas": 1, "cores": 4},
    {"replicas": 4, "cores": 2},
    {"replicas": 1, "cores": 1},
    {"replicas": 2, "cores": 2, "stacking": False},
    {"replicas": 4, "cores": 4, "stacking": False},
]


def _restored(path, embedding, build):
    if build:
        embedding.build()
    tf.train.Checkpoint(model=embedding).restore(path)
    return models.logical_tables(embedding)


@pytest.mark.parametrize("build", [False, True])
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("name", ["stacked_2x2", "unstacked_2x2"])
def test_genuine_checkpoints_restore_by_logical_table(name, target, build):
    path, wanted = cases.checkpoint(name)
    with models.eagerly():
        models.assert_same(_restored(path, models.embedding(**target), build), wanted)


def test_padding_of_a_resharded_table_is_zeros():
    path, wanted = cases.checkpoint("stacked_2x2")
    with models.eagerly():
        embedding = models.embedding(replicas=4, cores=2)
        tf.train.Checkpoint(model=embedding).restore(path)
        total = sum(float(tf.reduce_sum(v)) for v in embedding.embedding_tables.values())
    assert total == pytest.approx(sum(slots["parameters"].sum() for slots in wanted.values()), 1e-4)


def test_the_same_topology_matches_object_by_object():
    path, _ = cases.checkpoint("stacked_2x2")
    with models.eagerly():
        embedding = models.embedding()
        embedding.build()
        checkpoint = tf.train.Checkpoint(model=embedding)
        checkpoint.restore(path).assert_existing_objects_matched()


def test_a_restore_before_build_asks_no_initializer():
    def initializer(shape, dtype):
        raise AssertionError("asked for %s" % (shape,))

    path, wanted = cases.checkpoint("stacked_2x2")
    with models.eagerly():
        tables = _restored(path, models.embedding(initializer=initializer), build=False)
    models.assert_same(tables, wanted)


def test_keys_are_those_of_the_genuine_class(tmp_path):
    with models.eagerly():
        embedding = models.embedding()
        embedding.build()
        path = tf.train.Checkpoint(model=embedding).save(str(tmp_path / "ckpt"))
    genuine, _ = cases.checkpoint("stacked_2x2")
    ours, theirs = dict(tf.train.list_variables(path)), dict(tf.train.list_variables(genuine))
    assert ours == theirs
    key = "model/_sparse_core_table_layouts/.ATTRIBUTES/VARIABLE_VALUE"
    assert tf.train.load_variable(path, key) == tf.train.load_variable(genuine, key)


@pytest.mark.parametrize("target", _TARGETS)
def test_saved_under_1x4_restored_elsewhere(tmp_path, target):
    with models.eagerly():
        saved = models.embedding(replicas=1, cores=4)
        models.random_tables(saved)
        path = tf.train.Checkpoint(model=saved).save(str(tmp_path / "ckpt"))
        tables = _restored(path, models.embedding(**target), build=True)
        models.assert_same(tables, models.logical_tables(saved))


def test_saved_by_a_restored_one(tmp_path):
    genuine, wanted = cases.checkpoint("unstacked_2x2")
    with models.eagerly():
        embedding = models.embedding(replicas=1, cores=2)
        checkpoint = tf.train.Checkpoint(model=embedding)
        checkpoint.restore(genuine)
        path = checkpoint.save(str(tmp_path / "ckpt"))
        models.assert_same(_restored(path, models.embedding(), False), wanted)


def test_a_new_table_starts_from_its_initializer_and_an_old_one_is_left_out():
    path, wanted = cases.checkpoint("stacked_2x2")
    with models.eagerly():
        names = ("zed", "new", "mid")
        embedding = models.embedding(names, 1, 4, shapes={"new": (12, 8)})
        tables = _restored(path, embedding, build=False)
    models.assert_same(tables, wanted, ("zed", "mid"))
    assert np.array_equal(tables["new"]["parameters"], np.full([12, 8], 7, np.float32))
    assert np.array_equal(tables["new"]["momenta"], np.zeros([12, 8], np.float32))


def test_slots_that_the_program_has_not_are_left_out():
    path, wanted = cases.checkpoint("stacked_2x2")
    with models.eagerly():
        tables = _restored(path, models.embedding(optimizer=sparse_core.SGD(0.1)), False)
    for name, slots in wanted.items():
        assert np.array_equal(tables[name]["parameters"], slots["parameters"])


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"names": ["new"], "shapes": {"new": (4, 8)}}, "none of the tables new; it has abe, mid"),
        ({"shapes": {"abe": (40, 6)}}, r"table 'abe': .* shape \(40, 5\), the program \(40, 6\)"),
        ({"shapes": {"mid": (10, 3)}}, r"table 'mid': .* shape \(9, 3\), the program \(10, 3\)"),
        ({"optimizer": sparse_core.Adagrad(0.1)}, "Adagrad, needs the slot 'accumulators'"),
    ],
)
@pytest.mark.parametrize("build", [False, True])
def test_what_cannot_be_matched_is_an_error(arguments, message, build):
    path, _ = cases.checkpoint("stacked_2x2")
    with models.eagerly(), pytest.raises(ValueError, match=message):
        _restored(path, models.embedding(**arguments), build)


def test_after_a_restore_that_failed_tables_start_from_their_initializers():
    path, _ = cases.checkpoint("stacked_2x2")
    with models.eagerly():
        embedding = models.embedding(shapes={"abe": (40, 6)})
        with pytest.raises(ValueError, match="table 'abe'"):
            tf.train.Checkpoint(model=embedding).restore(path)
        rows = models.logical_tables(embedding)["zed"]["parameters"]
        assert (rows == 7).all()


def test_built_and_looked_up_in_a_function(tmp_path):
    with models.eagerly():
        embedding = models.embedding()
        ids = {name: tf.zeros([16], tf.int64) for name in models.SHAPES}
        activations = tf.function(lambda: embedding(ids)[0])()
        assert (activations["mid"].numpy() == 7).all()


def _serving(names=("abe", "zed")):
    """TensorFlow's own embedding of whole tables, which saves no layouts."""
    library = tf.tpu.experimental.embedding
    features = {
        name: library.FeatureConfig(
            library.TableConfig(
                *models.SHAPES[name], initializer=tf.random_uniform_initializer(), name=name
            ),
            output_shape=[4],
        )
        for name in names
    }
    return library.TPUEmbeddingForServing(features, optimizer=library.Adam(0.1))


@pytest.mark.parametrize("target", _TARGETS)
def test_whole_tables_of_another_class_restore(tmp_path, target):
    with models.eagerly():
        serving = _serving()
        serving.build()
        path = tf.train.Checkpoint(model=serving).save(str(tmp_path / "ckpt"))
        tables = _restored(path, models.embedding(("abe", "zed"), **target), True)
        for name in tables:
            wanted = serving._variables[name]["parameters"].numpy()
            assert np.array_equal(tables[name]["parameters"], wanted)


def test_whole_tables_without_slots(tmp_path):
    with models.eagerly():
        holder = tf.Module()
        holder.abe = tf.Variable(tf.random.uniform([40, 5]))
        path = tf.train.Checkpoint(model=holder).save(str(tmp_path / "ckpt"))
        tables = _restored(path, models.embedding(["abe"]), True)
        assert np.array_equal(tables["abe"]["parameters"], holder.abe.numpy())
        assert not tables["abe"]["velocities"].any()


def test_in_a_graph_session(tmp_path):
    genuine, wanted = cases.checkpoint("stacked_2x2")
    embedding = models.embedding(replicas=1, cores=4)
    checkpoint = tf.train.Checkpoint(model=embedding)
    status = checkpoint.restore(genuine)
    with tf.compat.v1.Session() as session:
        status.initialize_or_restore(session)
        models.assert_same(models.logical_tables(embedding, session), wanted)
        with session.as_default():
            session.run(checkpoint.save_counter.initializer)
            path = checkpoint.save(str(tmp_path / "ckpt"))
    with models.eagerly():
        models.assert_same(_restored(path, models.embedding(stacking=False), False), wanted)

"""What a model can start from: SavedModels, deltas, directories, vocabularies, moving averages."""

import os

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint.table_reader import TableReader
from estimator_plugin.warm_start import rebucketed
from tests.cli import model_dir
from tests.warm_start import models
from tests.warm_start.models import rows_of

v1 = tf.compat.v1
Settings = tf.estimator.WarmStartSettings


@pytest.fixture(autouse=True)
def initialized():
    ep.init()


def test_moving_averages_of_batch_normalisation(tmp_path):
    build = models.model_fn(["user"], ["kernel"], batch_norm=True)
    old = models.write(tmp_path / "old", {"user": 3.0}, {"kernel": 2.0})
    models.estimator(tmp_path / "1", build, Settings(old, ["user", "kernel:0"])).train(
        models.input_fn, steps=5
    )
    trained = models.Model(str(tmp_path / "1" / "model.ckpt-5"))
    assert trained.variable("norm/moving_mean") != [0.0] * models.DIM
    settings = Settings(str(tmp_path / "1"), ["user", ".*kernel:0", "norm/moving_"])
    started = models.started(tmp_path / "2", build, settings)
    for name in ("norm/moving_mean", "norm/moving_variance", "kernel"):
        assert started.variable(name) == trained.variable(name)
    by_string = models.started(tmp_path / "3", build, str(tmp_path / "1"))
    assert by_string.variable("norm/moving_mean") == [0.0] * models.DIM  # As in TensorFlow.


@pytest.mark.parametrize("within_settings", [False, True])
def test_a_saved_model(tmp_path, within_settings):
    build = models.model_fn(["user", "item"], ["kernel"])
    old = models.write(tmp_path / "old", {"user": 3.0, "item": 4.0}, {"kernel": 5.0})
    first = models.estimator(tmp_path / "1", build, old)
    first.train(models.input_fn, steps=1)
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"id": v1.placeholder(tf.int64, [2])}
    )
    exported = os.fsdecode(first.export_saved_model(str(tmp_path / "export"), receiver))
    start = Settings(exported, ".*") if within_settings else exported
    model = models.started(tmp_path / "2", build, start)
    assert model.rows("user") == {**rows_of("user", 3.0), 10: 0.0}
    assert model.rows("item")[11] == 4.0
    assert model.variable("kernel") == [5.0, 5.0]


@pytest.mark.parametrize("by_directory", [False, True])
@pytest.mark.parametrize("num_buckets", [1, 8])
def test_a_delta_is_completed_from_its_parents(tmp_path, by_directory, num_buckets):
    old = tmp_path / "old"
    old.mkdir()
    prefixes = model_dir.build(old, num_buckets=num_buckets)
    step = 30 if by_directory else 20
    path = str(old) if by_directory else prefixes[step]
    model = models.started(tmp_path / "new", models.model_fn(["user"]), Settings(path, "user"))
    expected = model_dir.expected(step)
    rows = model.rows("user")
    assert rows.keys() == expected.keys()
    assert [rows[key] for key in expected] == pytest.approx(list(expected.values()))


def test_the_old_checkpoints_are_not_needed_on_resume(tmp_path):
    old = models.write(tmp_path / "old", {"user": 3.0})
    build = models.model_fn(["user"])
    settings = Settings(old, "user")
    models.estimator(tmp_path / "new", build, settings).train(models.input_fn, steps=1)
    os.remove(old + ".index")
    models.estimator(tmp_path / "new", build, settings).train(models.input_fn, steps=1)
    model = models.Model(str(tmp_path / "new" / "model.ckpt-2"))
    assert model.rows("user") == {**rows_of("user", 3.0), 10: 0.0}


def _vocabulary(path, words):
    path.write_text("\n".join(words) + "\n")
    return str(path)


def test_vocabularies_are_remapped_as_tensorflow_does(tmp_path):
    old_words, new_words = ["a", "b", "c"], ["c", "d", "a"]
    info = tf.estimator.VocabInfo(
        new_vocab=_vocabulary(tmp_path / "new.txt", new_words),
        new_vocab_size=3,
        num_oov_buckets=0,
        old_vocab=_vocabulary(tmp_path / "old.txt", old_words),
        backup_initializer=v1.ones_initializer(),
    )
    prefix = str(tmp_path / "old" / "model.ckpt")
    with tf.Graph().as_default(), v1.Session() as session:
        v1.get_variable("words", initializer=[[5.0], [6.0], [7.0]])
        session.run(v1.global_variables_initializer())
        os.makedirs(str(tmp_path / "old"))
        v1.train.Saver().save(session, prefix)
    tables = models.write(tmp_path / "tables", {"user": 3.0})
    with tf.Graph().as_default(), v1.Session() as session:
        words = v1.get_variable("words", [3, 1])
        user = ep.create_table(tf.int64, models.DIM, "user", v1.zeros_initializer())
        ep.warm_start.warm_start([prefix, tables], [None, "user"], [{"words": info}, {}])
        session.run([v1.global_variables_initializer(), ep.tables_initializer()])
        assert session.run(words).tolist() == [[7.0], [1.0], [5.0]]
        assert session.run(user.size()) == 3


def test_variables_and_tables_themselves(tmp_path):
    old = models.write(tmp_path / "old", {"user": 3.0, "item": 4.0}, {"kernel": 5.0})
    kernel = v1.get_variable("kernel", [2])
    tables = [
        ep.create_table(tf.int64, models.DIM, name, v1.zeros_initializer())
        for name in ("user", "item")
    ]
    ep.warm_start.warm_start(old, [kernel, tables[0]])
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), ep.tables_initializer()])
        assert session.run(kernel).tolist() == [5.0, 5.0]
        assert session.run([table.size() for table in tables]) == [3, 0]
        session.run(ep.tables_initializer())  # As a variable's: starts over.
        assert session.run(tables[0].size()) == 3


def test_patterns_may_overlap(tmp_path):
    old = models.write(tmp_path / "old", {"user": 3.0}, {"kernel": 5.0})
    kernel = v1.get_variable("kernel", [2])
    ep.warm_start.warm_start(old, ["kernel", "ker.*"])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run(kernel).tolist() == [5.0, 5.0]


def test_path_with_spaces_and_other_letters(tmp_path):
    old = models.write(tmp_path / "alte Modelle, größer", {"user": 3.0})
    model = models.started(tmp_path / "new", models.model_fn(["user"]), Settings(old, "user"))
    assert model.rows("user") == rows_of("user", 3.0)


@pytest.mark.parametrize("with_slots", [True, False])
@pytest.mark.parametrize("num_buckets", [1, 8, 32])
def test_rows_by_way_of_numpy(tmp_path, monkeypatch, with_slots, num_buckets):
    """What a TensorFlow does whose ops cannot read checkpoints."""
    monkeypatch.setattr(rebucketed, "is_needed", lambda: True)
    prefix = model_dir.build(tmp_path / "old")[30]
    path = prefix if with_slots else ep.warm_start.WithoutSlots(prefix)
    build = models.model_fn(["user"], num_buckets=num_buckets)
    model = models.started(tmp_path / "new", build, Settings(path, "user"))
    assert model.rows("user") == pytest.approx(model_dir.expected(30))
    assert model.slots("user") == ({"momentum": {1.0}} if with_slots else {})
    trained = models.Model(str(tmp_path / "new" / "model.ckpt-1"))
    assert trained.rows("user") == pytest.approx(model_dir.expected(30))


def test_deltas_after_a_warm_start(tmp_path):
    """What was loaded is in the full checkpoint at the start, and deltas go on from there."""
    old = models.write(tmp_path / "old", {"user": 3.0})
    new = str(tmp_path / "new")
    hook = ep.hooks.IncrementalSaveHook(new, save_full_steps=100, save_delta_steps=1)
    estimator = models.estimator(new, models.model_fn(["user"]), Settings(old, "user"))
    estimator.train(models.input_fn, hooks=[hook], steps=3)
    delta = os.path.join(new, "model.ckpt-2")
    assert TableReader(delta, "user").meta.parent == "model.ckpt-1"
    assert TableReader(delta, "user").chain[-1].saved_rows() == 2  # Keys 1 and 10.
    assert models.Model(delta).rows("user") == {**rows_of("user", 3.0), 10: 0.0}

"""Tables in checkpoints of a plain session: stock Savers, the streaming Saver, and both mixed."""

import os
import re

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

v1 = tf.compat.v1
MAKERS = {"stock": v1.train.Saver, "streaming": ep.checkpoint.saver}
PAIRS = [(a, b) for a in sorted(MAKERS) for b in sorted(MAKERS)]


class Model:
    """Two tables and a dense weight, trained by Adam on any ids."""

    def __init__(self, names=("user", "item"), make_optimizer=None):
        make = make_optimizer or ep.optimizers.lazy_adam.create_hash_optimizer
        self.ids = v1.placeholder(tf.int64, [None])
        normal = v1.random_normal_initializer(stddev=0.3)
        self.tables = [
            support.table(name, dim=4 + 2 * i, initializer=normal) for i, name in enumerate(names)
        ]
        lookups = [ep.sparse_lookup(table, self.ids) for table in self.tables]
        weight = v1.get_variable("weight", initializer=tf.ones([]))
        self.loss = weight * tf.add_n([tf.reduce_sum(x * x) for x in lookups])
        step = v1.train.get_or_create_global_step()
        dense = v1.train.AdamOptimizer(0.01).minimize(self.loss)
        self.train = tf.group(make(0.1).minimize(self.loss, step), dense)

    def run(self, session, seed, steps=5):
        random = np.random.RandomState(seed)
        for _ in range(steps):
            session.run(self.train, {self.ids: random.randint(-1, 500, 64)})


@pytest.mark.parametrize("writer, reader", PAIRS)
def test_round_trip_and_training_goes_on_bit_for_bit(writer, reader, tmp_path):
    model = Model()
    save, restore = MAKERS[writer](), MAKERS[reader]()
    with support.ready_session() as session:
        model.run(session, seed=1)
        middle = save.save(session, str(tmp_path / "middle"))
        model.run(session, seed=2)
        end = save.save(session, str(tmp_path / "end"))
    with v1.Session() as session:
        restore.restore(session, middle)
        model.run(session, seed=2)
        again = restore.save(session, str(tmp_path / "again"))
    assert support.checkpoint_content(end) == support.checkpoint_content(again)
    assert len(support.checkpoint_content(end)["tables"]["user"]) > 200


def test_both_savers_write_the_same_names_and_bytes(tmp_path):
    model = Model()
    with support.ready_session() as session:
        model.run(session, seed=1)
        prefixes = [
            make().save(session, str(tmp_path / name)) for name, make in sorted(MAKERS.items())
        ]
    listed = [tf.train.list_variables(prefix) for prefix in prefixes]
    assert listed[0] == listed[1]
    readers = [tf.train.load_checkpoint(prefix) for prefix in prefixes]
    for name, _ in listed[0]:
        values = [reader.get_tensor(name) for reader in readers]
        if name.endswith("/meta"):  # Each save draws a number of its own.
            values = [re.sub(rb"save_id=\d+", b"", value) for value in values]
        values = [np.asarray(value) for value in values]
        assert values[0].tobytes() == values[1].tobytes() and values[0].dtype == values[1].dtype


def test_names_of_a_table(tmp_path):
    support.table(num_buckets=2)
    saver = v1.train.Saver()
    with support.ready_session() as session:
        prefix = saver.save(session, str(tmp_path / "model"))
    assert tf.train.list_variables(prefix) == [
        ("user/bank", [0, 4]),
        ("user/bucket-0/counts", [0]),
        ("user/bucket-0/keys", [0]),
        ("user/bucket-0/last_seen", [0]),
        ("user/bucket-0/rows", [0, 4]),
        ("user/bucket-1/counts", [0]),
        ("user/bucket-1/keys", [0]),
        ("user/bucket-1/last_seen", [0]),
        ("user/bucket-1/rows", [0, 4]),
        ("user/meta", []),
    ]


def test_meta_says_what_the_table_is(tmp_path):
    model = Model()
    with support.ready_session() as session:
        model.run(session, seed=1)
        prefix = v1.train.Saver().save(session, str(tmp_path / "model"))
    facts = ep.checkpoint.read_table(prefix, "item").meta
    assert (facts.dim, facts.num_buckets, facts.key_dtype, facts.value_dtype) == (
        6,
        64,
        "int64",
        "float32",
    )
    assert facts.slots == (("m", 0.0), ("v", 0.0))
    assert facts.initializer == "normal"
    np.testing.assert_allclose(facts.initializer_arguments, [0.0, 0.3], rtol=1e-6)


def test_a_restore_makes_the_table_ready_and_replaces_its_rows(tmp_path):
    table = support.table()
    ids = v1.placeholder(tf.int64, [None])
    lookup, size = ep.sparse_lookup(table, ids), table.size()
    saver = ep.checkpoint.saver()
    with support.ready_session() as session:
        session.run(lookup, {ids: [1, 2, 3]})
        prefix = saver.save(session, str(tmp_path / "model"))
        session.run(lookup, {ids: [4, 5]})
        saver.restore(session, prefix)
        assert session.run(size) == 3
    with v1.Session() as session:
        saver.restore(session, prefix)
        assert session.run([size, table.is_initialized()]) == [3, True]


def test_new_keys_start_the_same_after_a_restore(tmp_path):
    for initializer in (v1.random_normal_initializer(), v1.uniform_unit_scaling_initializer()):
        with tf.Graph().as_default():
            table = support.table(initializer=initializer)
            late = ep.sparse_lookup(table, [77, 78])
            saver = ep.checkpoint.saver()
            with support.ready_session() as session:
                prefix = saver.save(session, str(tmp_path / "model"))
                wanted = session.run(late)
            with v1.Session() as session:
                saver.restore(session, prefix)
                np.testing.assert_array_equal(session.run(late), wanted)


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_empty_tables(maker, tmp_path):
    table = support.table()
    size = table.size()
    saver = MAKERS[maker]()
    with support.ready_session() as session:
        prefix = saver.save(session, str(tmp_path / "model"))
        saver.restore(session, prefix)
        assert session.run(size) == 0


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_max_to_keep_and_latest_checkpoint(maker, tmp_path):
    support.table()
    saver = MAKERS[maker](max_to_keep=2)
    with support.ready_session() as session:
        for step in (1, 2, 3):
            saver.save(session, str(tmp_path / "model"), global_step=step)
    files = {name.split(".")[0] for name in os.listdir(tmp_path) if name.startswith("model")}
    assert files == {"model-2", "model-3"}
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model-3")
    assert not [name for name in os.listdir(tmp_path) if name.endswith("_temp")]


@pytest.mark.parametrize("maker", sorted(MAKERS))
def test_var_list_without_tables_leaves_them_alone(maker, tmp_path):
    model = Model()
    size = model.tables[0].size()
    saver = MAKERS[maker](var_list=v1.global_variables())
    with support.ready_session() as session:
        model.run(session, seed=1)
        rows = session.run(size)
        prefix = saver.save(session, str(tmp_path / "model"))
        saver.restore(session, prefix)
        assert session.run(size) == rows
    assert ep.checkpoint.table_names(prefix) == []


def test_table_that_is_not_saved(tmp_path):
    kept, passing = support.table("kept"), support.table("passing", is_save=False)
    saver = ep.checkpoint.saver()
    with support.ready_session() as session:
        prefix = saver.save(session, str(tmp_path / "model"))
    assert ep.checkpoint.table_names(prefix) == ["kept"]
    scaffold = v1.train.Scaffold(saver=saver)
    size = passing.size()
    creator = v1.train.ChiefSessionCreator(scaffold, checkpoint_filename_with_path=prefix)
    with v1.train.MonitoredSession(creator) as session:
        assert session.run(size) == 0
    assert kept.is_save


def test_monitored_training_session_with_the_hook(tmp_path):
    table = support.table()
    size, lookup = table.size(), ep.sparse_lookup(table, [1, 2])
    step = v1.train.get_or_create_global_step()
    train = tf.group(lookup, v1.assign_add(step, 1))
    for wanted in (0, 2):
        with v1.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path),
            hooks=[ep.checkpoint.StreamingSaverHook()],
            log_step_count_steps=None,
        ) as session:
            assert session.run(size) == wanted
            session.run(train)
    types = {op.type for op in v1.get_default_graph().get_operations()}
    assert "EpSaveTables" in types and "EpTableExport" not in types


def test_meta_graph_restores_without_the_code_that_built_it(tmp_path):
    table = support.table()
    lookup = ep.sparse_lookup(table, tf.constant([1, 2], tf.int64), name="lookup")
    out = tf.identity(lookup, name="out")
    saver = v1.train.Saver()
    with support.ready_session() as session:
        wanted = session.run(out)
        prefix = saver.save(session, str(tmp_path / "model"))
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(prefix + ".meta").restore(session, prefix)
        np.testing.assert_array_equal(session.run("out:0"), wanted)
        assert session.run("user/lookup/EpTableLookup:1").min() >= 0


def test_when_only_the_optimizer_changed_slots_start_afresh(tmp_path):
    model = Model()
    with support.ready_session() as session:
        model.run(session, seed=1)
        prefix = v1.train.Saver().save(session, str(tmp_path / "adam"))
    before = ep.checkpoint.read_table(prefix, "user")
    with tf.Graph().as_default():
        model = Model(make_optimizer=ep.optimizers.adagrad.create_hash_optimizer)
        wanted = [v for v in v1.global_variables() if "LazyAdam" not in v.name]
        saver = ep.checkpoint.saver(
            var_list=wanted + v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS)
        )
        with v1.Session() as session:
            saver.restore(session, prefix)
            session.run(model.train, {model.ids: before.keys[:3]})
            prefix = saver.save(session, str(tmp_path / "adagrad"))
    after = ep.checkpoint.read_table(prefix, "user")
    assert list(after.slots) == ["accumulator"]
    slots = {key: parts[1] for key, parts in support.rows_by_key(after).items()}
    np.testing.assert_allclose(slots[before.keys[5]], [0.9] * 4)
    assert (np.array(slots[before.keys[0]]) > 0.9).all()
    rows = support.rows_by_key(after)[before.keys[5]]
    assert rows[0] == support.rows_by_key(before)[before.keys[5]][0]

"""create_table: what it checks, and what the table tells about itself."""

import threading

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

v1 = tf.compat.v1


def create(**kwargs):
    arguments = {
        "key_dtype": tf.int64,
        "dim": 4,
        "name": "user",
        "emb_initializer": v1.zeros_initializer(),
    }
    arguments.update(kwargs)
    return ep.create_table(**arguments)


def test_attributes():
    table = create(dim=tf.TensorShape([8]), num_buckets=16, init_param=2)
    assert (table.name, table.table_name) == ("user", "user")
    assert (table.dim, table.embedding_size, table.emb_size) == (8, 8, 8)
    assert table.key_dtype == tf.int64 and table.num_buckets == 16 and table.init_param == 2.0
    assert table.is_save and not table.is_dp
    assert table.variable is table.handle and table.handle.dtype == tf.resource
    assert "user" in repr(table)


def test_table_is_placed_on_the_cpu():
    with tf.device("/gpu:0"):
        table = create()
    assert table.handle.device == "/device:CPU:0"


@pytest.mark.parametrize(
    "dim", [0, -1, 8193, 4.0, "4", None, True, tf.TensorShape([2, 2]), tf.TensorShape([None])]
)
def test_wrong_dim(dim):
    with pytest.raises(ValueError, match="table 'user': dim must be"):
        create(dim=dim)


@pytest.mark.parametrize("dim", [1, 8192, np.int64(16)])
def test_extreme_dims(dim):
    table = create(dim=dim)
    embeddings = ep.sparse_lookup(table, tf.constant([3], tf.int64))
    with support.ready_session() as session:
        assert session.run(embeddings).shape == (1, int(dim))


@pytest.mark.parametrize("dtype", [tf.int16, tf.string, tf.float32, "int8", None, int])
def test_wrong_key_dtype(dtype):
    with pytest.raises(ValueError, match="table 'user': key_dtype must be tf.int64 or tf.int32"):
        create(key_dtype=dtype)


@pytest.mark.parametrize("name", ["", "a" * 101, "a b", "a/b", "ä", 5, None, "...", "_a", "._a"])
def test_wrong_name(name):
    with pytest.raises(ValueError, match="create_table: name must be"):
        create(name=name)


def test_dots_are_left_out_of_names():
    assert create(name="a.b.c").name == "abc"


def test_duplicate_names():
    create(name="a.b")
    with pytest.raises(ValueError, match="table 'ab': the graph has a table of that name"):
        create(name="ab")
    with tf.Graph().as_default():
        create(name="ab")


@pytest.mark.parametrize(
    "argument, value, wanted",
    [
        ("device_vocabulary_size", 0, "from 1 to 1000000000"),
        ("device_vocabulary_size", 10**9 + 1, "from 1 to"),
        ("host_vocabulary_size", -1, "from 0 to"),
        ("ssd_vocabulary_size", 1.5, "from 0 to"),
        ("ssd_data_path", [], "at least one directory"),
        ("ssd_data_path", "path", "at least one directory"),
        ("ssd_data_path", [3], "a string"),
        ("is_save", 1, "True or False"),
        ("is_dp", None, "True or False"),
        ("init_param", 10.5, "at most 10"),
        ("init_param", -11, "at least -10"),
        ("init_param", float("nan"), "at least -10"),
        ("init_param", "1", "a number"),
        ("all2all_gradients_op", "mean", "'sum_gradients'"),
        ("enable_merge", "no", "True or False"),
        ("padding_keys_mask", 0, "True or False"),
        ("padding_keys_len", 0, "from 1 to"),
        ("value_dtype", tf.float64, "tf.float32"),
        ("shard_num", 8193, "from 1 to 8192"),
        ("fusion_optimizer_var", 1, "True or False"),
        ("hashtable_threshold", -1, "from 0 to"),
        ("num_buckets", 0, "from 1 to 4096"),
        ("num_buckets", 8192, "from 1 to 4096"),
        ("num_buckets", 48, "a power of two"),
    ],
)
def test_values_out_of_range(argument, value, wanted):
    with pytest.raises(ValueError, match="table 'user': %s must be .*%s" % (argument, wanted)):
        create(**{argument: value})
    assert not v1.get_collection(v1.GraphKeys.RESOURCES)


def test_ssd_needs_host_and_directories(tmp_path):
    with pytest.raises(ValueError, match="host_vocabulary_size must be above 0"):
        create(ssd_vocabulary_size=5)
    with pytest.raises(ValueError, match="ssd_data_path must be an existing directory"):
        create(ssd_vocabulary_size=5, host_vocabulary_size=5, ssd_data_path=[str(tmp_path / "no")])
    create(ssd_vocabulary_size=5, host_vocabulary_size=5, ssd_data_path=[str(tmp_path)])


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        ({"padding_keys_mask": True}, "padding_keys must be given"),
        ({"padding_keys": 0, "padding_keys_len": 5}, "padding_keys_mask must be True"),
        ({"padding_keys": 0, "padding_keys_mask": True}, "padding_keys_len must be given"),
        ({"padding_keys": [], "padding_keys_mask": True, "padding_keys_len": 5}, "at least one"),
        ({"padding_keys": "a", "padding_keys_mask": True, "padding_keys_len": 5}, "at least one"),
        ({"padding_keys": [2**63], "padding_keys_mask": True, "padding_keys_len": 5}, "an int"),
    ],
)
def test_padding_keys_go_together(arguments, wanted):
    with pytest.raises(ValueError, match=wanted):
        create(**arguments)


def test_padding_keys_are_distinct():
    table = create(padding_keys=[3, 0, 3], padding_keys_mask=True, padding_keys_len=5)
    assert table.padding_keys == (0, 3)


def test_eager_execution_is_refused():
    raised = []

    def outside_any_graph():
        try:
            create()
        except RuntimeError as error:
            raised.append(str(error))

    thread = threading.Thread(target=outside_any_graph)  # Graphs are per thread.
    thread.start()
    thread.join()
    assert len(raised) == 1 and "create_table builds a graph" in raised[0]


def test_uninitialized_until_the_initializer_runs():
    table = create()
    size = table.size()
    with v1.Session() as session:
        assert session.run(v1.report_uninitialized_variables()).size == 0
        assert not session.run(table.is_initialized())
        with pytest.raises(tf.errors.FailedPreconditionError, match="user.*uninitialized"):
            session.run(size)
        support.initialize(session)
        assert session.run([table.is_initialized(), size]) == [True, 0]


def test_initializer_empties_the_table():
    table = create()
    lookup = ep.sparse_lookup(table, tf.constant([1, 2], tf.int64))
    size = table.size()
    with support.ready_session() as session:
        session.run(lookup)
        assert session.run(size) == 2
        session.run(table.initializer)
        assert session.run(size) == 0


def test_monitored_session_initializes_tables():
    table = create()
    size = table.size()
    with v1.train.MonitoredSession() as session:
        assert session.run(size) == 0


def test_sessions_do_not_share_rows():
    table = create()
    lookup = ep.sparse_lookup(table, tf.constant([1, 2], tf.int64))
    size = table.size()
    with support.ready_session() as first, support.ready_session() as second:
        first.run(lookup)
        assert (first.run(size), second.run(size)) == (2, 0)


def test_find_and_remove():
    table = create()
    lookup = ep.sparse_lookup(table, tf.constant([5, 6], tf.int64))
    found, removed = table.find(tf.constant([5, 7], tf.int64)), table.remove([5, 7])
    with support.ready_session() as session:
        session.run(lookup)
        assert (session.run(found) >= 0).tolist() == [True, False]
        assert session.run(removed) == 1
        assert (session.run(found) >= 0).tolist() == [False, False]


def test_memory_counts_rows():
    table = create()
    lookup = ep.sparse_lookup(table, tf.range(10000, dtype=tf.int64))
    memory = table.memory_bytes()
    with support.ready_session() as session:
        before = session.run(memory)
        session.run(lookup)
        assert session.run(memory) - before > 10000 * 16


def test_collections():
    table = create()
    assert v1.get_collection("ASCEND_GLOBAL_HASHTABLE_COLLECTION") == [table.handle]
    assert len(v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS)) == 1
    assert len(v1.get_collection(v1.GraphKeys.RESOURCES)) == 1


def test_table_that_is_not_saved():
    create(is_save=False)
    assert not v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS)
    assert len(v1.get_collection(v1.GraphKeys.LOCAL_RESOURCES)) == 1


def test_get_dense_and_sparse_variable():
    table = create()
    variable = v1.get_variable("w", [2])
    v1.get_variable("frozen", [2], trainable=False)
    dense, sparse = ep.get_dense_and_sparse_variable()
    assert dense == [variable] and sparse == [table.handle]

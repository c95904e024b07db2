"""get_asc_insert_func: every kind of batch, and lookups by FeatureSpec."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

v1 = tf.compat.v1
IDS = np.array([[1, 2], [3, 1]], np.int64)
OTHER = np.array([7, 8], np.int32)
LABELS = np.array([0.0, 1.0], np.float32)
TIME = np.int64(1000)


def mapped(element, **arguments):
    """The batch that comes out of a dataset of the one element, mapped."""
    dataset = tf.data.Dataset.from_tensors(element)
    dataset = dataset.map(ep.get_asc_insert_func(**arguments))
    return v1.data.make_one_shot_iterator(dataset).get_next()


def evaluated(value):
    with v1.Session() as session:
        return session.run(value)


def spec(name="ids", **kwargs):
    return ep.FeatureSpec(name, table_name="user", **kwargs)


def clock(**kwargs):
    return ep.FeatureSpec("timestamp", is_timestamp=True, **kwargs)


def found_ids(batch, *specs):
    """The keys that lookups of the specs have, training and not."""
    table = support.table()
    for each in specs:
        ep.sparse_lookup(table, each, batch=batch)
        ep.sparse_lookup(table, each, batch=batch, is_train=False)
    lookups = ep.lookup_registry.lookups_of(table)
    return [x.tolist() for x in evaluated([lookup.keys for lookup in lookups])]


def test_dict():
    specs = [spec(), spec("other"), clock()]
    batch = mapped({"ids": IDS, "other": OTHER, "timestamp": TIME}, tgt_key_specs=specs)
    assert sorted(batch) == ["ids", "other", "timestamp", "timestamp_read_emb_key"]
    added = batch["timestamp_read_emb_key"]
    assert (added.dtype, added.shape.rank) == (tf.int64, 0)
    assert batch["other"].dtype == tf.int32
    assert evaluated(added) == 1000
    wanted = [[1, 2, 3, 1]] * 2 + [[7, 8]] * 2
    assert found_ids(batch, *specs[:2]) == wanted


def test_pair_of_dict_and_labels():
    specs = [spec(), clock()]
    batch, labels = mapped(({"ids": IDS, "timestamp": TIME}, LABELS), tgt_key_specs=specs)
    assert "timestamp_read_emb_key" in batch
    np.testing.assert_array_equal(evaluated(labels), LABELS)
    assert found_ids(batch, specs[0]) == [[1, 2, 3, 1]] * 2


def test_a_whole_pair_is_a_batch_too():
    specs = [spec(), clock()]
    pair = mapped(({"ids": IDS, "timestamp": TIME}, LABELS), tgt_key_specs=specs)
    assert found_ids(pair, specs[0]) == [[1, 2, 3, 1]] * 2


def test_tuple():
    specs = [spec(index_key=2), clock(index_key=1)]
    batch = mapped((LABELS, TIME, IDS), tgt_key_specs=specs)
    assert len(batch) == 4 and evaluated(batch[3]) == 1000
    assert found_ids(batch, specs[0]) == [[1, 2, 3, 1]] * 2


def test_pair_of_tuple_and_labels():
    specs = [spec(index_key=0), clock(index_key=1)]
    features, labels = mapped(((IDS, TIME), LABELS), tgt_key_specs=specs)
    assert len(features) == 3 and evaluated(features[2]) == 1000
    np.testing.assert_array_equal(evaluated(labels), LABELS)
    assert found_ids(list(features), specs[0]) == [[1, 2, 3, 1]] * 2


def test_pair_of_tensors():
    specs = [spec(index_key=0), spec("other", index_key=1)]
    batch = mapped((IDS, OTHER), tgt_key_specs=specs)
    assert isinstance(batch[0], tuple) and len(batch[0]) == 2  # The second moves on by one.
    assert found_ids(batch, *specs) == [[1, 2, 3, 1]] * 2 + [[7, 8]] * 2


@pytest.mark.parametrize("index_key", [None, 0])
def test_single_tensor(index_key):
    ids = spec(index_key=index_key)
    batch = mapped(IDS, tgt_key_specs=ids)
    assert isinstance(batch, tuple) and evaluated(batch[1]) == 0
    assert found_ids(batch, ids) == [[1, 2, 3, 1]] * 2
    assert found_ids_again(batch[0], ids) == [1, 2, 3, 1]


def found_ids_again(batch, ids):
    table = ep.lookup_registry.tables_of_graph()[0]
    ep.sparse_lookup(table, ids, batch=batch)
    return evaluated(ep.lookup_registry.lookups_of(table)[-1].keys).tolist()


def test_sparse_ids():
    sparse = tf.SparseTensor([[0, 0], [1, 1]], tf.constant([5, 6], tf.int64), [2, 2])
    ids = spec()
    batch = mapped({"ids": sparse}, tgt_key_specs=[ids])
    table = support.table()
    pooled = ep.sparse_lookup(table, ids, batch=batch, combiner="sum", is_train=False)
    assert pooled.shape.as_list() == [2, 4]


def test_by_index():
    function = ep.get_asc_insert_func(args_index_list=[1], table_names=["user"], is_training=False)
    dataset = tf.data.Dataset.from_tensors((LABELS, IDS, OTHER)).map(function)
    batch = v1.data.make_one_shot_iterator(dataset).get_next()
    assert len(batch) == 4
    np.testing.assert_array_equal(evaluated(batch[1]), IDS)


def test_a_spec_that_the_batch_lacks_is_left_out():
    specs = [spec(), spec("missing")]
    batch = mapped({"ids": IDS}, tgt_key_specs=specs)
    table = support.table()
    with pytest.raises(RuntimeError, match="'missing_.*has seen no training batch.*'missing'"):
        ep.sparse_lookup(table, specs[1], batch=batch)
    with pytest.raises(ValueError, match="the batch has no 'missing', it has the keys 'ids'"):
        ep.sparse_lookup(table, specs[1], batch=batch, is_train=False)


def test_training_needs_a_training_batch():
    ids = spec()
    batch = mapped({"ids": IDS}, tgt_key_specs=ids, is_training=False)
    with pytest.raises(RuntimeError, match="is_training=True"):
        ep.sparse_lookup(support.table(), ids, batch=batch)


def test_lookups_by_spec_need_the_table_and_the_batch():
    ids, time = spec(), clock()
    batch = mapped({"ids": IDS, "timestamp": TIME}, tgt_key_specs=[ids, time])
    table, other = support.table(), support.table("item")
    with pytest.raises(ValueError, match="batch must be the batch that holds the ids.*got None"):
        ep.sparse_lookup(table, ids)
    with pytest.raises(ValueError, match="ids must be a FeatureSpec of table 'item'"):
        ep.sparse_lookup(other, ids, batch=batch)
    with pytest.raises(ValueError, match="ids must be a FeatureSpec of table 'user'"):
        ep.sparse_lookup(table, time, batch=batch)
    del batch["timestamp_read_emb_key"]
    with pytest.raises(ValueError, match="the batch has no 'timestamp_read_emb_key'"):
        ep.sparse_lookup(table, ids, batch=batch)


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        ({}, "one of tgt_key_specs and args_index_list"),
        ({"tgt_key_specs": spec(), "args_index_list": [0]}, "one of tgt_key_specs and"),
        ({"tgt_key_specs": []}, "tgt_key_specs must be a FeatureSpec, or a list"),
        ({"tgt_key_specs": [[spec()]]}, "tgt_key_specs must be a FeatureSpec"),
        ({"tgt_key_specs": "ids"}, "tgt_key_specs must be a FeatureSpec"),
        ({"tgt_key_specs": [spec()], "table_names": ["user"]}, "table_names must be None"),
        ({"tgt_key_specs": [clock(), clock()]}, "a batch has one timestamp"),
        ({"tgt_key_specs": spec(), "is_training": 1}, "is_training must be True or False"),
        ({"tgt_key_specs": spec(), "dump_graph": 1}, "dump_graph must be True or False"),
        ({"args_index_list": [0]}, "table_names must be a list of 1 table names"),
        ({"args_index_list": [0], "table_names": []}, "table_names must be a list of 1"),
        ({"args_index_list": [0], "table_names": [3]}, "table_names must be a string"),
        ({"args_index_list": [-1], "table_names": ["user"]}, "args_index_list must be an int"),
        ({"args_index_list": 0, "table_names": ["user"]}, "args_index_list must be a list"),
    ],
)
def test_wrong_arguments(arguments, wanted):
    with pytest.raises(ValueError, match="get_asc_insert_func: .*%s" % wanted):
        ep.get_asc_insert_func(**arguments)


@pytest.mark.parametrize(
    "element, specs, wanted",
    [
        ({"other": OTHER}, [spec()], "no ids of .* are in the batch, which has the keys 'other'"),
        ({"ids": LABELS}, [spec()], "ids must be int32 or int64, got float32"),
        ((IDS, OTHER, LABELS), [spec(index_key=3)], "no position 3, it has 3 tensors"),
        ((IDS, OTHER, LABELS), [spec()], "no 'ids', it has 3 tensors"),
        ({"ids": IDS}, [spec(), clock()], "no 'timestamp', it has the keys 'ids'"),
        ({"ids": IDS, "timestamp": OTHER}, [spec(), clock()], "one scalar .* got shape"),
        ({"ids": IDS, "timestamp": np.float32(1)}, [spec(), clock()], "an integer, got float32"),
    ],
)
def test_wrong_batches(element, specs, wanted):
    with pytest.raises(ValueError, match=wanted):
        mapped(element, tgt_key_specs=specs)


def test_one_table_has_one_pair_of_thresholds():
    first, second = spec(access_threshold=2), spec("other", access_threshold=3)
    with pytest.raises(ValueError, match="'user': thresholds must be the same.*=3.*after.*=2"):
        ep.get_asc_insert_func(tgt_key_specs=[first, second])


def test_the_pipeline_needs_no_start():
    assert ep.start_asc_pipeline() is None

"""create_table(enable_merge=True): alike tables are one, and train as tables of their own do."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.distribute.in_process import live_ops
from tests.plugin import support

v1 = tf.compat.v1


@pytest.fixture
def expansion():
    ep.init(use_dynamic_expansion=True)
    yield
    ep.terminate_config_initializer()


def _table(name, **kwargs):
    arguments = {"key_dtype": tf.int64, "dim": tf.TensorShape([4]), "enable_merge": True}
    arguments["emb_initializer"] = v1.truncated_normal_initializer(seed=3)
    return ep.create_table(name=name, **dict(arguments, **kwargs))


def _trained(merges):
    """(the embeddings of six steps, operations that look up or update in a step)."""
    with tf.Graph().as_default():
        batch = v1.data.make_one_shot_iterator(tf.data.Dataset.range(60).batch(10)).get_next()
        tables = [_table(name, enable_merge=merges) for name in ("user", "item", "city")]
        rows = [
            ep.sparse_lookup(table, batch % 7 + 100 * i, modify_graph=True)
            for i, table in enumerate(tables)
        ]
        loss = tf.add_n([tf.reduce_sum(tf.square(x) * (i + 1)) for i, x in enumerate(rows)])
        train = ep.optimizers.lazy_adam.create_hash_optimizer(0.1).minimize(loss)
        ep.modify_graph_and_start_emb_cache()
        counts = [len(live_ops(train, x)) for x in ("EpTableLookup", "EpTableApplyGradients")]
        with support.ready_session() as session:
            return [session.run([rows, train])[0] for _ in range(6)], counts


def test_results_are_those_of_separate_tables(expansion):
    expected, separate = _trained(False)
    found, merged = _trained(True)
    assert (separate, merged) == ([3, 3], [1, 1])
    np.testing.assert_array_equal(found, expected)


def test_alike_tables_are_one(expansion):
    user = _table("user")
    assert _table("item") is user and _table("city") is user
    assert user.name == "mergeable_table_0"
    wide = _table("wide", dim=8)
    zeros = _table("zeros", emb_initializer=v1.zeros_initializer())
    unsaved = _table("unsaved", is_save=False)
    drawn = _table("drawn", emb_initializer=v1.orthogonal_initializer(seed=1))
    assert _table("drawn_too", emb_initializer=v1.orthogonal_initializer(seed=1)) is drawn
    names = [table.name for table in (wide, zeros, unsaved, drawn)]
    assert names == ["mergeable_table_%d" % i for i in (1, 2, 3, 4)]
    assert _table("alone", enable_merge=False).name == "alone"


def test_padding_keys_are_united(expansion):
    def padded(name, keys, length):
        return _table(name, padding_keys=keys, padding_keys_mask=True, padding_keys_len=length)

    table = padded("user", [3, 1], 10)
    assert (table.padding_keys, table.padding_keys_len) == ((1, 3), 10)
    assert padded("item", 2, 5) is table
    assert (table.padding_keys, table.padding_keys_len) == ((1, 2, 3), 15)
    assert _table("city") is not table


def test_a_feature_spec_and_a_threshold_go_by_the_name_that_was_given(expansion):
    spec = ep.FeatureSpec("item", access_threshold=2)
    mapping = ep.get_asc_insert_func(tgt_key_specs=[spec])
    dataset = tf.data.Dataset.from_tensors({"item": tf.constant([5, 5, 6], tf.int64)})
    batch = v1.data.make_one_shot_iterator(dataset.map(mapping)).get_next()
    _table("user")
    rows = ep.sparse_lookup(_table("item"), spec, batch=batch)
    change = ep.import_host_pipeline_ops().set_threshold([1], emb_name="item")
    with support.ready_session() as session:
        assert np.any(session.run(rows), axis=1).tolist() == [True, True, False]
        assert session.run(change) == 1


def test_bad_input(expansion):
    _table("user")
    with pytest.raises(ValueError, match="table 'user': the graph has a table of that name"):
        _table("user")
    with pytest.raises(ValueError, match="does not begin with 'mergeable_table'"):
        _table("mergeable_table_7")


def test_it_needs_dynamic_expansion():
    with pytest.raises(RuntimeError, match="'user': enable_merge needs init.use_dynamic_exp"):
        _table("user")

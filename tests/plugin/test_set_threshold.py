"""import_host_pipeline_ops().set_threshold: changing what a running job admits."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support
from tests.plugin.admitting import Training

v1 = tf.compat.v1


def set_threshold(value, **kwargs):
    """The operation, for an int or a tensor."""
    value = value if isinstance(value, tf.Tensor) else tf.constant([value], tf.int32)
    return ep.import_host_pipeline_ops().set_threshold(value, **kwargs)


def test_a_new_threshold_holds_for_the_batches_that_follow():
    training = Training("config", [[1, 1], [1], [2], [2]], access_threshold=4)
    change = set_threshold(2, emb_name="user", ids_name="user_lookup")
    with training.running():
        assert training.step() == [[False, False]]
        result = training.session.run(change)
        assert (result, result.dtype) == (1, np.int32)
        assert training.step() == [[True]]  # 1 was seen three times by now.
        assert training.step() == [[False]]
        assert training.step() == [[True]]
        assert training.statistics()["access_threshold"] == 2


def test_0_freezes_counts_and_a_later_threshold_resumes():
    batches = [[1, 1, 2], [2, 3], [1, 2], [2], [2]]
    training = Training("config", batches, access_threshold=2)
    value = v1.placeholder(tf.int32, [None])
    change = set_threshold(value, emb_name=["user"])
    with training.running():
        assert training.step() == [[True, True, False]]
        training.session.run(change, {value: [0, 99]})
        assert training.statistics()["frozen"] == 1
        # 2 would be admitted; it stays out, and 3 is not even noted.
        assert training.step() == [[False, False]]
        assert training.step() == [[True, False]]
        assert training.rows()[1].count == 2
        assert training.statistics()["access_threshold"] == 2
        training.session.run(change, {value: [3]})
        assert training.statistics()["frozen"] == 0
        # Two of five were counted: one before, one after.
        assert training.step() == [[False]]
        assert training.step() == [[True]]


def test_without_a_name_all_tables_with_a_threshold_change():
    tables = [support.table(name) for name in ("a", "b", "c")]
    ids = tf.constant([1], tf.int64)
    config = {"access_threshold": 9}
    found = [ep.sparse_lookup(t, ids, access_and_evict_config=config) for t in tables[:2]]
    found.append(ep.sparse_lookup(tables[2], ids))
    change = set_threshold(1)
    with support.ready_session() as session:
        assert [bool(x.any()) for x in session.run(found)] == [False, False, True]
        session.run(change)
        assert [bool(x.any()) for x in session.run(found)] == [True, True, True]


def test_threshold_0_can_be_raised():
    training = Training("config", [[1], [2], [2]], access_threshold=0)
    change = set_threshold(2, emb_name="user")
    with training.running():
        assert training.step() == [[True]]
        training.session.run(change)
        assert training.step() == [[False]]
        assert training.step() == [[True]]


@pytest.mark.parametrize("value", [[-1], [-5, 3], []])
def test_values_out_of_range_change_nothing(value):
    training = Training("config", [[1], [1]], access_threshold=2)
    change = set_threshold(tf.constant(value, tf.int32), emb_name="user")
    with training.running():
        training.step()
        with pytest.raises(tf.errors.InvalidArgumentError, match="user"):
            training.session.run(change)
        assert training.statistics()["access_threshold"] == 2
        assert training.step() == [[True]]


def test_tables_that_are_not_there():
    table = support.table()
    support.table("plain")
    ep.sparse_lookup(table, [1], access_and_evict_config={"access_threshold": 2})
    with pytest.raises(ValueError, match="emb_name must be .* one of 'user', 'plain', got 'item'"):
        set_threshold(1, emb_name="item")
    with pytest.raises(ValueError, match="'plain' so far has an access_threshold"):
        set_threshold(1, emb_name="plain")
    for value in (3, None, ["user", "plain"], []):
        with pytest.raises(ValueError, match="emb_name must be a table's name"):
            set_threshold(1, emb_name=value)

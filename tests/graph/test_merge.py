"""Lookups of a table that read one batch become one operation, and nothing else changes."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.distribute.in_process import live_ops
from tests.graph import cases
from tests.plugin import support

v1 = tf.compat.v1
IDS = ("hashed", "cast", "reshaped", "split", "crossed")


def _gradients_by_handle(loss, table):
    handles = [table.handle]
    return list(zip(tf.gradients(loss, handles), handles))


def _gradients_by_address(loss, table):
    embeddings = v1.get_collection(ep.constants.ASCEND_SPARSE_LOOKUP_LOCAL_EMB)
    addresses = v1.get_collection(ep.constants.ASCEND_SPARSE_LOOKUP_ID_OFFSET)
    return list(zip(tf.gradients(loss, embeddings), addresses))


def _gradients_by_lookup(loss, table):
    del table
    return ep.optimizers.adagrad.create_hash_optimizer(0.1).compute_gradients(loss)


def outcome(gradients_of, merges, form="repeat", hooked=False):
    """(what every step gives, how many lookups a step has)."""
    with tf.Graph().as_default():
        dataset = cases.FORMS[form](cases.examples())
        batch = v1.data.make_one_shot_iterator(dataset).get_next()
        table = support.table("user", initializer=v1.truncated_normal_initializer(seed=1))
        rows = []
        for name in IDS:
            make, combiner = cases.IDS[name]
            rows.append(ep.sparse_lookup(table, make(batch), combiner=combiner, modify_graph=True))
        if merges == "before":
            ep.do_merge_lookup()
        loss = tf.add_n([tf.reduce_sum(tf.square(x)) for x in rows])
        optimizer = ep.optimizers.adagrad.create_hash_optimizer(0.1)
        train = optimizer.apply_gradients(gradients_of(loss, table))
        with tf.control_dependencies([train]):
            fetches = [rows, loss, train, table.size()]
        if merges == "after":
            ep.do_merge_lookup()
            ep.do_merge_lookup()  # Nothing is left to do.
        if hooked:
            ep.modify_graph_and_start_emb_cache()
        return cases.steps(fetches), len(live_ops(fetches, "EpTableLookup"))


@pytest.mark.parametrize("form", ["repeat", "dropped remainder"])
@pytest.mark.parametrize("merges, hooked", [("before", True), ("after", True), ("after", False)])
@pytest.mark.parametrize(
    "gradients_of", [_gradients_by_handle, _gradients_by_address, _gradients_by_lookup]
)
def test_results_are_equal(gradients_of, merges, hooked, form):
    expected, separate = outcome(gradients_of, None, form)
    found, merged = outcome(gradients_of, merges, form, hooked)
    assert (separate, merged) == (len(IDS), 1)
    tf.nest.map_structure(np.testing.assert_array_equal, found, expected)


def test_what_differs_stays_apart():
    batch = v1.data.make_one_shot_iterator(cases.FORMS["batch"](cases.examples())).get_next()
    other = v1.data.make_one_shot_iterator(cases.FORMS["batch"](cases.examples())).get_next()
    table, second = support.table("user"), support.table("item")

    def look_up(ids, of=table, **kwargs):
        return ep.sparse_lookup(of, ids, modify_graph=True, **kwargs)

    first = look_up(batch["number"])
    train = ep.optimizers.gradient_descent.create_hash_optimizer(0.5).minimize(tf.reduce_sum(first))
    found = [first, look_up(batch["number"] + 1)]  # These two are one.
    found.append(look_up(other["number"]))
    found.append(look_up(batch["number"], of=second))
    found.append(look_up(tf.cast(tf.reduce_sum(first, axis=1), tf.int64)))
    found.append(look_up(batch["number"], is_train=False))
    found.append(look_up(batch["number"], is_train=False, serving_default_value=2.0))
    found.append(ep.sparse_lookup(table, batch["number"]))  # It has not asked.
    with tf.control_dependencies([train]):
        found.append(look_up(batch["number"]))
    ep.do_merge_lookup(True)
    ep.do_merge_lookup(False)
    assert len(live_ops(found[:2], "EpTableLookup")) == 1
    assert len(live_ops(found, "EpTableLookup")) == len(found) - 1
    with support.ready_session() as session:
        seen = session.run([found[0], found[-1]])
    assert seen[0][0, 0] == 1 and seen[1][0, 0] == 0.5  # It waited for the update.

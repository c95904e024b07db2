"""A modified graph gives what the unmodified one gives, bit for bit."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import graph_state
from tests.graph import cases

v1 = tf.compat.v1
KINDS = ("initializable", "one-shot")
THRESHOLDS = {"access_threshold": 2}


def outcome(modifies, kind, form, structure, id_names, **options):
    """(what every step gives, types of what moved) of a model over a dataset."""
    lay_out, find = cases.STRUCTURES[structure]
    with tf.Graph().as_default():
        v1.set_random_seed(7)
        dataset = cases.FORMS[form](cases.examples()).map(lay_out)
        iterator = cases.iterator_of(dataset, kind)
        batch = find(iterator.get_next())
        fetches = cases.model(batch, {name: cases.IDS[name] for name in id_names}, **options)
        moved = []
        if modifies:
            ep.modify_graph_and_start_emb_cache()
            moved = [op.type for part in graph_state.of().pipeline.cuts for op in part.moved]
        initializers = [iterator.initializer] if kind == "initializable" else []
        return cases.steps(fetches, initializers), moved


def assert_same(kind, form, structure, id_names, **options):
    expected, _ = outcome(False, kind, form, structure, id_names, **options)
    found, moved = outcome(True, kind, form, structure, id_names, **options)
    assert len(expected) > 2
    tf.nest.map_structure(np.testing.assert_array_equal, expected, found)
    return moved


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", sorted(cases.FORMS))
def test_forms_of_datasets(kind, form):
    assert "StringToHashBucketFast" in assert_same(kind, form, "dict", ["hashed"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("structure", sorted(cases.STRUCTURES))
def test_structures_of_elements(kind, structure):
    ids = ["cast"] if structure == "single" else ["hashed", "split"]
    assert assert_same(kind, "repeat", structure, ids)


@pytest.mark.parametrize("is_train", [True, False])
@pytest.mark.parametrize("ids", sorted(cases.IDS))
def test_operations_on_ids(ids, is_train):
    assert assert_same("initializable", "repeat", "dict", [ids], is_train=is_train)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["repeat", "dropped remainder"])  # Unknown and static shapes.
def test_lookups_of_a_batch_count_together(kind, form):
    moved = assert_same(kind, form, "dict", ["cast", "reshaped", "hashed"], config=THRESHOLDS)
    assert "EpUniqueWithCounts" in moved


def test_ids_of_a_feature_spec():
    def results(modifies):
        with tf.Graph().as_default():
            spec = ep.FeatureSpec("number", table_name="user", access_threshold=2)
            mapping = ep.get_asc_insert_func(tgt_key_specs=[spec], is_training=True)
            dataset = cases.FORMS["repeat"](cases.examples())
            dataset = dataset.map(lambda b: dict(b, number=tf.cast(b["number"], tf.int32)))
            batch = v1.data.make_one_shot_iterator(dataset.map(mapping)).get_next()
            table = cases.support.table("user")
            read = ep.sparse_lookup(table, spec, batch=batch, modify_graph=True)
            train = ep.optimizers.adagrad.create_hash_optimizer(0.1).minimize(tf.reduce_sum(read))
            if modifies:
                ep.modify_graph_and_start_emb_cache()
                assert graph_state.of().pipeline.cuts
            return cases.steps([read, train])

    tf.nest.map_structure(np.testing.assert_array_equal, results(False), results(True))

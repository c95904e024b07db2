"""Hooks that move more than ids, and the files that show what moved."""

import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import graph_state
from estimator_plugin.hooks import (
    GraphModifierHook,
    LookupSubgraphSlicerHook,
    OrphanLookupKeySlicerHook,
)
from tests.plugin import support

v1 = tf.compat.v1


def model():
    """A lookup of ids, one of constants, and a price that no lookup reads."""
    texts = tf.data.Dataset.from_tensor_slices(["1.5", "2.5", "4"]).batch(1)
    batch = v1.data.make_one_shot_iterator(texts).get_next()
    table = support.table(initializer=v1.truncated_normal_initializer(seed=1))
    ids = tf.strings.to_hash_bucket_fast(batch, 100)
    price = tf.strings.to_number(batch, name="price")
    constant = tf.constant([[3, 4]], tf.int64, name="constant_ids")
    both = [ep.sparse_lookup(table, x, modify_graph=True) for x in (ids, constant)]
    return [tf.reduce_sum(both[0]) * price + tf.reduce_sum(both[1]), price]


def results(hooks):
    with tf.Graph().as_default():
        fetches = model()
        with v1.train.MonitoredSession(hooks=hooks) as session:
            seen = [[x.tolist() for x in session.run(fetches)] for _ in range(3)]
        pipeline = graph_state.of().pipeline
        moved = [] if pipeline is None else [op.name for x in pipeline.cuts for op in x.moved]
        return seen, moved


def test_slicers_change_where_and_not_what():
    plain, _ = results([])
    found, moved = results([GraphModifierHook()])
    assert found == plain and "price" not in moved and "constant_ids" not in moved
    found, moved = results([LookupSubgraphSlicerHook(["StringToNumber"]), GraphModifierHook()])
    assert found == plain and "price" in moved and "constant_ids" not in moved
    found, moved = results([OrphanLookupKeySlicerHook(), GraphModifierHook()])
    assert found == plain and "price" not in moved and "constant_ids" in moved


def test_modify_graph_false_leaves_the_graph_alone():
    assert results([GraphModifierHook(modify_graph=False)]) == results([])


def test_dump_graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, moved = results([GraphModifierHook(dump_graph=True)])
    files = {path.name: path.read_text() for path in (tmp_path / "export_graph").iterdir()}
    assert sorted(files) == [
        "cut_graph_IteratorGetNext.pbtxt",
        "new_graph.pbtxt",
        "old_graph.pbtxt",
        "summary.txt",
    ]
    assert "PrefetchDataset" not in files["old_graph.pbtxt"]
    for name in moved:
        assert 'name: "%s_for_' % name in files["cut_graph_IteratorGetNext.pbtxt"]
        assert name in files["summary.txt"]
    assert "'constant_ids'" in files["summary.txt"]  # It stayed.

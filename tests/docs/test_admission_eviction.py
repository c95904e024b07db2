"""docs/admission_eviction.md runs as it is printed, and its two ways give the same rows."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.docs import code_blocks

v1 = tf.compat.v1
DAY = 86400
STEPS = 100


def input_fn():
    """A batch is an hour; users 0 to 9 always come, ten others once, in two batches."""

    def generate():
        for step in range(STEPS):
            users = np.concatenate([np.arange(10), 100 + 10 * (step // 2) + np.arange(10)])
            features = {"user": users, "item": users % 7, "timestamp": np.int64(DAY + 3600 * step)}
            yield features, (users % 2).astype(np.float32)

    types = {"user": tf.int64, "item": tf.int64, "timestamp": tf.int64}
    shapes = {"user": [20], "item": [20], "timestamp": []}
    return tf.data.Dataset.from_generator(generate, (types, tf.float32), (shapes, [20]))


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """What the document's names stand for once its blocks have run."""
    blocks = code_blocks.python_blocks("docs/admission_eviction.md")
    model_dir = str(tmp_path_factory.mktemp("model"))
    with tf.Graph().as_default():
        return code_blocks.run(blocks, model_dir=model_dir, input_fn=input_fn)


def test_the_ready_model_admits_and_evicts(document):
    rows = ep.checkpoint.read_table(document["model_dir"], "user")
    assert set(range(10)) <= set(rows.keys.tolist()) and len(rows.keys) == 10 + 10 * STEPS // 2
    assert set(ep.checkpoint.read_table(document["model_dir"], "item").keys) == set(range(7))


def test_both_ways_are_the_same(document):
    found = []
    for way, data in (("by_lookup", input_fn), ("by_spec", document["by_spec_input_fn"])):
        with tf.Graph().as_default():
            batch = v1.data.make_one_shot_iterator(data()).get_next()
            rows = document[way](batch[0] if way == "by_lookup" else batch)
            with v1.Session() as session:
                session.run(ep.tables_initializer())
                found.append([session.run(rows).tolist() for _ in range(5)])
    assert found[0] == found[1]
    # In the first batch nobody was seen twice, in the second all were.
    assert not np.any(found[0][0]) and np.all(np.any(found[0][1], axis=1))

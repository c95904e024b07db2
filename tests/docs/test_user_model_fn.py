"""docs/user_model_fn.md runs as it is printed."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.docs import code_blocks

BLOCKS = code_blocks.python_blocks("docs/user_model_fn.md")


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """What the document's names stand for once its first two blocks have run."""
    return code_blocks.run(BLOCKS[:2], model_dir=str(tmp_path_factory.mktemp("model")))


def test_the_model_fn_is_short():
    assert len(BLOCKS[0].split("def model_fn")[1].splitlines()) <= 40


def test_it_learns(document):
    metrics = document["estimator"].evaluate(document["input_fn"], steps=20)
    assert metrics["global_step"] == 200
    assert metrics["auc"] > 0.95 and metrics["loss"] < 0.55  # The share of clicks gives 0.64.


def test_it_predicts(document):
    found = document["estimator"].predict(document["input_fn"])
    probabilities = [next(found)["probabilities"] for _ in range(10)]
    assert min(probabilities) > 0 and max(probabilities) < 1


def test_it_resumes_with_the_streaming_hook(document):
    hooks = [ep.checkpoint.StreamingSaverHook()]
    document["estimator"].train(document["input_fn"], hooks=hooks, steps=5)
    assert document["estimator"].get_variable_value("global_step") == 205
    checkpoint = document["estimator"].latest_checkpoint()
    assert ep.checkpoint.table_names(checkpoint) == ["item", "user"]
    assert len(ep.checkpoint.read_table(checkpoint, "user").keys) == 100


def test_gradients_by_address():
    (by_address,) = [block for block in BLOCKS if "def sparse_train_op" in block]
    names = code_blocks.run([by_address], ep=ep, tf=tf, tf1=tf.compat.v1)
    table = ep.create_table(tf.int64, 2, "t", tf.compat.v1.ones_initializer())
    embeddings = ep.sparse_lookup(table, tf.constant([1, 2, 1], tf.int64))
    train_op = names["sparse_train_op"](tf.reduce_sum(embeddings))
    with tf.compat.v1.Session() as session:
        session.run([tf.compat.v1.global_variables_initializer(), ep.tables_initializer()])
        session.run(train_op)
        after = session.run(embeddings)
    # LazyAdam's first step moves every touched value by the learning rate.
    np.testing.assert_allclose(after, np.full((3, 2), 0.999), atol=1e-5)

"""docs/sparse_core.md runs as it is printed, and its pictures show what is so."""

import numpy as np
import pytest
import tensorflow as tf

from tests.docs import code_blocks

BLOCKS = code_blocks.python_blocks("docs/sparse_core.md")
FIELDS = ("row_pointers", "sorted_sample_ids", "sorted_token_ids", "sorted_gains")


def input_fn():
    ids = np.arange(64)
    batch = ({"user": ids % 7, "item": ids % 11}, (ids % 2).astype(np.float32))
    return tf.data.Dataset.from_tensors(batch).repeat()


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """What the document's names stand for once run, and values of its buffer and variable."""
    model_dir = str(tmp_path_factory.mktemp("model"))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        names = code_blocks.run(BLOCKS, model_dir=model_dir, input_fn=input_fn)
        session.run(tf.compat.v1.global_variables_initializer())
        names["buffer"] = session.run({f: getattr(names["csr"], f) for f in FIELDS})
        session.run(names["update"])
        names["rows"] = session.run(names["embedding"].embedding_tables["item_user"])
    return names


def test_the_ready_model_trained(document):
    assert document["estimator"].get_variable_value("global_step") == 5


def test_the_buffer_is_the_picture(document):
    buffer = document["buffer"]
    places = [0, 1, 8, 9, 16, 24, 25]
    assert buffer["sorted_token_ids"][places].tolist() == [2, 9, 1, 8, 9, 5, 10]
    assert buffer["sorted_sample_ids"][places].tolist() == [1, 3, 0, 2, 2, 1, 3]
    assert buffer["sorted_gains"][places].tolist() == [2, 1, 1, 1, 1, 1, 1]
    assert buffer["row_pointers"][[0, 1, 8, 9]].tolist() == [2, 10, 17, 26]


def test_rows_moved_where_the_picture_has_them(document):
    rows = document["rows"]
    expected = np.repeat([1.0, 0.0, 1.0, 0.0], 8)[:, None] * np.ones([1, 8])
    # Of (shard, row): item 4, item 3, item 11, user 2, user 1, user 5.
    for row, width, moved in ((2, 2, 2), (17, 2, 1), (21, 2, 1), (9, 3, 2), (24, 3, 1), (26, 3, 1)):
        expected[row, :width] -= moved
    np.testing.assert_allclose(rows, expected)

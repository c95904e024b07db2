"""docs/graph_modifier.md runs as it is printed."""

import numpy as np

from tests.docs import code_blocks

BLOCKS = code_blocks.python_blocks("docs/graph_modifier.md")


def test_the_document_trains(tmp_path):
    names = code_blocks.run(BLOCKS, model_dir=str(tmp_path))
    metrics = names["estimator"].evaluate(names["input_fn"])
    assert metrics["global_step"] == 50 and metrics["loss"] < 0.6  # It begins at ln 2, 0.69.
    predictions = list(names["estimator"].predict(names["input_fn"]))
    assert predictions[51]["user"] == b"1" and len(predictions) == 5000
    losses = names["train_by_hand"]()
    assert np.isclose(losses[0], np.log(2), atol=0.02) and losses[-1] < losses[0]

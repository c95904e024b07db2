"""docs/npu.md runs as it is printed, with the stand-ins."""

import tensorflow as tf

from estimator_plugin import compat
from tests.docs import code_blocks
from tests.model_fns import synthetic
from tests.npu import npu


def test_the_program_of_the_document(tmp_path):
    (block,) = code_blocks.python_blocks("docs/npu.md")
    compat.install()
    try:
        names = code_blocks.run(
            [block],
            model_dir=str(tmp_path),
            features=synthetic.features(),
            input_fn=synthetic.input_fn(epochs=30),
        )
    finally:
        compat.uninstall()
    # At most five can be restored; deltas since step 20 need it.
    assert npu.kinds(tmp_path) == {
        10: "delta", 15: "delta", 20: "full", 25: "delta", 30: "full",
        0: "full", 5: "delta",
    }  # fmt: skip
    listed = tf.train.get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths
    assert len(listed) == 7 and names["estimator"].get_variable_value("global_step") == 30

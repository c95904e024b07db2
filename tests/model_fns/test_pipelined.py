"""Ready models with GraphModifierHook."""

import numpy as np

import estimator_plugin as ep
from estimator_plugin import graph_state
from tests.model_fns import synthetic
from tests.plugin import support

fns = ep.model_fns


class _Moved(ep.hooks.GraphModifierHook):
    """Keeps what moved."""

    seen = ()

    def begin(self):
        super().begin()
        cuts = graph_state.of().pipeline.cuts
        self.seen = [op for part in cuts for op in part.moved]
        self.names = {name for part in cuts for names in part.readers.values() for name in names}


def _life(model_dir, modifies):
    """(all that training, evaluation and prediction give, the hooks)."""
    options = fns.ModelOptions(modify_graph=modifies)
    model = synthetic.estimator(
        fns.deepfm(synthetic.features(), fns.MlpConfig((8,)), options), model_dir
    )
    hooks = [_Moved() for _ in range(3)] if modifies else []
    model.train(synthetic.input_fn(1), hooks=hooks[:1])
    found = [
        support.checkpoint_content(model.latest_checkpoint()),
        model.evaluate(synthetic.input_fn(1, seed=1), hooks=hooks[1:2]),
        list(model.predict(synthetic.input_fn(1, seed=1), hooks=hooks[2:])),
    ]
    return found, hooks


def test_results_are_equal_and_hashing_moves(tmp_path):
    expected, _ = _life(tmp_path / "plain", False)
    found, hooks = _life(tmp_path / "modified", True)
    np.testing.assert_equal(found, expected)
    for hook in hooks:
        assert "StringToHashBucketFast" in [op.type for op in hook.seen]
        assert {"color/colors_lookup", "colors_linear/colors_lookup"} <= hook.names

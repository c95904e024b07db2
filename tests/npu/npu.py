"""NPUEstimators over the model of tests/hooks/touches.py, whose weights are known by hand.

`estimator_plugin.compat.npu` is the test double: there is no Ascend hardware behind these tests.
"""

import tensorflow as tf

from estimator_plugin.checkpoint import versions
from estimator_plugin.compat.npu.estimator import NPUEstimator
from estimator_plugin.compat.npu.run_config import NPURunConfig
from tests.hooks import touches

v1 = tf.compat.v1


def estimator(model_dir, iterations=1, save_every=10**9, keep=5, model_fn=None, **params):
    """An NPUEstimator; `params` are those of the model."""
    config = NPURunConfig(
        iterations_per_loop=iterations,
        model_dir=str(model_dir),
        save_checkpoints_steps=save_every,
        keep_checkpoint_max=keep,
        log_step_count_steps=None,
    )
    params = dict(params, keep=keep)
    return NPUEstimator(model_fn or touches.model_fn, config=config, params=params)


def kinds(directory):
    """{step: kind} of the versions in a directory."""
    return {v.step: v.kind for v in versions.list_versions(str(directory))}


def check_versions(model, steps, keys):
    """Every version on disk can be restored and holds what its step has, by hand."""
    found = versions.list_versions(model.model_dir)
    for version in found:
        versions.chain_of(version.prefix)
        wanted = touches.expected(steps[: version.step], keys)
        assert touches.weights(model, keys, version.prefix) == wanted, version.prefix
    return found

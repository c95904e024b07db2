"""`init(is_incremental_checkpoint=True)` is all that a plugin's model needs for deltas."""

import time

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import versions
from estimator_plugin.hooks import IncrementalSaveHook
from tests.model_fns import synthetic

fns = ep.model_fns


class _Slow(tf.compat.v1.train.SessionRunHook):
    def after_run(self, run_context, run_values):
        time.sleep(0.4)


def _init():
    ep.init(
        train_steps=1,
        is_incremental_checkpoint=True,
        save_checkpoint_due_time=1000,
        save_delta_checkpoints_secs=1,
    )


def _estimator(model_dir):
    model_fn = fns.deepfm(synthetic.features(), mlp=fns.MlpConfig((16,)))
    return synthetic.estimator(model_fn, model_dir, save_checkpoints_steps=1)


def _kinds(directory):
    return {v.step: v.kind for v in versions.list_versions(str(directory))}


def test_the_model_adds_the_hook(tmp_path):
    _init()
    model = _estimator(tmp_path)
    model.train(synthetic.input_fn(), max_steps=8, hooks=[_Slow()])
    kinds = _kinds(tmp_path)
    assert kinds.pop(0) == kinds.pop(8) == "full"
    assert 1 <= len(kinds) <= 4
    assert set(kinds.values()) == {"delta"}
    # From a delta: evaluation, and training on.
    delta = next(v for v in versions.list_versions(str(tmp_path)) if v.kind == "delta")
    measured = model.evaluate(synthetic.input_fn(epochs=1), steps=1, checkpoint_path=delta.prefix)
    assert measured["global_step"] == delta.step
    model.train(synthetic.input_fn(), max_steps=9)
    assert 9 in _kinds(tmp_path)


@pytest.mark.parametrize("with_directory", [True, False])
def test_a_hook_of_the_job_takes_its_place(tmp_path, with_directory):
    _init()
    model = _estimator(tmp_path)
    hook = IncrementalSaveHook(
        model if with_directory else None, save_full_steps=4, save_delta_steps=2
    )
    model.train(synthetic.input_fn(), max_steps=7, hooks=[hook])
    assert _kinds(tmp_path) == {0: "full", 2: "delta", 4: "full", 6: "delta", 7: "full"}


def test_without_the_setting_nothing_changes(tmp_path):
    model = _estimator(tmp_path)
    model.train(synthetic.input_fn(), max_steps=2)
    assert _kinds(tmp_path) == {0: "full", 1: "full", 2: "full"}

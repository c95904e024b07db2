"""What the plugin has, with NPUEstimator in the place of Estimator."""

import io
import os

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.compat.npu import hooks as npu_hooks
from estimator_plugin.compat.npu.estimator import NPUEstimator
from estimator_plugin.compat.npu.run_config import NPURunConfig
from estimator_plugin.compat.npu.session_config import add_optimizer
from tests.hooks import touches
from tests.model_fns import synthetic
from tests.npu import npu
from tests.plugin import support, trainer
from tests.warm_start import models

v1 = tf.compat.v1


def _npu(model_dir, iterations=1, save_every=10**9, model_fn=trainer.model_fn, params=None):
    config = NPURunConfig(
        iterations_per_loop=iterations,
        model_dir=str(model_dir),
        save_checkpoints_steps=save_every,
        log_step_count_steps=None,
    )
    return NPUEstimator(model_fn, config=config, params=params)


def _trained(model_dir, steps, iterations=1, saver="stock", **kwargs):
    """Trains trainer's model up to step `steps`, from where model_dir is."""
    latest = tf.train.latest_checkpoint(str(model_dir))
    start = int(tf.train.load_variable(latest, "global_step")) if latest else 0
    model = _npu(model_dir, iterations, params={"saver": saver, "keep": 5}, **kwargs)
    hooks = npu_hooks.npu_hooks_append([ep.checkpoint.StreamingSaverHook()])
    model.train(lambda: trainer.batches(start, steps), max_steps=steps, hooks=hooks)
    return model


@pytest.mark.parametrize("saver", ["stock", "scaffold"])
@pytest.mark.parametrize("iterations", [1, 3])
def test_training_is_that_of_an_estimator_and_resumes(saver, iterations, tmp_path):
    cpu = tf.estimator.RunConfig(str(tmp_path / "cpu"), session_config=v1.ConfigProto())
    add_optimizer(cpu.session_config, {})  # The same passes of TensorFlow's, the same bits.
    params = {"saver": "stock", "keep": 5}
    tf.estimator.Estimator(trainer.model_fn, config=cpu, params=params).train(
        lambda: trainer.batches(0, 12)
    )
    for steps in (3, 9, 12):
        _trained(tmp_path / "npu", steps, iterations, saver, save_every=3)
    assert support.checkpoint_content(str(tmp_path / "npu")) == support.checkpoint_content(
        str(tmp_path / "cpu")
    )


@pytest.mark.parametrize("iterations", [1, 3])
def test_evaluate_predict_and_export_agree(iterations, tmp_path):
    model = _trained(tmp_path / "model", 6, iterations)
    metrics = model.evaluate(lambda: trainer.batches(50, 53), hooks=npu_hooks.npu_hooks_append([]))
    assert metrics["global_step"] == 6
    assert metrics["rows"] == len(ep.checkpoint.read_table(str(tmp_path / "model"), "user").keys)
    predicted = model.predict(lambda: trainer.batches(50, 51), hooks=npu_hooks.npu_hooks_append([]))
    predicted = np.array([row["click"] for row in predicted], np.float32)
    path = model.export_saved_model(str(tmp_path / "export"), _receiver).decode()
    with v1.Session() as session:
        batch = v1.data.make_one_shot_iterator(trainer.batches(50, 51)).get_next()[0]
        features = session.run(batch)
    np.testing.assert_array_equal(support.serve(path, features)["click"], predicted)


def _receiver():
    features = {
        "user": v1.placeholder(tf.int64, [None], name="user_ids"),
        "items": v1.placeholder(tf.int64, [None, 3], name="item_ids"),
    }
    return tf.estimator.export.ServingInputReceiver(features, features)


def test_train_and_evaluate(tmp_path):
    model = npu.estimator(tmp_path, iterations=3, save_every=6, keep=0, buckets=2)
    result, _ = tf.estimator.train_and_evaluate(
        model,
        tf.estimator.TrainSpec(
            touches.inputs([[1, 2]] * 12),
            hooks=npu_hooks.npu_hooks_append([touches.hook(tmp_path, delta=3)]),
        ),
        tf.estimator.EvalSpec(
            touches.inputs([[1, 2]]),
            steps=None,
            throttle_secs=0,
            hooks=npu_hooks.npu_hooks_append([]),
        ),
    )
    assert result["global_step"] == 12
    assert result["mean"] == pytest.approx(0.88, abs=1e-6)


@pytest.mark.parametrize("iterations", [1, 4])
def test_progress(iterations, tmp_path):
    stream = io.StringIO()
    hook = ep.hooks.ProgressHook(total_steps=8, every_secs=0, stream=stream)
    model = npu.estimator(tmp_path, iterations, buckets=1)
    model.train(touches.inputs([[i] for i in range(8)]), hooks=[hook])
    shown = [line.split(" | ")[0] for line in stream.getvalue().splitlines()]
    assert shown == ["step %d/8" % step for step in range(iterations, 9, iterations)]
    assert stream.getvalue().splitlines()[-1].endswith("8 rows")


@pytest.mark.parametrize("iterations", [1, 5])
def test_ready_models_and_their_own_incremental_saves(iterations, tmp_path):
    ep.init(
        is_incremental_checkpoint=True,
        save_checkpoint_due_time=3600,
        save_delta_checkpoints_secs=3600,
    )
    model_fn = ep.model_fns.deepfm(synthetic.features())
    model = _npu(tmp_path, iterations, save_every=20, model_fn=model_fn)
    model.train(synthetic.input_fn(epochs=30), max_steps=40)
    assert npu.kinds(tmp_path) == {0: "full", 20: "full", 40: "full"}
    assert model.evaluate(synthetic.input_fn(epochs=1))["global_step"] == 40


@pytest.mark.parametrize("variable", [None, "LOCAL_CHECKPOINT_DIR", "RESTORE_FROM"])
def test_warm_start(variable, tmp_path, monkeypatch):
    ep.init()
    old = models.write(tmp_path / "old", {"user": 3.0, "item": 4.0}, {"kernel": 5.0})
    build = models.model_fn(["user", "item"], ["kernel"])
    start = None if variable else tf.estimator.WarmStartSettings([old], [["user"]])
    if variable:
        monkeypatch.setenv(variable, os.path.dirname(old))
    config = NPURunConfig(model_dir=str(tmp_path / "new"), log_step_count_steps=None)
    model = NPUEstimator(build, config=config, warm_start_from=start)
    model.train(models.input_fn, steps=1)
    found = models.Model(os.path.join(model.model_dir, "model.ckpt-0"))
    assert found.rows("user") == models.rows_of("user", 3.0)
    assert found.rows("item") == (models.rows_of("item", 4.0) if variable else {})
    assert found.variable("kernel") == ([5.0, 5.0] if variable else [0.0, 0.0])


def test_warm_start_hook(tmp_path):
    old = models.write(tmp_path / "old", {"user": 3.0})
    hook = ep.hooks.WarmStartHook(old, str(tmp_path / "new"))
    config = NPURunConfig(model_dir=str(tmp_path / "new"), log_step_count_steps=None)
    model = NPUEstimator(models.model_fn(["user"]), config=config)
    model.train(models.input_fn, steps=1, hooks=[hook])
    found = models.Model(os.path.join(model.model_dir, "model.ckpt-0"))
    assert found.rows("user") == models.rows_of("user", 3.0)


@pytest.mark.parametrize("saver", ["hook", "scaffold"])
def test_restore_model_version(saver, tmp_path):
    steps = [[1], [1, 2], [2, 3], [3], [4, 1]]
    model = npu.estimator(tmp_path, save_every=1, keep=0, scaffold=saver == "scaffold")
    model.train(touches.inputs(steps))
    ep.init(restore_model_version=3)
    hooks = [ep.checkpoint.StreamingSaverHook()]
    assert touches.weights(model, [1, 2, 3, 4], hooks=hooks) == touches.expected(
        steps[:3], [1, 2, 3, 4]
    )
    assert model.evaluate(touches.inputs([[1]]), hooks=hooks)["global_step"] == 3


def test_retention_without_our_hooks_is_npu_savers(tmp_path):
    model = npu.estimator(tmp_path, iterations=2, save_every=2, keep=2)
    model.train(touches.inputs([[1]] * 8))
    assert sorted(npu.kinds(tmp_path)) == [6, 8]


def test_hot_embedding_session_configuration_changes_nothing(tmp_path):
    """A custom optimizer entry with op_precision_mode: accepted, and without effect."""
    contents = []
    for name in ("with", "without"):
        session_config = v1.ConfigProto()
        rewrite = session_config.graph_options.rewrite_options
        rewrite.remapping = 2  # RewriterConfig.OFF
        if name == "with":
            entry = rewrite.custom_optimizers.add()
            entry.name = "NpuOptimizer"
            entry.parameter_map["mix_compile_mode"].b = False
            entry.parameter_map["use_off_line"].b = True
            entry.parameter_map["iterations_per_loop"].i = 1
            entry.parameter_map["op_precision_mode"].s = tf.compat.as_bytes("op_impl_mode.ini")
        config = tf.estimator.RunConfig(str(tmp_path / name), session_config=session_config)
        model = tf.estimator.Estimator(
            trainer.model_fn, config=config, params={"saver": "stock", "keep": 3}
        )
        model.train(lambda: trainer.batches(0, 4))
        contents.append(support.checkpoint_content(str(tmp_path / name)))
    assert contents[0] == contents[1]

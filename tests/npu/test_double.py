"""The rules of NPUEstimator and NPURunConfig that programs meet, kept by the stand-ins."""

import os

import pytest
import tensorflow as tf

from estimator_plugin.compat.npu import hooks as npu_hooks
from estimator_plugin.compat.npu import ranks, session_config
from estimator_plugin.compat.npu.estimator import NPUEstimator, NPUEstimatorSpec
from estimator_plugin.compat.npu.run_config import DumpConfig, NPURunConfig
from tests.hooks import touches
from tests.npu import npu

v1 = tf.compat.v1


def test_defaults_that_differ_from_run_config():
    config = NPURunConfig()
    assert (config.iterations_per_loop, config.mix_compile_mode) == (1, False)
    assert (config.save_summary_steps, config.save_checkpoints_steps) == (0, 100)
    assert config.save_checkpoints_secs is None
    assert NPURunConfig(save_checkpoints_secs=60).save_checkpoints_steps is None
    assert config.keep_checkpoint_max == 5


CLUSTER = '{"cluster": {"chief": ["a:1"], "ps": ["b:1"]}, "task": {"type": "chief", "index": 0}}'


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"iterations_per_loop": 0}, ValueError, "iterations_per_loop must be an int of at least"),
        ({"iterations_per_loop": True}, ValueError, "an int of at least 1, got True"),
        ({"mix_compile_mode": 1}, ValueError, "mix_compile_mode must be a bool, got 1"),
        (
            {"mix_compile_mode": True, "iterations_per_loop": 2},
            ValueError,
            "iterations_per_loop must be 1 when mix_compile_mode is True, got 2",
        ),
        ({"horovod_mode": "yes"}, ValueError, "horovod_mode must be a bool"),
        ({"graph_run_mode": 2}, ValueError, "graph_run_mode must be 0 or 1, got 2"),
        ({"dump_config": "dump"}, ValueError, "dump_config must be None or a DumpConfig"),
        ({"precision": "fp16"}, TypeError, "NPURunConfig has no argument precision"),
    ],
)
def test_wrong_arguments_of_the_config(arguments, error, message):
    with pytest.raises(error, match=message):
        NPURunConfig(**arguments)


def test_a_cluster_needs_a_strategy_and_mixed_compilation(monkeypatch):
    strategy = v1.distribute.experimental.ParameterServerStrategy
    monkeypatch.setenv("TF_CONFIG", CLUSTER)
    with pytest.raises(ValueError, match="distribute must be a ParameterServerStrategy"):
        NPURunConfig(mix_compile_mode=True)
    with pytest.raises(ValueError, match="mix_compile_mode must be True when TF_CONFIG has a"):
        NPURunConfig(distribute=strategy())
    config = NPURunConfig(distribute=strategy(), mix_compile_mode=True)
    assert config.num_ps_replicas == 0  # Which the cluster's is not.


def _config(tmp_path, **kwargs):
    return NPURunConfig(model_dir=str(tmp_path), log_step_count_steps=None, **kwargs)


@pytest.mark.parametrize(
    "environment, error, message",
    [
        ({"JOB_ID": ""}, ValueError, "JOB_ID must be set"),
        ({"RANK_SIZE": "1", "CM_WORKER_SIZE": "1"}, ValueError, "not both"),
        ({"RANK_SIZE": "8"}, RuntimeError, "RANK_SIZE is 8: on a CPU there is one rank"),
    ],
)
def test_the_environment(environment, error, message, tmp_path, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(error, match=message):
        NPUEstimator(touches.model_fn, config=_config(tmp_path))


def test_what_the_constructor_refuses(tmp_path):
    with pytest.raises(ValueError, match="config must be an NPURunConfig, got None"):
        NPUEstimator(touches.model_fn)
    with pytest.raises(ValueError, match="config must be an NPURunConfig"):
        NPUEstimator(touches.model_fn, config=tf.estimator.RunConfig())
    with pytest.raises(ValueError, match="model_dir must be that of config, got 'other'"):
        NPUEstimator(touches.model_fn, "other", config=_config(tmp_path))
    for model_fn in (None, lambda inputs, labels, mode: None):
        with pytest.raises(ValueError, match="model_fn must be a function with an argument `feat"):
            NPUEstimator(model_fn, config=_config(tmp_path))
    with pytest.raises(NotImplementedError, match="host_call has no stand-in"):
        NPUEstimatorSpec(tf.estimator.ModeKeys.TRAIN, host_call=(print, []))


def test_a_model_dir_is_made_in_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = NPUEstimator(touches.model_fn, config=NPURunConfig())
    assert os.path.dirname(made.model_dir) == str(tmp_path)


def test_the_session_configuration_is_changed_in_place(tmp_path):
    config = _config(
        tmp_path,
        session_config=v1.ConfigProto(),
        iterations_per_loop=3,
        op_precision_mode="op_precision.ini",
        dump_config=DumpConfig(enable_dump=True, dump_path="/dump"),
    )
    for _ in range(2):
        NPUEstimator(touches.model_fn, config=config)
    rewrite = config.session_config.graph_options.rewrite_options
    assert [entry.name for entry in rewrite.custom_optimizers] == ["NpuOptimizer"] * 2
    assert len(rewrite.optimizers) == 18
    assert rewrite.optimizers[8] == "GradFusionOptimizer"
    options = rewrite.custom_optimizers[0].parameter_map
    assert options["iterations_per_loop"].i == 3
    assert options["op_precision_mode"].s == b"op_precision.ini"
    assert options["enable_dump"].b and options["dump_path"].s == b"/dump"
    assert not options["mix_compile_mode"].b and "precision_mode" not in options


def test_model_fn_gets_what_it_asks_for_and_the_config_of_the_constructor(tmp_path):
    seen = []

    def model_fn(labels, features, config):
        seen.append(config)
        return touches.model_fn(features, labels, tf.estimator.ModeKeys.TRAIN, {})

    config = _config(tmp_path)
    model = NPUEstimator(model_fn, config=config)
    model.train(touches.inputs([[1]]))
    assert seen[0] is not model.config  # Estimator copies; the wrapper keeps the one it was given.
    assert seen[0].model_dir == str(tmp_path)
    with pytest.raises(RuntimeError, match="must return an EstimatorSpec or NPUEstimatorSpec"):
        NPUEstimator(lambda features: None, config=config).train(touches.inputs([[1]]))


class _Order(v1.train.SessionRunHook):
    """Notes its name at each step, and the global step after it."""

    def __init__(self, name, seen):
        self._name, self._seen = name, seen

    def after_run(self, run_context, run_values):
        step = run_context.session.run(v1.train.get_global_step(run_context.session.graph))
        self._seen.append((self._name, int(step)))


def test_hooks_come_after_those_of_the_call_and_before_the_specs(tmp_path):
    seen, made = [], []

    def model_fn(features, labels, mode, params):
        spec = touches.model_fn(features, labels, mode, params)
        return spec._replace(training_hooks=[_Order("spec", seen)])

    model = npu.estimator(tmp_path, iterations=5, save_every=7, model_fn=model_fn)

    def spied(features, labels, mode, params):
        made.append(model.model_fn(features, labels, mode, None))
        return made[0]

    model.train(touches.inputs([[1]] * 20), hooks=[_Order("call", seen)])
    assert seen == [(name, step) for step in (5, 10, 15, 20) for name in ("call", "spec")]
    with tf.Graph().as_default():
        v1.train.create_global_step()
        features = {"ids": tf.constant([1], tf.int64)}
        spied(features, None, tf.estimator.ModeKeys.TRAIN, None)
    kinds = [type(hook) for hook in made[0].training_hooks]
    assert kinds == [npu_hooks.NPUCheckpointSaverHook, npu_hooks.IterationsHook, _Order]
    assert made[0].train_op.name == "IterationOp"


def test_the_saver_is_its_own_whatever_the_scaffold_has(tmp_path):
    """A variable made in a hook is missing in the checkpoint, as on the NPU."""

    class Late(v1.train.SessionRunHook):
        def begin(self):
            v1.get_variable("late", [], initializer=v1.zeros_initializer())

    model = npu.estimator(tmp_path, save_every=2, keep=2, scaffold=True)
    model.train(touches.inputs([[1]] * 7), hooks=[Late()])
    names = [name for name, _ in tf.train.list_variables(str(tmp_path))]
    assert "late" not in names and "dense" in names
    assert sorted(npu.kinds(tmp_path)) == [6, 7]  # Kept by its own max_to_keep.


def test_a_loop_overshoots_max_steps_and_stops_where_the_data_end(tmp_path):
    model = npu.estimator(tmp_path / "a", iterations=4)
    model.train(touches.inputs([[1]] * 20), max_steps=10)
    assert sorted(npu.kinds(tmp_path / "a")) == [0, 12]
    model = npu.estimator(tmp_path / "b", iterations=4)
    model.train(touches.inputs([[1]] * 10))
    assert sorted(npu.kinds(tmp_path / "b")) == [0, 10]


def test_npu_hooks_append():
    given = [_Order("x", [])]
    found = npu_hooks.npu_hooks_append(given)
    assert found is given
    assert isinstance(found[1], npu_hooks.NPUBroadcastGlobalVariablesHook)
    assert len(npu_hooks.npu_hooks_append()) == 1
    assert len(npu_hooks.npu_hooks_append(())) == 1


def test_npu_config_proto():
    made = session_config.npu_config_proto()
    again = session_config.npu_config_proto(made)
    rewrite = again.graph_options.rewrite_options
    assert again is made and len(rewrite.custom_optimizers) == 1
    assert rewrite.remapping == session_config.RewriterConfig.OFF


def test_ranks(monkeypatch):
    monkeypatch.delenv("OMPI_COMM_WORLD_SIZE", raising=False)
    found = [f() for f in (ranks.get_rank_id, ranks.get_rank_size, ranks.get_local_rank_size)]
    assert found == [0, 1, 1]
    assert ranks.get_device_id() == 0
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match="OMPI_COMM_WORLD_SIZE is 2"):
        ranks.get_rank_size()

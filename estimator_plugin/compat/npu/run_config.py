"""NPURunConfig: the settings of an NPUEstimator."""

import collections
import json
import os

import tensorflow as tf

_OWNER = "NPURunConfig"
_STRATEGY = tf.compat.v1.distribute.experimental.ParameterServerStrategy

# What tf.contrib.distribute called so; RunConfig reads the fields by name.
_DistributeConfig = collections.namedtuple(
    "DistributeConfig", ["train_distribute", "eval_distribute", "remote_cluster"]
)

# Settings of the device, which there is none of here, and their defaults.
_DEVICE_OPTIONS = {
    "profiling_config": None,
    "enable_data_pre_proc": True,
    "precision_mode": None,
    "enable_reduce_precision": False,
    "variable_format_optimize": True,
    "hcom_parallel": False,
    "graph_memory_max_size": None,
    "variable_memory_max_size": None,
    "auto_tune_mode": None,
    "dump_config": None,
    "stream_max_parallel_num": None,
    "is_tailing_optimization": False,
    "horovod_mode": False,
    "graph_run_mode": 1,
    "op_debug_level": 0,
    "enable_scope_fusion_passes": None,
    "enable_exception_dump": 0,
    "op_select_implmode": None,
    "optypelist_for_implmode": None,
    "dynamic_input_config": None,
    "aoe_mode": None,
    "work_path": None,
    "buffer_optimize": "l2_optimize",
    "enable_small_channel": 0,
    "fusion_switch_file": None,
    "enable_compress_weight": False,
    "compress_weight_conf": None,
    "op_compiler_cache_mode": None,
    "op_compiler_cache_dir": None,
    "debug_dir": None,
    "hcom_multi_mode": False,
    "dynamic_input": False,
    "dynamic_graph_execute_mode": "dynamic_execute",
    "dynamic_inputs_shape_range": None,
    "local_rank_id": None,
    "local_device_list": None,
    "session_device_id": None,
    "distribute_config": None,
    "modify_mixlist": None,
    "op_precision_mode": None,
    "device_type": "default_device_type",
    "soc_config": None,
    "hccl_timeout": None,
    "op_wait_timeout": None,
    "op_execute_timeout": None,
    "HCCL_algorithm": None,
    "deterministic": 0,
}


class ProfilingConfig:
    """What the device measures; nothing is measured here."""

    def __init__(self, enable_profiling=False, profiling_options=None):
        self.enable_profiling = enable_profiling
        self.profiling_options = profiling_options


class DumpConfig:
    """What the device writes of its ops' values; nothing is written here."""

    def __init__(
        self,
        enable_dump=False,
        dump_path=None,
        dump_step=None,
        dump_mode="output",
        enable_dump_debug=False,
        dump_debug_mode="all",
    ):
        self.enable_dump = enable_dump
        self.dump_path = dump_path
        self.dump_step = dump_step
        self.dump_mode = dump_mode
        self.enable_dump_debug = enable_dump_debug
        self.dump_debug_mode = dump_debug_mode


class DynamicInputConfig:
    """Which input shapes the device compiles for; a CPU needs no such list."""

    def __init__(self, input_shape=None, dynamic_dims=None, dynamic_node_type=None):
        self.input_shape = input_shape
        self.dynamic_dims = dynamic_dims
        self.dynamic_node_type = dynamic_node_type


class NPURunConfig(tf.compat.v1.estimator.RunConfig):
    """A RunConfig for NPUEstimator.

    Args:
      iterations_per_loop: int from 1, default 1. Training steps that one `session.run` makes; hooks
        see every so many'th step only.
      model_dir, tf_random_seed, save_checkpoints_secs, session_config, keep_checkpoint_max,
        keep_checkpoint_every_n_hours, log_step_count_steps, train_distribute, eval_distribute: as
        in `tf.estimator.RunConfig`.
      save_summary_steps: int, default 0: no summaries.
      save_checkpoints_steps: int; 100 where neither this nor save_checkpoints_secs is given.
      distribute: a `tf.compat.v1.distribute.experimental.ParameterServerStrategy` exactly when
        TF_CONFIG has a cluster; mix_compile_mode must be True then.
      mix_compile_mode: bool, default False. True needs iterations_per_loop=1.
      **device_options: what the device is told, such as precision_mode, op_precision_mode or
        dump_config. They join the session's configuration and change nothing on a CPU.

    Raises:
      ValueError: an argument is of a wrong type or out of range, or two do not go together.
      TypeError: an option that NPURunConfig does not have.

    Semantics: NPURunConfig of the NPU's TensorFlow adapter.
    """

    def __init__(
        self,
        iterations_per_loop=1,
        model_dir=None,
        tf_random_seed=None,
        save_summary_steps=0,
        save_checkpoints_steps=None,
        save_checkpoints_secs=None,
        session_config=None,
        keep_checkpoint_max=5,
        keep_checkpoint_every_n_hours=10000,
        log_step_count_steps=100,
        distribute=None,
        mix_compile_mode=False,
        train_distribute=None,
        eval_distribute=None,
        **device_options,
    ):
        cluster = bool(json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster"))
        _check_loop(iterations_per_loop, mix_compile_mode)
        _check_cluster(cluster, distribute, mix_compile_mode)
        self.iterations_per_loop = iterations_per_loop
        self.mix_compile_mode = mix_compile_mode
        self.device_options = _checked_options(device_options)
        if save_checkpoints_steps is None and save_checkpoints_secs is None:
            save_checkpoints_steps = 100
        super().__init__(
            model_dir=model_dir,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=save_checkpoints_steps,
            save_checkpoints_secs=save_checkpoints_secs,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            experimental_distribute=(
                _DistributeConfig(distribute, distribute, None) if cluster else None
            ),
            train_distribute=train_distribute,
            eval_distribute=eval_distribute,
        )


def _check_loop(iterations_per_loop, mix_compile_mode):
    if (
        isinstance(iterations_per_loop, bool)
        or not isinstance(iterations_per_loop, int)
        or iterations_per_loop < 1
    ):
        _fail("iterations_per_loop", iterations_per_loop, "an int of at least 1")
    if not isinstance(mix_compile_mode, bool):
        _fail("mix_compile_mode", mix_compile_mode, "a bool")
    if mix_compile_mode and iterations_per_loop != 1:
        _fail("iterations_per_loop", iterations_per_loop, "1 when mix_compile_mode is True")


def _check_cluster(cluster, distribute, mix_compile_mode):
    if cluster != isinstance(distribute, _STRATEGY):
        _fail(
            "distribute",
            distribute,
            "a ParameterServerStrategy, as TF_CONFIG has a cluster"
            if cluster
            else "None, as TF_CONFIG has no cluster",
        )
    if cluster and not mix_compile_mode:
        _fail("mix_compile_mode", False, "True when TF_CONFIG has a cluster")


def _checked_options(given):
    unknown = sorted(set(given) - set(_DEVICE_OPTIONS))
    if unknown:
        raise TypeError("%s has no argument %s" % (_OWNER, ", ".join(unknown)))
    options = dict(_DEVICE_OPTIONS, **given)
    if not isinstance(options["horovod_mode"], bool):
        _fail("horovod_mode", options["horovod_mode"], "a bool")
    if options["graph_run_mode"] not in (0, 1):
        _fail("graph_run_mode", options["graph_run_mode"], "0 or 1")
    for name, wanted in (("dump_config", DumpConfig), ("dynamic_input_config", DynamicInputConfig)):
        if options[name] is not None and not isinstance(options[name], wanted):
            _fail(name, options[name], "None or a %s" % wanted.__name__)
    return options


def _fail(argument, value, wanted):
    raise ValueError("%s: %s must be %s, got %r" % (_OWNER, argument, wanted, value))

"""NPUEstimator, with the CPU as its device."""

import inspect
import os
import tempfile

import tensorflow as tf

from .hooks import IterationsHook, NPUCheckpointSaverHook, NPUSaver
from .ranks import check_alone
from .run_config import NPURunConfig
from .session_config import add_optimizer

_OWNER = "NPUEstimator"
_ModeKeys = tf.estimator.ModeKeys


class NPUEstimatorSpec(tf.estimator.EstimatorSpec):
    """An EstimatorSpec. Its `host_call`, for summaries from the device, must be None on a CPU.

    Raises:
      NotImplementedError: host_call is given.
    """

    def __new__(cls, mode, host_call=None, **kwargs):
        if host_call is not None:
            raise NotImplementedError(
                "NPUEstimatorSpec: host_call has no stand-in on a CPU; make the summaries with "
                "tf.compat.v1.summary"
            )
        return super().__new__(cls, mode, **kwargs)


class NPUEstimator(tf.compat.v1.estimator.Estimator):
    """An Estimator whose training runs as on an Ascend NPU, on the CPU.

    As there, model_fn gets its features by that name and the `config` that was given here; the
    session's configuration gets an `NpuOptimizer` entry; checkpoints are saved by a hook that is
    always there, with a Saver of its own that is made when model_fn returns, whatever a Scaffold
    has; one `session.run` makes `config.iterations_per_loop` steps.

    Args:
      model_fn: as an Estimator's, its first argument named `features`.
      model_dir: str; None takes that of config. Without either, a new directory in the current one.
      config: NPURunConfig; its session_config is changed in place.
      params: dict or None, as an Estimator's.
      job_start_file: accepted; the job is described by the environment.
      warm_start_from: as an Estimator's; where it is None the environment variables
        LOCAL_CHECKPOINT_DIR and RESTORE_FROM are asked, in this order.

    Raises:
      ValueError: config is no NPURunConfig; JOB_ID is not in the environment, or both RANK_SIZE and
        CM_WORKER_SIZE are; model_dir differs from that of config; model_fn has no `features`.
      RuntimeError: the environment says that there are several ranks.

    Semantics: NPUEstimator of the NPU's TensorFlow adapter.
    """

    def __init__(
        self,
        model_fn=None,
        model_dir=None,
        config=None,
        params=None,
        job_start_file="",
        warm_start_from=None,
    ):
        del job_start_file
        if not isinstance(config, NPURunConfig):
            raise ValueError("%s: config must be an NPURunConfig, got %r" % (_OWNER, config))
        if not callable(model_fn) or "features" not in inspect.signature(model_fn).parameters:
            raise ValueError(
                "%s: model_fn must be a function with an argument `features`, got %r"
                % (_OWNER, model_fn)
            )
        _check_job()
        model_dir = _model_dir(model_dir, config)
        config = _with_options(config)
        super().__init__(
            model_fn=_wrapped(model_fn, model_dir, config),
            model_dir=model_dir,
            config=config,
            params=params or {},
            warm_start_from=warm_start_from
            or os.environ.get("LOCAL_CHECKPOINT_DIR")
            or os.environ.get("RESTORE_FROM"),
        )


def _check_job():
    if not os.environ.get("JOB_ID"):
        raise ValueError("%s: the environment variable JOB_ID must be set, to any number" % _OWNER)
    if os.environ.get("RANK_SIZE") and os.environ.get("CM_WORKER_SIZE"):
        raise ValueError("%s: set one of RANK_SIZE and CM_WORKER_SIZE, not both" % _OWNER)
    check_alone()


def _model_dir(model_dir, config):
    if model_dir and config.model_dir and model_dir != config.model_dir:
        raise ValueError(
            "%s: model_dir must be that of config, got %r and %r"
            % (_OWNER, model_dir, config.model_dir)
        )
    return model_dir or config.model_dir or tempfile.mkdtemp(prefix="model_dir_", dir=os.getcwd())


def _with_options(config):
    """`config`, its session configuration told what the device is told."""
    if config.session_config is None:
        config = config.replace(session_config=tf.compat.v1.ConfigProto())
    options = dict(
        config.device_options,
        iterations_per_loop=config.iterations_per_loop,
        mix_compile_mode=config.mix_compile_mode,
        use_off_line=True,
    )
    for name in ("dump_config", "profiling_config", "dynamic_input_config"):
        nested = options.pop(name)
        options.update({} if nested is None else vars(nested))
    add_optimizer(config.session_config, options)
    return config


def _wrapped(model_fn, model_dir, config):
    """`model_fn` as NPUEstimator hands it to Estimator."""
    accepted = set(inspect.signature(model_fn).parameters)

    def wrapper(features, labels, mode, params):
        known = {"labels": labels, "mode": mode, "params": params, "config": config}
        arguments = {name: value for name, value in known.items() if name in accepted}
        spec = model_fn(features=features, **arguments)
        if not isinstance(spec, tf.estimator.EstimatorSpec):
            raise RuntimeError(
                "%s: model_fn must return an EstimatorSpec or NPUEstimatorSpec, got %r"
                % (_OWNER, spec)
            )
        return _for_training(spec, model_dir, config) if mode == _ModeKeys.TRAIN else spec

    return wrapper


def _for_training(spec, model_dir, config):
    hooks = []
    if config.save_checkpoints_steps or config.save_checkpoints_secs:
        hooks.append(
            NPUCheckpointSaverHook(
                model_dir,
                save_secs=config.save_checkpoints_secs,
                save_steps=config.save_checkpoints_steps,
                saver=NPUSaver(max_to_keep=config.keep_checkpoint_max),
            )
        )
    if config.iterations_per_loop > 1:
        train_op = tf.group(spec.train_op, name="IterationOp")
        hooks.append(IterationsHook(config.iterations_per_loop, train_op))
        spec = spec._replace(train_op=train_op)
    return spec._replace(training_hooks=tuple(hooks) + tuple(spec.training_hooks))

"""Training and evaluating a model of `model.MODELS` on MovieLens: what every program here does."""

import time

import tensorflow as tf

import estimator_plugin as ep

from . import inputs, model, report

EVALUATION_BATCH_SIZE = 2000
EVALUATIONS = 3
WARM_UP_STEPS = 10
SEED = 1


class StepTimer(tf.compat.v1.train.SessionRunHook):
    """Adds up the time spent in training steps, the first few left out."""

    def __init__(self):
        self._steps, self._seconds, self._started = 0, 0.0, 0.0

    def before_run(self, run_context):
        self._started = time.perf_counter()

    def after_run(self, run_context, run_values):
        self._steps += 1
        if self._steps > WARM_UP_STEPS:
            self._seconds += time.perf_counter() - self._started

    def steps_per_second(self):
        counted = self._steps - WARM_UP_STEPS
        return counted / self._seconds if self._seconds > 0 else float("nan")


def make_estimator(model_name, embedding, model_dir, max_steps, sparse_core=None):
    """The Estimator of one of `model.MODELS`; for the other arguments see `model.make_model_fn`."""
    return tf.estimator.Estimator(
        model.make_model_fn(model_name, embedding, sparse_core=sparse_core),
        model_dir,
        tf.estimator.RunConfig(
            tf_random_seed=SEED,
            save_checkpoints_steps=max(max_steps // EVALUATIONS, 1),
            keep_checkpoint_max=EVALUATIONS + 2,  # So that an evaluator may take its time.
            experimental_max_worker_delay_secs=0,
        ),
    )


def train_and_evaluate(estimator, slices, max_steps, hooks, seed=SEED):
    """Trains on the events of `slices`, shuffled by `seed`, and evaluates each checkpoint."""
    validation = inputs.evaluation_input_fn(*slices.validation, batch_size=EVALUATION_BATCH_SIZE)
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(
            inputs.training_input_fn(*slices.train, batch_size=model.BATCH_SIZE, seed=seed),
            max_steps,
            hooks=hooks,
        ),
        tf.estimator.EvalSpec(
            validation, steps=None, name="validation", start_delay_secs=0, throttle_secs=0
        ),
    )


def held_out(estimator, slices, steps_per_second, seconds):
    """The `Result` of a trained Estimator: how it does on the held-out events."""
    test = inputs.evaluation_input_fn(*slices.test, batch_size=EVALUATION_BATCH_SIZE)
    metrics = estimator.evaluate(test, name="test")
    checkpoint = estimator.latest_checkpoint()
    return report.Result(
        auc=metrics["auc"],
        log_loss=metrics["log_loss"],
        steps_per_second=steps_per_second,
        train_seconds=seconds,
        rows=report.rows_in_checkpoint(checkpoint),
        checkpoint_bytes=report.checkpoint_bytes(checkpoint),
    )


def train(slices, model_name, embedding, model_dir, max_steps, sparse_core=None):
    """Runs train_and_evaluate, then evaluates on the held-out events. Returns a `Result`."""
    estimator = make_estimator(model_name, embedding, model_dir, max_steps, sparse_core)
    timer = StepTimer()
    start = time.perf_counter()
    train_and_evaluate(estimator, slices, max_steps, [ep.hooks.ProgressHook(max_steps), timer])
    seconds = time.perf_counter() - start
    return held_out(estimator, slices, timer.steps_per_second(), seconds)

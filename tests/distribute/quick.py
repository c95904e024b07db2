"""What makes a cluster of tf.estimator quick enough for a test: shorter waits."""

import sys

import tensorflow as tf


def set_up():
    """A worker that finds the model not ready looks again after half a second, not after 30."""
    manager = sys.modules["tensorflow.python.training.session_manager"].SessionManager
    original = manager.__init__

    def quick_init(self, *args, **kwargs):
        kwargs["recovery_wait_secs"] = 0.5
        original(self, *args, **kwargs)

    manager.__init__ = quick_init


def run_config(model_dir, save_steps, **kwargs):
    """A RunConfig that starts workers at once and saves every `save_steps`."""
    return tf.estimator.RunConfig(
        model_dir,
        save_checkpoints_steps=save_steps,
        log_step_count_steps=10**9,
        save_summary_steps=10**9,
        experimental_max_worker_delay_secs=0,
        **kwargs,
    )

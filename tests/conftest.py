"""What every Python test gets: a graph of its own, and no settings left by another test."""

import os

# Before TensorFlow is imported: its start-up notices bury a failing test's output.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest  # noqa: E402
import tensorflow as tf  # noqa: E402


@pytest.fixture(autouse=True)
def own_graph():
    with tf.Graph().as_default():
        yield


@pytest.fixture(autouse=True)
def no_settings():
    yield
    import estimator_plugin

    estimator_plugin.terminate_config_initializer()

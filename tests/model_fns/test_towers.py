"""Dense building blocks against numpy."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.model_fns import towers

tf1 = tf.compat.v1


def evaluate(tensors):
    """The tensors and the variables of the graph."""
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        return session.run([tensors, {v.op.name: v for v in tf1.global_variables()}])


def random(*shape):
    return np.random.RandomState(3).randn(*shape).astype(np.float32)


def test_dense():
    x = random(5, 3)
    y, variables = evaluate(towers.dense(tf.constant(x), 4, "layer", "relu"))
    assert sorted(variables) == ["layer/bias", "layer/kernel"]
    np.testing.assert_allclose(y, np.maximum(x @ variables["layer/kernel"], 0), atol=1e-5)


def test_kernels_start_within_glorots_limit():
    _, variables = evaluate(towers.dense(tf.zeros([1, 60]), 40, "layer"))
    limit = np.sqrt(6.0 / 100)
    assert 0.9 * limit < np.abs(variables["layer/kernel"]).max() <= limit


def test_unknown_activation():
    with pytest.raises(ValueError, match="layer 'deep': activation must be one of .*, got 'swish'"):
        towers.dense(tf.zeros([1, 2]), 2, "deep", "swish")


def test_mlp_and_its_l2():
    config = ep.model_fns.MlpConfig((4, 2), "tanh", l2=0.5)
    x = random(5, 3)
    y = towers.mlp(tf.constant(x), config, "deep", training=False)
    losses = tf1.get_collection(tf1.GraphKeys.REGULARIZATION_LOSSES)
    (y, losses), variables = evaluate([y, losses])
    kernels = [variables["deep/layer_%d/kernel" % i] for i in range(2)]
    np.testing.assert_allclose(y, np.tanh(np.tanh(x @ kernels[0]) @ kernels[1]), atol=1e-5)
    np.testing.assert_allclose(losses, [0.25 * (k**2).sum() for k in kernels], rtol=1e-5)


@pytest.mark.parametrize("training", [False, True])
def test_dropout_is_for_training_only(training):
    config = ep.model_fns.MlpConfig((1000,), "linear", dropout=0.5)
    y, _ = evaluate(towers.mlp(tf.ones([1, 8]), config, "deep", training))
    zeros = (y == 0).mean()
    assert 0.4 < zeros < 0.6 if training else zeros == 0


def test_factorization_machine_is_the_sum_over_pairs():
    fields = random(6, 4, 3)
    found, _ = evaluate(towers.factorization_machine(tf.constant(fields)))
    expected = sum((fields[:, i] * fields[:, j]).sum(1) for i in range(4) for j in range(i))
    np.testing.assert_allclose(found, expected[:, None], rtol=1e-4, atol=1e-5)


def test_dot_interaction_has_each_pair_once():
    fields = random(6, 4, 3)
    found, _ = evaluate(towers.dot_interaction(tf.constant(fields)))
    expected = [(fields[:, i] * fields[:, j]).sum(1) for i in range(4) for j in range(i)]
    np.testing.assert_allclose(found, np.stack(expected, 1), rtol=1e-4, atol=1e-5)


def test_cross_network():
    x = random(5, 3)
    found, variables = evaluate(towers.cross_network(tf.constant(x), 2, "cross"))
    expected = x
    for i in range(2):
        kernel = variables["cross/layer_%d/kernel" % i]
        expected = x * (expected @ kernel) + expected
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_low_rank_cross_network():
    x = random(5, 6)
    found, variables = evaluate(towers.cross_network(tf.constant(x), 1, "cross", rank=2))
    kernel = variables["cross/layer_0/kernel_v"] @ variables["cross/layer_0/kernel_u"]
    assert kernel.shape == (6, 6)
    np.testing.assert_allclose(found, x * (x @ kernel) + x, rtol=1e-4, atol=1e-5)

"""A whole Estimator training DeepFM on synthetic click data: 26 tables, one id a sample each."""

import tempfile
import time

import numpy as np
import tensorflow as tf

from benchmarks.system import tensorflow_optimizer
from benchmarks.workload import FEATURES

tf1 = tf.compat.v1

DENSE_FEATURES = 13
HIDDEN_UNITS = (256, 128)
_WARM_UP_STEPS = 20
_STEPS_AFTER_A_PAUSE = 5  # They find full input queues and cold caches.


def _input_fn(workload):
    generator = np.random.RandomState(0)
    samples = (workload.batches, workload.samples)
    features = {
        "ids": workload.by_feature(),
        "dense": generator.random_sample(samples + (DENSE_FEATURES,)).astype(np.float32),
    }
    clicks = (generator.random_sample(samples + (1,)) < 0.25).astype(np.float32)

    def split(batch, labels):
        split_features = {"c%d" % i: batch["ids"][:, i] for i in range(FEATURES)}
        split_features["dense"] = batch["dense"]
        return split_features, labels

    dataset = tf.data.Dataset.from_tensor_slices((features, clicks))
    return dataset.repeat().map(split).prefetch(2)


def _deep_fm(embedding, dense):
    """Logits [samples, 1] and the trainable variables of the tower."""
    pairs = tf.square(tf.reduce_sum(embedding, 1)) - tf.reduce_sum(tf.square(embedding), 1)
    logits = 0.5 * tf.reduce_sum(pairs, 1, keepdims=True)
    width = FEATURES * embedding.shape[2]
    hidden = tf.concat([tf.reshape(embedding, [-1, width]), dense], 1)
    variables = []
    for layer, units in enumerate(HIDDEN_UNITS + (1,)):
        with tf1.variable_scope("layer_%d" % layer):
            weights = tf1.get_variable(
                "weights", [hidden.shape[1], units], initializer=tf1.glorot_uniform_initializer()
            )
            bias = tf1.get_variable("bias", [units], initializer=tf1.zeros_initializer())
        hidden = tf.matmul(hidden, weights) + bias
        if layer < len(HIDDEN_UNITS):
            hidden = tf.nn.relu(hidden)
        variables += [weights, bias]
    return logits + hidden, variables


def _model_fn(features, labels, mode, params):
    system = params["system_class"](params["dim"], params["optimizer"])
    rows = params["rows"] // FEATURES
    columns = []
    for i in range(FEATURES):
        table = system.add_table("c%d" % i, rows)
        ids = features["c%d" % i]
        if ids.dtype == tf.string:
            ids = tf.strings.to_hash_bucket_fast(ids, 2**63 - 1)
        if system.uses_row_numbers:
            ids = tf.math.floormod(ids, rows)
        columns.append(system.embed_by(system.best_way, table, ids))
    embedding = tf.stack(columns, 1)
    embedding.set_shape([None, FEATURES, params["dim"]])
    logits, dense_variables = _deep_fm(embedding, features["dense"])
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    sources = system.sources()
    gradients = tf.gradients(loss, list(sources) + dense_variables)
    dense_update = tensorflow_optimizer("adagrad").apply_gradients(
        list(zip(gradients[len(sources) :], dense_variables)),
        global_step=tf1.train.get_or_create_global_step(),
    )
    train = tf.group(dense_update, system.apply(gradients[: len(sources)]))
    initializers = [tf1.local_variables_initializer(), tf1.tables_initializer()]
    start = tf.group(*(initializers + system.estimator_initializers()))
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train, scaffold=tf1.train.Scaffold(local_init_op=start)
    )


class _ServeBetweenSteps(tf1.train.SessionRunHook):
    """Lets the training loop run only while somebody asks for a measurement."""

    def __init__(self, channel, measures):
        self._channel = channel
        self._measures = measures
        self._steps_done = 0
        self._durations = []
        self._deadline = None

    def before_run(self, run_context):
        self._start = time.perf_counter()

    def after_run(self, run_context, run_values):
        now = time.perf_counter()
        self._steps_done += 1
        if self._steps_done < _WARM_UP_STEPS:
            return
        if self._steps_done == _WARM_UP_STEPS:
            self._channel.ready({"measures": self._measures})
        else:
            self._durations.append(now - self._start)
            if now < self._deadline or len(self._durations) < _STEPS_AFTER_A_PAUSE + 3:
                return
            self._channel.answer({"seconds": self._durations[_STEPS_AFTER_A_PAUSE:]})
        request = self._channel.next_request()
        if request is None:
            run_context.request_stop()
            return
        self._durations = []
        self._deadline = time.perf_counter() + request[1]


def serve(channel, system_class, dim, optimizer, workload, input_fn=_input_fn):
    """Trains until the channel closes; its one measure, "train", is seconds per global step."""
    params = {
        "system_class": system_class,
        "dim": dim,
        "optimizer": optimizer,
        "rows": workload.rows,
    }
    with tempfile.TemporaryDirectory(prefix="benchmark-model-") as model_dir:
        config = tf.estimator.RunConfig(
            model_dir,
            tf_random_seed=1,
            save_checkpoints_steps=None,
            save_checkpoints_secs=None,
            save_summary_steps=None,
            log_step_count_steps=None,
        )
        estimator = tf.estimator.Estimator(_model_fn, config=config, params=params)
        hooks = system_class.hooks() + [_ServeBetweenSteps(channel, ["train"])]
        estimator.train(lambda: input_fn(workload), hooks=hooks)

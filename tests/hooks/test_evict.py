"""EvictHook: when it evicts, and where it may not."""

import json

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import eviction
from estimator_plugin.hooks import EvictHook
from estimator_plugin.ops import lookup_ops, table_ops
from tests.plugin import support
from tests.plugin.admitting import dataset

v1 = tf.compat.v1


class Clock:
    """Seconds that pass when told to."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Rows(v1.train.SessionRunHook):
    """Notes the number of rows after each step, and lets time pass before it."""

    def __init__(self, clock=None, seconds=0):
        self.seen, self._clock, self._seconds = [], clock, seconds

    def begin(self):
        self._size = ep.lookup_registry.tables_of_graph()[0].size()

    def before_run(self, run_context):
        if self._clock is not None:
            self._clock.now += self._seconds

    def after_run(self, run_context, run_values):
        self.seen.append(int(run_context.session.run(self._size)))


def model(batches, mode="train", **create):
    """A train op: each step looks the ids of one batch up; rows leave after two steps."""
    table = support.table(num_buckets=1, **create)
    features = v1.data.make_one_shot_iterator(dataset(batches)).get_next()
    config = {"eviction_threshold": 2} if "eviction" not in create else None
    rows = ep.sparse_lookup(
        table, features["ids"], is_train=mode == "train", access_and_evict_config=config
    )
    with tf.control_dependencies([rows]):
        return v1.assign_add(v1.train.get_or_create_global_step(), 1)


def run(hooks, steps=6):
    """The rows after each step; step s looks up the new id s."""
    train = model([[step] for step in range(steps)])
    # After the others: it sees what they left.
    with v1.train.MonitoredTrainingSession(hooks=hooks, save_checkpoint_steps=None) as session:
        while not session.should_stop():
            session.run(train)


def rows_of(hook, **kwargs):
    rows = Rows(**kwargs)
    run([hook, rows])
    return rows.seen


def test_steps_alone():
    v1.train.create_global_step()
    # Rows of steps 0, 1, 2, 3 ... leave two steps later, when it is step 3 and 6 here.
    assert rows_of(EvictHook(True, evict_step_interval=3)) == [1, 2, 2, 3, 4, 2]


def test_time_alone():
    v1.train.create_global_step()
    clock = Clock()
    hook = EvictHook(evict_enable=True, evict_time_interval=100, clock=clock)
    # 50 seconds a step: more than 100 have gone by after steps 3 and 6.
    assert rows_of(hook, clock=clock, seconds=50) == [1, 2, 2, 3, 4, 2]


def test_the_interval_has_to_be_exceeded():
    v1.train.create_global_step()
    clock = Clock()
    hook = EvictHook(evict_enable=True, evict_time_interval=150, clock=clock)
    assert rows_of(hook, clock=clock, seconds=50) == [1, 2, 3, 2, 3, 4]


def test_either_of_time_and_steps():
    v1.train.create_global_step()
    clock = Clock()
    hook = EvictHook(True, evict_time_interval=100, evict_step_interval=4, clock=clock)
    # Time after step 3, steps after step 4; from there on time is due after 7.
    assert rows_of(hook, clock=clock, seconds=50) == [1, 2, 2, 2, 3, 4]


def test_not_enabled():
    v1.train.create_global_step()
    assert rows_of(EvictHook(evict_time_interval=1, evict_step_interval=1)) == [1, 2, 3, 4, 5, 6]


def test_workers_leave_it_to_the_chief(monkeypatch):
    cluster = {"chief": ["localhost:1"], "worker": ["localhost:2"], "ps": ["localhost:3"]}
    task = {"type": "worker", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    v1.train.create_global_step()
    assert rows_of(EvictHook(True, evict_step_interval=1)) == [1, 2, 3, 4, 5, 6]


def test_it_logs_how_many_rows_left(caplog):
    v1.train.create_global_step()
    with caplog.at_level("INFO", logger="tensorflow"):
        run([EvictHook(True, evict_step_interval=3)])
    lines = [r.getMessage() for r in caplog.records if "rows that left" in r.getMessage()]
    assert lines == ["EvictHook: rows that left: user 1", "EvictHook: rows that left: user 3"]


def test_policies_of_create_table():
    v1.train.create_global_step()
    train = model([[1, 2, 3], [4, 5]], eviction=eviction.RowBudget(2))
    hook = EvictHook(True, evict_step_interval=1)
    rows = Rows()
    with v1.train.MonitoredTrainingSession(hooks=[hook, rows]) as session:
        session.run(train)
        session.run(train)
    assert rows.seen == [2, 2]


def test_a_graph_without_policies_is_said_and_trains(caplog):
    table = support.table()
    rows = ep.sparse_lookup(table, [1])
    v1.train.create_global_step()
    hook = EvictHook(True, evict_step_interval=1)
    with v1.train.MonitoredTrainingSession(hooks=[hook]) as session:
        session.run(rows)
    assert "no table has an eviction threshold" in caplog.text


def estimator(model_dir):
    """An Estimator that sees one new id a step; `evaluate` counts the rows."""

    def model_fn(features, labels, mode):
        training = mode == tf.estimator.ModeKeys.TRAIN
        table = support.table()
        rows = ep.sparse_lookup(
            table,
            features["ids"],
            is_train=training,
            access_and_evict_config={"eviction_threshold": 2},
        )
        loss = tf.reduce_sum(rows)
        optimizer = ep.optimizers.adagrad.create_hash_optimizer(0.1, 0.1)
        return tf.estimator.EstimatorSpec(
            mode,
            loss=loss,
            predictions=rows,
            train_op=training and optimizer.minimize(loss, v1.train.get_global_step()) or None,
            eval_metric_ops={"rows": v1.metrics.mean(tf.cast(table.size(), tf.float32))},
            scaffold=v1.train.Scaffold(saver=ep.checkpoint.saver(defer_build=True)),
        )

    return tf.estimator.Estimator(model_fn, str(model_dir))


def inputs(first, last):
    return lambda: dataset([[step] for step in range(first, last)])


def test_training_of_an_estimator_that_resumes(tmp_path):
    model = estimator(tmp_path)
    for first, last in ((0, 2), (2, 5), (5, 6)):
        model.train(inputs(first, last), hooks=[EvictHook(True, evict_step_interval=3)])
    # Evicted after steps 3 and 6; ids 4 and 5 are young enough.
    assert set(ep.checkpoint.read_table(str(tmp_path), "user").keys) == {4, 5}


def test_train_and_evaluate(tmp_path):
    model = estimator(tmp_path)
    results, _ = tf.estimator.train_and_evaluate(
        model,
        tf.estimator.TrainSpec(
            inputs(0, 10), max_steps=6, hooks=[EvictHook(True, evict_step_interval=3)]
        ),
        tf.estimator.EvalSpec(inputs(0, 2), throttle_secs=0),
    )
    assert results["rows"] == 2


def test_it_is_for_training_only(tmp_path):
    model = estimator(tmp_path)
    model.train(inputs(0, 2))
    hook = EvictHook(evict_enable=True)
    with pytest.raises(RuntimeError, match="EvictHook: it is for training only"):
        model.evaluate(inputs(0, 1), hooks=[hook])
    with pytest.raises(RuntimeError, match="EvictHook: it is for training only"):
        next(model.predict(inputs(0, 1), hooks=[hook]))
    assert set(ep.checkpoint.read_table(str(tmp_path), "user").keys) == {0, 1}


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        ({"evict_enable": 1}, "evict_enable must be True or False"),
        ({"evict_time_interval": 0}, "evict_time_interval must be an int from 1"),
        ({"evict_time_interval": None}, "evict_time_interval must be an int from 1"),
        ({"evict_time_interval": 1.5}, "evict_time_interval must be an int from 1"),
        ({"evict_step_interval": 0}, "evict_step_interval must be None or an int from 1"),
        ({"evict_step_interval": 2**31}, "evict_step_interval must be None or an int from 1"),
        ({"clock": 5}, "clock must be a function"),
    ],
)
def test_wrong_arguments(arguments, wanted):
    with pytest.raises(ValueError, match="EvictHook: " + wanted):
        EvictHook(**arguments)


def test_a_gradient_that_comes_after_its_row_left_is_dropped():
    """An eviction between the lookup and the update of a step that is running."""
    table = support.table(dim=2, num_buckets=1)
    v1.train.create_global_step()
    ids = v1.placeholder(tf.int64, [None])
    config = {"eviction_threshold": 1}
    found = ep.sparse_lookup(table, ids, access_and_evict_config=config)
    with tf.control_dependencies([found]):
        gone = table.remove([2])
    with tf.control_dependencies([gone]):
        again = lookup_ops.table_find(table.handle, [5], insert=True)  # It takes the row of 2.
    with tf.control_dependencies([again]):
        late = tf.identity(found)
    optimizer = ep.optimizers.gradient_descent.create_hash_optimizer(0.5)
    train = optimizer.minimize(tf.reduce_sum(late))
    statistics = table_ops.table_statistics(table.handle)
    rows = ep.sparse_lookup(table, [1, 2, 5], is_train=False)
    with support.ready_session() as session:
        session.run(train, {ids: [1, 2]})
        values = dict(zip(table_ops.STATISTICS, session.run(statistics).tolist()))
        assert (values["rows_updated"], values["stale_updates"]) == (1, 1)
        assert session.run(rows).tolist() == [[0.5, 0.5], [0, 0], [1, 1]]

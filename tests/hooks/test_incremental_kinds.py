"""Which kind of checkpoint the hook writes when, and that one hook is enough."""

import os
import time

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import versions
from estimator_plugin.hooks import IncrementalSaveHook, save_schedule
from tests.hooks import touches

v1 = tf.compat.v1


def _kinds(directory):
    return {v.step: v.kind for v in versions.list_versions(str(directory))}


def test_both_due_is_one_full(tmp_path):
    touches.train(tmp_path, [[i] for i in range(13)], full=6, delta=3, buckets=1)
    assert _kinds(tmp_path) == {
        0: "full", 3: "delta", 6: "full", 9: "delta", 12: "full", 13: "full",
    }  # fmt: skip


def test_the_end_is_full_where_a_delta_was(tmp_path):
    model = touches.train(tmp_path, [[1], [1], [2]], delta=3, buckets=1)
    assert _kinds(tmp_path) == {0: "full", 3: "full"}
    assert touches.weights(model, [1, 2]) == {1: 0.98, 2: 0.99}
    assert not [n for n in os.listdir(str(tmp_path)) if "temp" in n]


def test_a_chain_at_its_limit(tmp_path):
    hook = touches.hook(tmp_path, delta=1, max_chain_length=3)
    touches.train(tmp_path, [[i] for i in range(7)], hooks=[hook], buckets=1)
    assert [s for s, kind in sorted(_kinds(tmp_path).items()) if kind == "full"] == [0, 3, 6, 7]


def test_more_removals_than_rows(tmp_path):
    many = list(range(1, 3000))
    steps = [many, [1], [-key for key in many], [5]]
    model = touches.train(tmp_path, steps, delta=1, buckets=1)
    assert _kinds(tmp_path) == {0: "full", 1: "delta", 2: "delta", 3: "full", 4: "full"}
    assert touches.weights(model, [1, 5, 2999]) == touches.expected(steps, [1, 5, 2999])


def test_the_estimator_adds_no_saver_hook(tmp_path):
    saves = []

    class Listener(v1.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            saves.append(global_step_value)

    model = touches.estimator(tmp_path, save_every=2, buckets=1)
    model.train(
        touches.inputs([[1]] * 7),
        hooks=[touches.hook(tmp_path, delta=3)],
        saving_listeners=[Listener()],
    )
    assert sorted(_kinds(tmp_path)) == [0, 3, 6, 7]
    assert saves == [0, 3, 6, 7]


@pytest.mark.parametrize("scaffold", [False, True])
@pytest.mark.parametrize("ours_first", [False, True])
def test_a_stock_saver_hook_beside(tmp_path, scaffold, ours_first):
    steps = [[i % 4, 10 + i] for i in range(12)]
    model = touches.estimator(tmp_path, keep=0, buckets=4, scaffold=scaffold)
    ours = touches.hook(tmp_path, delta=2, full=100)
    stock = _StockHook(str(tmp_path), save_steps=5, saver=None if not scaffold else _GraphSaver())
    model.train(touches.inputs(steps), hooks=[ours, stock] if ours_first else [stock, ours])
    found = {v.step: v for v in versions.list_versions(str(tmp_path))}
    assert {s for s, v in found.items() if v.kind == "delta"} >= {2, 4, 6, 8}
    assert found[5].kind == "full"
    assert found[6].parent.endswith("-5")
    keys = list(range(4)) + list(range(10, 22))
    for step, version in found.items():
        versions.chain_of(version.prefix)
        wanted = touches.expected(steps[:step], keys)
        assert touches.weights(model, keys, version.prefix) == wanted


def test_a_saver_beside_deletes_nothing_that_is_needed(tmp_path):
    steps = [[i % 4, 10 + i] for i in range(14)]
    model = touches.estimator(tmp_path, keep=1, buckets=1)
    ours = touches.hook(tmp_path, delta=1, full=100, keep_checkpoint_max=0)
    model.train(touches.inputs(steps), hooks=[ours, _StockHook(str(tmp_path), save_steps=4)])
    kinds = _kinds(tmp_path)
    assert sorted(kinds) == list(range(15))
    assert [s for s in kinds if kinds[s] == "full"] == [0, 4, 8, 12, 14]
    for version in versions.list_versions(str(tmp_path)):
        versions.chain_of(version.prefix)


def test_a_stock_saver_of_a_scaffold(tmp_path):
    def model_fn(features, labels, mode, params):
        spec = touches.model_fn(features, labels, mode, params)
        scaffold = v1.train.Scaffold(saver=v1.train.Saver(max_to_keep=2))
        hook = touches.hook(tmp_path, full=3, delta=1, scaffold=scaffold)
        return spec._replace(scaffold=scaffold, training_chief_hooks=[hook])

    config = tf.estimator.RunConfig(str(tmp_path), log_step_count_steps=None)
    model = tf.estimator.Estimator(model_fn, config=config, params={"buckets": 2})
    steps = [[1], [2], [1, 3], [-2], [4]]
    model.train(touches.inputs(steps))
    assert _kinds(tmp_path) == {3: "full", 4: "delta", 5: "full"}
    reader = touches.estimator(tmp_path, buckets=2)
    for version in versions.list_versions(str(tmp_path)):
        wanted = touches.expected(steps[: version.step], [1, 2, 3, 4])
        assert touches.weights(reader, [1, 2, 3, 4], version.prefix) == wanted


def test_a_scaffold_that_the_hook_does_not_know(tmp_path):
    def model_fn(features, labels, mode, params):
        spec = touches.model_fn(features, labels, mode, params)
        return spec._replace(scaffold=v1.train.Scaffold(saver=v1.train.Saver()))

    config = tf.estimator.RunConfig(str(tmp_path), log_step_count_steps=None)
    model = tf.estimator.Estimator(model_fn, config=config, params={})
    with pytest.raises(RuntimeError, match="Scaffold has a Saver that the hook does not know"):
        model.train(touches.inputs([[1]]), hooks=[touches.hook(tmp_path)])


class _StockHook(v1.train.CheckpointSaverHook):
    """TensorFlow's hook as it is; the name is for the reader of a failure."""


class _GraphSaver:
    """Stands for the Saver of a Scaffold, which is known only once the graph is built."""

    @property
    def _found(self):
        return ep.graph_state.of().savers[0]

    def __getattr__(self, name):
        return getattr(self._found, name)


def test_train_and_evaluate(tmp_path):
    model = touches.estimator(tmp_path, keep=3, buckets=4)
    result, _ = tf.estimator.train_and_evaluate(
        model,
        tf.estimator.TrainSpec(
            touches.inputs([[1, 2]] * 9), hooks=[touches.hook(tmp_path, full=6, delta=2)]
        ),
        tf.estimator.EvalSpec(touches.inputs([[1, 2]]), steps=None, throttle_secs=0),
    )
    assert result["global_step"] == 9
    assert result["mean"] == pytest.approx(0.91, abs=1e-6)
    evaluated = [
        event.step
        for path in tf.io.gfile.glob(str(tmp_path / "eval" / "events*"))
        for event in v1.train.summary_iterator(path)
        if event.HasField("summary")
    ]
    assert sorted(set(evaluated)) == [2, 4, 6, 8, 9]


def test_by_seconds_from_init(tmp_path):
    ep.init(
        train_steps=1,
        is_incremental_checkpoint=True,
        save_checkpoint_due_time=1000,
        save_delta_checkpoints_secs=1,
    )
    slow = _Slow(0.3)
    model = touches.estimator(tmp_path, buckets=1)
    model.train(touches.inputs([[1]] * 10), hooks=[IncrementalSaveHook(model), slow])
    kinds = _kinds(tmp_path)
    assert kinds.pop(0) == "full"
    assert kinds.pop(10) == "full"
    assert 2 <= len(kinds) <= 4
    assert set(kinds.values()) == {"delta"}


class _Slow(v1.train.SessionRunHook):
    def __init__(self, seconds):
        self._seconds = seconds

    def after_run(self, run_context, run_values):
        time.sleep(self._seconds)


def test_a_monitored_session(tmp_path):
    steps = [[1], [2], [3], [1]]
    features = v1.data.make_one_shot_iterator(touches.inputs(steps)()).get_next()
    v1.train.get_or_create_global_step()
    spec = touches.model_fn(features, None, tf.estimator.ModeKeys.TRAIN, {"buckets": 2})
    with v1.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path),
        save_checkpoint_secs=None,
        save_summaries_steps=None,
        log_step_count_steps=None,
        chief_only_hooks=[touches.hook(tmp_path, delta=2)],
    ) as session:
        while not session.should_stop():
            session.run(spec.train_op)
    assert _kinds(tmp_path) == {0: "full", 2: "delta", 4: "full"}


def test_only_the_chief_saves(tmp_path, monkeypatch):
    hook = touches.hook(tmp_path, delta=1)
    monkeypatch.setenv("TF_CONFIG", '{"task": {"type": "worker", "index": 0}}')
    v1.train.get_or_create_global_step()
    hook.begin()
    assert hook.before_run(None) is None
    hook.end(None)
    assert not os.listdir(str(tmp_path))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({}, "give one of save_full_secs and save_full_steps, got None and None"),
        ({"save_full_secs": 1}, "give one of save_delta_secs and save_delta_steps"),
        ({"save_full_secs": 1, "save_full_steps": 1}, "got 1 and 1"),
        ({"save_full_secs": 0, "save_delta_secs": 1}, "save_full_secs must be above 0, got 0"),
        ({"save_full_secs": 1, "save_delta_secs": -1}, "save_delta_secs must be above 0, got -1"),
        ({"save_full_steps": 1.5, "save_delta_secs": 1}, "save_full_steps must be an int, got 1.5"),
        ({"max_chain_length": 0}, "max_chain_length must be an int of at least 1, got 0"),
        ({"keep_checkpoint_max": -1}, "keep_checkpoint_max must be an int of at least 0, got -1"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        IncrementalSaveHook("/tmp/model", **arguments)


def test_no_directory():
    hook = IncrementalSaveHook(save_full_secs=1, save_delta_secs=1)
    with pytest.raises(ValueError, match="checkpoint_dir is needed"):
        hook.begin()


def test_schedule():
    schedule = save_schedule.SaveSchedule(
        save_schedule.timer("x", "full", None, 4), save_schedule.timer("x", "delta", None, 3)
    )
    made = []
    for step in range(12):
        if schedule.should_trigger_for_step(step):
            schedule.update_last_triggered_step(step)
            made.append((step, schedule.wants_delta))
    assert made == [(0, False), (3, True), (4, False), (7, True), (8, False), (11, True)]
    assert schedule.last_triggered_step() == 8

"""NPUEstimator's saver hook and IncrementalSaveHook in one directory: one list of versions."""

import os

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import versions
from tests.hooks import touches
from tests.npu import npu
from tests.plugin import support

v1 = tf.compat.v1
KEYS = list(range(4)) + list(range(10, 26))


@pytest.fixture(autouse=True)
def settings():
    """A job of the Rec SDK begins with it; it is what lets two savers share a directory."""
    ep.init()


def _steps(count):
    return [[i % 4, 10 + i] for i in range(count)]


@pytest.mark.parametrize("scaffold", [False, True])
def test_full_checkpoints_of_the_npu_saver_are_bases(scaffold, tmp_path):
    steps = _steps(12)
    model = npu.estimator(tmp_path, save_every=5, keep=0, buckets=4, scaffold=scaffold)
    model.train(touches.inputs(steps), hooks=[touches.hook(tmp_path, delta=2)])
    assert npu.kinds(tmp_path) == {
        0: "full", 2: "delta", 4: "delta", 5: "full", 6: "delta", 8: "delta", 10: "full",
        12: "full",
    }  # fmt: skip
    found = {v.step: v for v in npu.check_versions(model, steps, KEYS)}
    assert found[6].parent.endswith("-5")
    listed = [versions.step_of(p) for p in versions.recorded(str(tmp_path))]
    assert listed == sorted(found)


def test_retention_is_the_hooks_and_keeps_what_is_needed(tmp_path):
    steps = _steps(16)
    model = npu.estimator(tmp_path, save_every=7, keep=2, buckets=2)
    hook = touches.hook(tmp_path, delta=1, keep_checkpoint_max=4)
    model.train(touches.inputs(steps), hooks=[hook])
    # The newest four are 13, 14, 15 and 16; 13 needs all back to the full checkpoint of step 7.
    wanted = {step: "delta" for step in range(8, 16)}
    wanted.update({7: "full", 14: "full", 16: "full"})
    assert npu.kinds(tmp_path) == wanted
    npu.check_versions(model, steps, KEYS)


@pytest.mark.parametrize("iterations", [2, 5])
def test_several_steps_a_run(iterations, tmp_path):
    steps = _steps(13)
    model = npu.estimator(tmp_path, iterations, save_every=5, keep=0, buckets=2)
    model.train(touches.inputs(steps), hooks=[touches.hook(tmp_path, delta=3)])
    wanted = {
        2: {0: "full", 4: "delta", 6: "full", 8: "delta", 12: "full", 13: "full"},
        5: {0: "full", 5: "full", 10: "full", 13: "full"},
    }
    assert npu.kinds(tmp_path) == wanted[iterations]
    npu.check_versions(model, steps, KEYS)


def test_a_resumed_run_writes_nothing_at_its_start_and_loses_no_version(tmp_path):
    steps = _steps(12)
    for start, stop in ((0, 5), (5, 9), (9, 12)):
        model = npu.estimator(tmp_path, save_every=4, keep=3, buckets=2)
        before = tf.train.latest_checkpoint(str(tmp_path))
        stamp = before and versions.stamp_of(before)
        hook = touches.hook(tmp_path, delta=2)
        probe = _AtStart(lambda b=before: b and versions.stamp_of(b))
        model.train(touches.inputs(steps[start:stop]), hooks=[hook, probe])
        assert probe.seen == stamp
    listed = [versions.step_of(p) for p in versions.recorded(str(tmp_path))]
    assert listed == sorted(npu.kinds(tmp_path))
    assert len(listed) < 8  # What earlier runs listed is deleted when it is due.
    npu.check_versions(model, steps, KEYS)


class _AtStart(v1.train.SessionRunHook):
    """Looks when the session's hooks have all been told of it."""

    def __init__(self, look):
        self._look = look
        self.seen = None
        self._done = False

    def before_run(self, run_context):
        if not self._done:
            self._done, self.seen = True, self._look()


@pytest.mark.parametrize("with_hook", [False, True])
def test_an_older_version_is_gone_on_from_beside_the_newer_ones(with_hook, tmp_path):
    steps = _steps(6)
    model = npu.estimator(tmp_path, save_every=3, keep=0, buckets=2, scaffold=True)
    model.train(touches.inputs(steps), hooks=[touches.hook(tmp_path, delta=1)])
    ep.terminate_config_initializer()
    ep.init(restore_model_version=4)
    model = npu.estimator(tmp_path, save_every=2, keep=0, buckets=2, scaffold=True)
    hooks = [touches.hook(tmp_path, delta=1)] if with_hook else []
    model.train(touches.inputs([[1], [2]]), hooks=hooks)
    ep.terminate_config_initializer()
    for version in versions.list_versions(str(tmp_path)):
        versions.chain_of(version.prefix)
    for step in range(7):
        path = str(tmp_path / ("model.ckpt-%d" % step))
        assert touches.weights(model, KEYS, path) == touches.expected(steps[:step], KEYS)
    latest = tf.train.latest_checkpoint(str(tmp_path))
    assert os.path.basename(latest) == "model.branch-1.ckpt-6"
    assert touches.weights(model, KEYS) == touches.expected(steps[:4] + [[1], [2]], KEYS)


def test_the_last_save_after_the_hook_frees_the_directory(tmp_path):
    class _Later(v1.train.SessionRunHook):
        """Makes one more step than our hook's last save has, as another hook's end may."""

        def end(self, session):
            session.run(session.graph.get_operation_by_name(step_op))

    step_op = "one_more"

    def model_fn(features, labels, mode, params):
        spec = touches.model_fn(features, labels, mode, params)
        if mode == tf.estimator.ModeKeys.TRAIN:
            tf.group(v1.assign_add(v1.train.get_global_step(), 1), name=step_op)
            spec = spec._replace(training_hooks=[_Later()])
        return spec

    model = npu.estimator(tmp_path, save_every=2, keep=0, model_fn=model_fn, buckets=2)
    hooks = [touches.hook(tmp_path, delta=1), _Later()]
    model.train(touches.inputs(_steps(3)), hooks=hooks)
    assert npu.kinds(tmp_path)[4] == "full"
    out = support.run_program(
        "from estimator_plugin.checkpoint.writer_lock import WriterLock\n"
        "WriterLock(%r)\nprint('free')" % str(tmp_path)
    )
    assert out.strip() == "free"


def test_saving_listeners_go_to_the_incremental_hook(tmp_path):
    saves = []

    class Listener(v1.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            saves.append(global_step_value)

    model = npu.estimator(tmp_path, save_every=2, keep=0, buckets=1)
    model.train(
        touches.inputs([[1]] * 7),
        hooks=[touches.hook(tmp_path, delta=3)],
        saving_listeners=[Listener()],
    )
    assert saves == [0, 3, 6, 7]
    assert sorted(npu.kinds(tmp_path)) == [0, 2, 3, 4, 6, 7]


def test_without_init_nothing_of_tensorflow_is_replaced(tmp_path):
    ep.terminate_config_initializer()
    original = v1.train.Saver.save
    model = npu.estimator(tmp_path, save_every=2, buckets=1)
    model.train(touches.inputs([[1]] * 3), hooks=[touches.hook(tmp_path / "own", delta=1)])
    assert v1.train.Saver.save is original

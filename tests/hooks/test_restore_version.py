"""init(restore_model_version=N): training, evaluation and prediction start from version N."""

import os

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import versions
from tests.hooks import touches

_STEPS = [[1], [1, 2], [2, 3], [3], [4, 1], [5]]
_KEYS = [1, 2, 3, 4, 5, 6, 7]


def _model(tmp_path, keep=0, saver="hook"):
    return touches.estimator(tmp_path, keep=keep, buckets=2, scaffold=saver == "scaffold")


def _first_run(tmp_path, keep=0):
    touches.train(tmp_path, _STEPS, full=4, delta=1, keep=keep, buckets=2)


def _init(version):
    ep.terminate_config_initializer()
    ep.init(restore_model_version=version)


@pytest.mark.parametrize("saver", ["scaffold", "hook", "stock"])
@pytest.mark.parametrize("version", [0, 2, 4, 5])
def test_predict_and_evaluate(tmp_path, saver, version):
    _first_run(tmp_path)
    _init(version)
    model = _model(tmp_path, saver=saver)
    hooks = [] if saver == "stock" else [ep.checkpoint.StreamingSaverHook()]
    wanted = touches.expected(_STEPS[:version], _KEYS)
    assert touches.weights(model, _KEYS, hooks=hooks) == wanted
    measured = model.evaluate(touches.inputs([_KEYS]), hooks=hooks)
    assert measured["global_step"] == version
    # An explicit path is what the user wants.
    path = str(tmp_path / "model.ckpt-3")
    assert touches.weights(model, _KEYS, path, hooks) == touches.expected(_STEPS[:3], _KEYS)


def test_training_on_starts_a_chain_of_its_own(tmp_path):
    _first_run(tmp_path)
    before = _contents(tmp_path)
    _init(2)
    model = touches.train(tmp_path, [[6], [6], [7]], full=100, delta=1, keep=2, buckets=2)
    steps = _STEPS[:2] + [[6], [6], [7]]
    assert touches.weights(model, _KEYS) == touches.expected(steps, _KEYS)
    assert {n: c for n, c in _contents(tmp_path).items() if n in before and _step(n) > 2} == {
        n: c for n, c in before.items() if _step(n) > 2
    }
    latest = tf.train.latest_checkpoint(str(tmp_path))
    assert os.path.basename(latest) == "model.branch-1.ckpt-5"
    for step in range(3, 7):
        path = str(tmp_path / ("model.ckpt-%d" % step))
        assert touches.weights(model, _KEYS, path) == touches.expected(_STEPS[:step], _KEYS)

    # Without the setting the next run goes on with the branch, under its names.
    ep.terminate_config_initializer()
    touches.train(tmp_path, [[1]], full=100, delta=1, keep=2, buckets=2)
    latest = tf.train.latest_checkpoint(str(tmp_path))
    assert os.path.basename(latest) == "model.branch-1.ckpt-6"
    assert touches.weights(model, _KEYS) == touches.expected(steps + [[1]], _KEYS)

    # And another start from an old version is another branch.
    _init(4)
    touches.train(tmp_path, [[7]], full=100, delta=1, keep=0, buckets=2)
    latest = tf.train.latest_checkpoint(str(tmp_path))
    assert os.path.basename(latest) == "model.branch-2.ckpt-5"


def test_training_on_with_the_estimators_own_hook(tmp_path):
    _first_run(tmp_path)
    before = _contents(tmp_path)
    _init(3)
    model = touches.estimator(tmp_path, keep=2, save_every=1, buckets=2, scaffold=True)
    model.train(touches.inputs([[7]] * 4))
    after = _contents(tmp_path)
    assert {n: after.get(n) for n in before if _step(n) > 3} == {
        n: c for n, c in before.items() if _step(n) > 3
    }
    latest = tf.train.latest_checkpoint(str(tmp_path))
    assert os.path.basename(latest) == "model.branch-1.ckpt-7"


def test_train_and_evaluate_evaluates_what_was_trained(tmp_path):
    _first_run(tmp_path)
    _init(2)
    model = _model(tmp_path, saver="scaffold")
    result, _ = tf.estimator.train_and_evaluate(
        model,
        tf.estimator.TrainSpec(touches.inputs([[7]] * 3), hooks=[touches.hook(tmp_path, delta=1)]),
        tf.estimator.EvalSpec(touches.inputs([[7]]), steps=None, throttle_secs=0),
    )
    assert result["global_step"] == 5
    assert result["mean"] == pytest.approx(0.97, abs=1e-6)


def test_max_steps_that_the_newest_version_has_reached(tmp_path):
    _first_run(tmp_path)
    _init(2)
    model = _model(tmp_path)
    for _ in range(2):  # The second time it is the branch that has reached them.
        hooks = [touches.hook(tmp_path, delta=1)]
        model.train(touches.inputs([[7]] * 9), max_steps=len(_STEPS), hooks=hooks)
        latest = tf.train.latest_checkpoint(str(tmp_path))
        assert os.path.basename(latest) == "model.branch-1.ckpt-6"
    assert touches.weights(model, _KEYS) == touches.expected(_STEPS[:2] + [[7]] * 4, _KEYS)


def test_max_steps_and_a_version_that_is_not_there(tmp_path):
    _first_run(tmp_path)
    _init(9)
    with pytest.raises(ValueError, match="no version 9; it has 0, 1, 2, 3, 4, 5, 6"):
        _model(tmp_path).train(touches.inputs([[7]]), max_steps=len(_STEPS))


@pytest.mark.parametrize("version", [9, 2**31 - 1])
def test_a_version_that_is_not_there(tmp_path, version):
    _first_run(tmp_path)
    before = _contents(tmp_path)
    _init(version)
    message = "no version %d; it has 0, 1, 2, 3, 4, 5, 6" % version
    model = _model(tmp_path, saver="scaffold")
    with pytest.raises(ValueError, match=message):
        model.evaluate(touches.inputs([_KEYS]))
    with pytest.raises(ValueError, match=message):
        touches.weights(model, _KEYS)
    with pytest.raises(ValueError, match=message):
        touches.train(tmp_path, [[1]], delta=1, buckets=2)
    assert _contents(tmp_path) == before


def test_an_empty_directory(tmp_path):
    _init(3)
    with pytest.raises(ValueError, match="no version 3, nor any other"):
        touches.train(tmp_path, [[1]], delta=1, buckets=2)


@pytest.mark.parametrize("version", [-1, 2**31, 1.5, "3"])
def test_wrong_values(version):
    with pytest.raises(ValueError, match="restore_model_version"):
        ep.init(restore_model_version=version)


def test_the_versions_of_a_directory_with_branches(tmp_path):
    _first_run(tmp_path)
    _init(2)
    touches.train(tmp_path, [[7]], full=100, delta=1, buckets=2)
    found = [os.path.basename(v.prefix) for v in versions.list_versions(str(tmp_path))]
    assert [n for n in found if n.endswith(("-2", "-3"))] == [
        "model.ckpt-2",
        "model.branch-1.ckpt-2",
        "model.ckpt-3",
        "model.branch-1.ckpt-3",
    ]


def _contents(directory):
    contents = {}
    for name in os.listdir(str(directory)):
        if name.startswith("model.") and not name.endswith(".meta"):
            with open(os.path.join(str(directory), name), "rb") as file:
                contents[name] = file.read()
    return contents


def _step(name):
    return int(name.split("-")[-1].split(".")[0]) if name.endswith(".index") else _data_step(name)


def _data_step(name):
    return int(name.split(".data")[0].split("-")[-1])

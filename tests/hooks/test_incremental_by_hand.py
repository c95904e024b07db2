"""Every version of a run has, for every key, the value that arithmetic says."""

import os

import pytest
import tensorflow as tf

from estimator_plugin.checkpoint import versions
from tests.hooks import touches

_PHASES = [
    [1, 2, 3, 4],
    [3, 4, 5, 5],
    [6, 7, 8, 9],
    [1, 9, 9, 10],
    [11],
    [2, 3, -4, -9],
    [4, 12, 1],
    [100, -6, -7, -8],
]
_KEYS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 100, 101]


@pytest.mark.parametrize("buckets", [1, 64])
@pytest.mark.parametrize("saver", ["stock", "streaming"])
def test_each_version_by_evaluate_and_predict(tmp_path, buckets, saver):
    params = {"buckets": buckets, "scaffold": saver == "streaming"}
    model = touches.train(tmp_path, _PHASES, full=5, delta=1, **params)
    kinds = [(v.step, v.kind) for v in versions.list_versions(str(tmp_path))]
    assert kinds == [
        (step, "full" if step in (0, 5, len(_PHASES)) else "delta")
        for step in range(len(_PHASES) + 1)
    ]
    for step in range(len(_PHASES) + 1):
        path = os.path.join(str(tmp_path), "model.ckpt-%d" % step)
        wanted = touches.expected(_PHASES[:step], _KEYS)
        assert touches.weights(model, _KEYS, path) == wanted
        measured = model.evaluate(touches.inputs([_KEYS]), checkpoint_path=path)
        assert measured["mean"] == pytest.approx(sum(wanted.values()) / len(_KEYS), abs=1e-6)
        assert measured["global_step"] == step


@pytest.mark.parametrize("buckets", [1, 64])
def test_a_run_per_phase(tmp_path, buckets):
    for phase in range(len(_PHASES)):
        model = touches.train(tmp_path, [_PHASES[phase]], full=10**6, delta=1, buckets=buckets)
        wanted = touches.expected(_PHASES[: phase + 1], _KEYS)
        assert touches.weights(model, _KEYS) == wanted


def test_a_delta_has_only_what_changed(tmp_path):
    touches.train(tmp_path, _PHASES, full=100, delta=1, buckets=1)
    reader = tf.train.load_checkpoint(os.path.join(str(tmp_path), "model.ckpt-6"))
    assert sorted(reader.get_tensor("t/bucket-0/keys")) == [2, 3]
    assert sorted(reader.get_tensor("t/bucket-0/removed")) == [4, 9]
    assert reader.get_tensor("dense") == 6.0


def test_export_from_a_delta(tmp_path):
    model = touches.train(tmp_path / "model", _PHASES[:6], full=100, delta=1)
    # The end of training is a full checkpoint; step 5 is a delta.
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"ids": tf.compat.v1.placeholder(tf.int64, [None], "ids")}
    )
    path = model.export_saved_model(
        str(tmp_path / "export"),
        receiver,
        checkpoint_path=str(tmp_path / "model" / "model.ckpt-5"),
    )
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        loaded = tf.compat.v1.saved_model.load(session, ["serve"], tf.compat.as_str_any(path))
        signature = loaded.signature_def["serving_default"]
        found = session.run(signature.outputs["weight"].name, {signature.inputs["ids"].name: _KEYS})
    wanted = touches.expected(_PHASES[:5], _KEYS)
    assert {key: round(float(w), 6) for key, w in zip(_KEYS, found)} == wanted

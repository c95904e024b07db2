"""Every model: trains on a learnable signal, evaluates, predicts, exports."""

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.docs.code_blocks import ROOT
from tests.model_fns import serve, synthetic

fns = ep.model_fns
SMALL = fns.MlpConfig((32, 16))


def make(model, embedding="hash_table", **kwargs):
    options = fns.ModelOptions(embedding=embedding)
    if model == "dlrm":
        return fns.dlrm(synthetic.features(), top=SMALL, options=options, **kwargs)
    return getattr(fns, model)(synthetic.features(), mlp=SMALL, options=options, **kwargs)


MODELS = ("wide_and_deep", "deepfm", "dcn_v2", "dlrm")


@pytest.mark.parametrize("embedding", ["hash_table", "variable"])
@pytest.mark.parametrize("model", MODELS)
def test_learns_evaluates_and_predicts(model, embedding, tmp_path):
    estimator = synthetic.estimator(make(model, embedding), tmp_path)
    estimator.train(synthetic.input_fn(), steps=200)
    metrics = estimator.evaluate(synthetic.input_fn(epochs=1))
    _, labels = synthetic.arrays()
    base = synthetic.base_rate_loss(labels)
    assert metrics["global_step"] == 200
    assert metrics["log_loss"] < 0.5 * base
    assert metrics["loss"] == pytest.approx(metrics["log_loss"], rel=1e-4)
    assert metrics["auc"] > 0.95
    assert metrics["label_mean"] == pytest.approx(labels.mean(), abs=1e-5)
    predictions = list(estimator.predict(synthetic.input_fn(epochs=1)))
    assert len(predictions) == synthetic.EXAMPLES
    probabilities = np.array([p["probabilities"] for p in predictions])
    logits = np.array([p["logits"] for p in predictions])
    np.testing.assert_allclose(probabilities, 1 / (1 + np.exp(-logits)), rtol=1e-5)
    assert probabilities.mean() == pytest.approx(metrics["prediction_mean"], abs=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_exported_model_serves_the_same_predictions(model, tmp_path):
    estimator = synthetic.estimator(make(model), tmp_path / "model")
    estimator.train(synthetic.input_fn(), steps=20)
    receiver = fns.serving_input_receiver_fn(synthetic.features())
    path = estimator.export_saved_model(str(tmp_path / "export"), receiver)
    features, _ = synthetic.arrays()
    rows = {name: values[:50] for name, values in features.items()}
    rows["user"] = rows["user"].copy()
    rows["user"][0] = 999999  # Never trained on: serving must not fail, and reads zeros.
    served = _serve(path.decode(), rows)
    expected = list(
        estimator.predict(lambda: tf.data.Dataset.from_tensors(rows), yield_single_examples=False)
    )[0]
    assert sorted(served) == ["logits", "probabilities"]
    for name in served:
        assert served[name].shape == (50,)
        np.testing.assert_allclose(served[name], expected[name], rtol=1e-5, atol=1e-6)


def _serve(path, rows):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        loaded = tf.compat.v1.saved_model.load(session, ["serve"], path)
        signature = loaded.signature_def["serving_default"]
        feed = {signature.inputs[name].name: values for name, values in rows.items()}
        outputs = {name: info.name for name, info in signature.outputs.items()}
        return session.run(outputs, feed)


def test_exported_model_serves_in_another_process(tmp_path):
    """With TensorFlow 2's loader, as a Python server would."""
    estimator = synthetic.estimator(make("deepfm"), tmp_path / "model")
    estimator.train(synthetic.input_fn(), steps=20)
    receiver = fns.serving_input_receiver_fn(synthetic.features())
    path = estimator.export_saved_model(str(tmp_path / "export"), receiver).decode()
    output = str(tmp_path / "logits.npy")
    command = [sys.executable, "-m", "tests.model_fns.serve", path, output]
    subprocess.run(command, check=True, cwd=ROOT)
    expected = [p["logits"] for p in estimator.predict(synthetic.input_fn(epochs=1))]
    np.testing.assert_allclose(np.load(output), expected[: serve.EXAMPLES], rtol=1e-4, atol=1e-5)


def test_features_of_one_table_share_its_rows(tmp_path):
    estimator = synthetic.estimator(make("dcn_v2"), tmp_path)
    estimator.train(synthetic.input_fn(), steps=10)
    checkpoint = estimator.latest_checkpoint()
    assert ep.checkpoint.table_names(checkpoint) == ["color", "item", "user"]
    keys = ep.checkpoint.read_table(checkpoint, "item").keys
    assert sorted(keys) == sorted(synthetic.ITEM_IDS)


def test_first_order_weights_have_tables_of_their_own(tmp_path):
    estimator = synthetic.estimator(make("deepfm"), tmp_path)
    estimator.train(synthetic.input_fn(), steps=10)
    checkpoint = estimator.latest_checkpoint()
    linear = ["colors_linear", "history_linear", "item_linear", "user_linear"]
    assert ep.checkpoint.table_names(checkpoint) == ["color"] + sorted(linear + ["item", "user"])
    assert ep.checkpoint.read_table(checkpoint, "user_linear").embeddings.shape == (50, 1)


def test_evaluation_and_prediction_insert_nothing(tmp_path):
    estimator = synthetic.estimator(make("dcn_v2"), tmp_path)

    def few():
        five = tf.nest.map_structure(lambda v: v[:5], synthetic.arrays())
        return tf.data.Dataset.from_tensors(tuple(five))

    estimator.train(few, steps=1)
    rows = ep.checkpoint.read_table(estimator.latest_checkpoint(), "user").keys.size
    estimator.evaluate(synthetic.input_fn(epochs=1))
    list(estimator.predict(synthetic.input_fn(epochs=1)))
    estimator.train(few, steps=1)
    assert ep.checkpoint.read_table(estimator.latest_checkpoint(), "user").keys.size == rows


def test_low_rank_cross_network_learns(tmp_path):
    model_fn = make("dcn_v2", cross=fns.CrossConfig(layers=3, rank=4))
    estimator = synthetic.estimator(model_fn, tmp_path)
    estimator.train(synthetic.input_fn(), steps=200)
    assert estimator.evaluate(synthetic.input_fn(epochs=1))["auc"] > 0.95
    shapes = {
        name: estimator.get_variable_value(name).shape
        for name in estimator.get_variable_names()
        if name.startswith("cross/layer_2/kernel") and "Adam" not in name
    }
    assert shapes == {"cross/layer_2/kernel_v": (34, 4), "cross/layer_2/kernel_u": (4, 34)}


@pytest.mark.parametrize("model", ["deepfm", "dlrm"])
def test_models_that_multiply_need_one_dim(model, tmp_path):
    features = [
        fns.CategoricalFeature("user", fns.TableSpec("user", 8)),
        fns.CategoricalFeature("item", fns.TableSpec("item", 4)),
    ]
    estimator = synthetic.estimator(getattr(fns, model)(features), tmp_path)
    with pytest.raises(ValueError, match="all tables must have the same dim; got user=8, item=4"):
        estimator.train(synthetic.input_fn(), steps=1)


@pytest.mark.parametrize("model", ["wide_and_deep", "dcn_v2"])
def test_other_models_mix_dims(model, tmp_path):
    features = [
        fns.CategoricalFeature("user", fns.TableSpec("user", 8)),
        fns.CategoricalFeature("item", fns.TableSpec("item", 4)),
    ]
    estimator = synthetic.estimator(getattr(fns, model)(features), tmp_path)
    estimator.train(synthetic.input_fn(), steps=2)
    assert estimator.get_variable_value("global_step") == 2


def test_dlrm_without_numbers_has_no_bottom(tmp_path):
    features = [f for f in synthetic.features() if isinstance(f, fns.CategoricalFeature)]
    estimator = synthetic.estimator(fns.dlrm(features, top=SMALL), tmp_path)
    estimator.train(synthetic.input_fn(), steps=2)
    assert not [n for n in estimator.get_variable_names() if n.startswith("bottom")]


def test_dlrm_needs_two_fields(tmp_path):
    features = [fns.CategoricalFeature("user", fns.TableSpec("user", 8))]
    with pytest.raises(ValueError, match="at least two fields"):
        synthetic.estimator(fns.dlrm(features), tmp_path).train(synthetic.input_fn(), steps=1)


@pytest.mark.parametrize("values", [{"layers": 0}, {"rank": 0}, {"l2": -1.0}])
def test_bad_cross_config(values):
    (field,) = values
    with pytest.raises(ValueError, match="CrossConfig: %s must" % field):
        fns.CrossConfig(**values)

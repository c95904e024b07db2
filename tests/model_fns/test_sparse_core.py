"""Models on stacked tables: the same model as on variables of the same rows, in every mode."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.model_fns import synthetic

fns = ep.model_fns
SMALL = fns.MlpConfig((16,))
CONSTANT = tf.compat.v1.constant_initializer(0.05)
SMALLER_BATCH = 72
OPTIMIZERS = fns.Optimizers(
    sparse=lambda: ep.optimizers.adagrad.create_hash_optimizer(0.5, 0.1),
    variable=lambda: tf.compat.v1.train.AdagradOptimizer(0.5, 0.1),
    sparse_core=lambda: ep.sparse_core.Adagrad(0.5, 0.1),
)


def features(initializer=None, **item):
    items = fns.TableSpec("item", 8, initializer, variable_rows=997)
    return [
        fns.CategoricalFeature("user", fns.TableSpec("user", 8, initializer, 50)),
        fns.CategoricalFeature("item", items, **item),
        fns.CategoricalFeature("history", items, combiner="mean"),
        fns.CategoricalFeature(
            "colors", fns.TableSpec("color", 8, initializer, 31), "sum", tf.string
        ),
        fns.NumericFeature("numbers", 2),
    ]


def options(embedding="sparse_core", **settings):
    sparse_core = None
    if embedding == "sparse_core":
        sparse_core = fns.SparseCoreOptions(**dict({"batch_size": synthetic.BATCH}, **settings))
    return fns.ModelOptions(embedding=embedding, optimizers=OPTIMIZERS, sparse_core=sparse_core)


def make(model, inputs, chosen):
    if model == "dlrm":
        return fns.dlrm(inputs, top=SMALL, options=chosen)
    return getattr(fns, model)(inputs, mlp=SMALL, options=chosen)


def evaluated(estimator, batch=synthetic.BATCH):
    return estimator.evaluate(synthetic.input_fn(epochs=1, batch=batch, seed=5))


@pytest.mark.parametrize("model", ["dlrm", "deepfm", "wide_and_deep", "dcn_v2"])
def test_learns_what_variables_learn(tmp_path, model):
    losses = []
    for embedding in ("variable", "sparse_core"):
        model_fn = make(model, features(CONSTANT), options(embedding))
        estimator = synthetic.estimator(model_fn, tmp_path / embedding)
        estimator.train(synthetic.input_fn(), steps=20)
        losses.append(evaluated(estimator)["loss"])
    assert losses[1] == pytest.approx(losses[0], 1e-3)


@pytest.mark.parametrize("topology", [(2, 2), (4, 1), (1, 8)])
def test_goes_on_in_another_topology_with_batches_of_another_size(tmp_path, topology):
    model_fn = make("deepfm", features(), options())
    synthetic.estimator(model_fn, tmp_path).train(synthetic.input_fn(), steps=20)
    expected = evaluated(synthetic.estimator(model_fn, tmp_path))
    other = options(
        num_replicas=topology[0],
        num_sc_per_chip=topology[1],
        evaluation_batch_size=synthetic.EXAMPLES,
    )
    estimator = synthetic.estimator(make("deepfm", features(), other), tmp_path)
    assert evaluated(estimator, SMALLER_BATCH)["loss"] == pytest.approx(expected["loss"], 1e-2)
    assert evaluated(estimator)["loss"] == pytest.approx(expected["loss"], 1e-5)
    estimator.train(synthetic.input_fn(), steps=5)
    assert estimator.get_variable_value("global_step") == 25


def test_small_batches_train_as_on_variables(tmp_path):
    losses = []
    for embedding in ("variable", "sparse_core"):
        model_fn = make("dlrm", features(CONSTANT), options(embedding))
        estimator = synthetic.estimator(model_fn, tmp_path / embedding)
        estimator.train(synthetic.input_fn(batch=SMALLER_BATCH), steps=10)
        losses.append(evaluated(estimator)["loss"])
    assert losses[1] == pytest.approx(losses[0], 1e-3)


def test_predicts_and_exports(tmp_path):
    inputs = features()
    estimator = synthetic.estimator(make("dlrm", inputs, options()), tmp_path / "model")
    estimator.train(synthetic.input_fn(), steps=5)
    predicted = [p["logits"] for p in estimator.predict(synthetic.input_fn(epochs=1))]
    receiver = fns.serving_input_receiver_fn(inputs)
    path = estimator.export_saved_model(str(tmp_path / "export"), receiver).decode()
    arrays, _ = synthetic.arrays()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        loaded = tf.compat.v1.saved_model.load(session, ["serve"], path)
        signature = loaded.signature_def["serving_default"]
        feed = {t.name: arrays[name][:3] for name, t in signature.inputs.items()}
        served = session.run(signature.outputs["logits"].name, feed)
    np.testing.assert_allclose(served, predicted[:3], rtol=1e-5, atol=1e-6)


def test_pipelined_updates_differ_and_learn(tmp_path):
    losses = []
    for pipelined in (False, True):
        model_fn = make("dlrm", features(), options(pipelined=pipelined))
        estimator = synthetic.estimator(model_fn, tmp_path / str(pipelined))
        estimator.train(synthetic.input_fn(), steps=40)
        losses.append(evaluated(estimator)["loss"])
    assert losses[0] != losses[1]
    assert max(losses) < synthetic.base_rate_loss(synthetic.arrays(5)[1])


def test_a_checkpoint_lacks_no_late_update(tmp_path):
    slots = []
    for pipelined in (False, True):
        model_fn = make("dlrm", features(CONSTANT), options(pipelined=pipelined))
        estimator = synthetic.estimator(model_fn, tmp_path / str(pipelined))
        estimator.train(synthetic.input_fn(), steps=1)
        accumulators = [n for n in estimator.get_variable_names() if n.endswith("accumulators")]
        assert accumulators
        slots.append([estimator.get_variable_value(name) for name in sorted(accumulators)])
        assert any(np.any(value != np.float32(0.1)) for value in slots[-1])
    for prompt, late in zip(*slots):
        np.testing.assert_allclose(late, prompt, rtol=1e-5)


def test_a_batch_above_batch_size_is_an_error(tmp_path):
    model_fn = make("dlrm", features(), options(batch_size=64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="batch_size of SparseCoreOptions, 64"):
        synthetic.estimator(model_fn, tmp_path).train(synthetic.input_fn(), steps=1)


@pytest.mark.parametrize("field, value", [("access_threshold", 2), ("eviction_threshold", 5)])
def test_what_needs_growing_tables_is_refused(field, value):
    with pytest.raises(ValueError, match="CategoricalFeature 'item': %s" % field):
        make("dlrm", features(**{field: value}), options())


def test_eviction_of_a_table_is_refused():
    table = fns.TableSpec("user", 8, eviction=ep.eviction.RowBudget(10))
    with pytest.raises(ValueError, match="TableSpec 'user': eviction"):
        make("dlrm", [fns.CategoricalFeature("user", table)], options())


def test_two_combiners_of_a_table_are_refused():
    with pytest.raises(ValueError, match="'history': combiner 'mean', but table 'item' has 'sum'"):
        make("dlrm", features(combiner="sum"), options())


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"embedding": "sparse_core"}, "needs sparse_core=SparseCoreOptions"),
        ({"sparse_core": fns.SparseCoreOptions(8)}, "is for embedding"),
        ({"modify_graph": True}, "modify_graph needs tables that grow"),
        ({"timestamp_feature": "time"}, "timestamp_feature needs tables that grow"),
    ],
)
def test_options_that_do_not_fit(settings, message):
    if "modify_graph" in settings or "timestamp_feature" in settings:
        settings = dict(settings, embedding="sparse_core", sparse_core=fns.SparseCoreOptions(8))
    with pytest.raises(ValueError, match=message):
        fns.ModelOptions(**settings)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 6}, "a multiple of 4"),
        ({"batch_size": 8, "evaluation_batch_size": 6}, "evaluation_batch_size.*multiple of 4"),
        ({"batch_size": 8, "pipelined": 1}, "pipelined"),
        ({"batch_size": 8, "config": {}}, "config"),
        ({"batch_size": 12, "num_replicas": 3}, "power of two"),
    ],
)
def test_bad_options(settings, message):
    with pytest.raises(ValueError, match=message):
        fns.SparseCoreOptions(**settings)

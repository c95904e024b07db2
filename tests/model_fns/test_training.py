"""What the builder promises of a training run, whatever the model."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.model_fns import towers
from tests.model_fns import synthetic

fns = ep.model_fns
SMALL = fns.MlpConfig((16,))
FAST = fns.Optimizers(
    sparse=lambda: ep.optimizers.adagrad.create_hash_optimizer(0.5, 0.1),
    variable=lambda: tf.compat.v1.train.AdagradOptimizer(0.5, 0.1),
)


def model_fn(**options):
    return fns.deepfm(synthetic.features(), mlp=SMALL, options=fns.ModelOptions(**options))


def content(checkpoint):
    """Everything in a checkpoint, tables as rows by key."""
    reader = tf.train.load_checkpoint(checkpoint)
    tables = ep.checkpoint.table_names(checkpoint)
    found = {}
    for name in reader.get_variable_to_shape_map():
        if name.split("/")[0] not in tables:
            found[name] = reader.get_tensor(name)
    for name in tables:
        rows = ep.checkpoint.read_table(checkpoint, name)
        order = np.argsort(rows.keys)
        found[name] = [rows.keys[order], rows.embeddings[order]]
        found[name] += [slot[order] for slot in rows.slots.values()]
    return found


def test_resume_is_the_same_as_no_stop(tmp_path):
    one_batch = synthetic.input_fn(batch=synthetic.EXAMPLES)
    whole = synthetic.estimator(model_fn(), tmp_path / "whole")
    whole.train(one_batch, max_steps=12)
    for steps in (5, 12):
        halves = synthetic.estimator(model_fn(), tmp_path / "halves")
        halves.train(one_batch, max_steps=steps)
    expected, found = content(whole.latest_checkpoint()), content(halves.latest_checkpoint())
    assert sorted(expected) == sorted(found)
    for name in expected:
        np.testing.assert_equal(found[name], expected[name], err_msg=name)


def test_train_and_evaluate(tmp_path):
    estimator = synthetic.estimator(
        model_fn(), tmp_path, save_checkpoints_steps=40, keep_checkpoint_max=2
    )
    metrics, _ = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(synthetic.input_fn(), max_steps=200),
        tf.estimator.EvalSpec(
            synthetic.input_fn(epochs=1, seed=5), steps=None, start_delay_secs=0, throttle_secs=0
        ),
    )
    assert metrics["global_step"] == 200
    assert metrics["auc"] > 0.9
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert len(state.all_model_checkpoint_paths) == 2
    assert (
        not state.all_model_checkpoint_paths[0].startswith("/")
        or str(tmp_path) in (state.all_model_checkpoint_paths[0])
    )
    assert list((tmp_path / "eval").glob("events*"))


def test_summaries_have_the_rows_of_each_table(tmp_path):
    estimator = synthetic.estimator(model_fn(), tmp_path, save_summary_steps=5)
    estimator.train(synthetic.input_fn(), steps=11)
    rows = {}
    for path in tmp_path.glob("events*"):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                rows[value.tag] = value.simple_value
    assert rows["rows/user"] == synthetic.USERS
    assert rows["rows/item"] == synthetic.ITEMS
    assert "loss" in rows


def test_learning_rates_may_be_tensors(tmp_path):
    def rate():
        step = tf.compat.v1.train.get_or_create_global_step()
        return tf.compat.v1.train.exponential_decay(0.1, step, 10, 0.5)

    optimizers = fns.Optimizers(
        dense=lambda: tf.compat.v1.train.GradientDescentOptimizer(rate()),
        sparse=lambda: ep.optimizers.lazy_adam.create_hash_optimizer(rate()),
    )
    estimator = synthetic.estimator(model_fn(optimizers=optimizers), tmp_path)
    estimator.train(synthetic.input_fn(), steps=30)
    assert estimator.get_variable_value("global_step") == 30
    assert estimator.evaluate(synthetic.input_fn(epochs=1))["auc"] > 0.8


def test_embedding_l2_makes_embeddings_smaller(tmp_path):
    norms = []
    for l2 in (0.0, 1.0):
        options = {"embedding_l2": l2, "optimizers": FAST}
        estimator = synthetic.estimator(model_fn(**options), tmp_path / str(l2))
        estimator.train(synthetic.input_fn(), steps=50)
        rows = ep.checkpoint.read_table(estimator.latest_checkpoint(), "user")
        norms.append(np.abs(rows.embeddings).mean())
    assert norms[1] < 0.5 * norms[0]


def test_dense_l2_and_dropout_train(tmp_path):
    mlp = fns.MlpConfig((16,), "tanh", dropout=0.3, l2=0.01)
    estimator = synthetic.estimator(fns.deepfm(synthetic.features(), mlp=mlp), tmp_path)
    estimator.train(synthetic.input_fn(), steps=100)
    metrics = estimator.evaluate(synthetic.input_fn(epochs=1))
    assert metrics["auc"] > 0.8
    assert metrics["loss"] == pytest.approx(metrics["log_loss"], rel=1e-4)


def test_ids_in_every_form_train_the_same_model(tmp_path):
    """Dense with padding, sparse and ragged histories are one and the same."""

    def as_sparse(ids):
        present = tf.where(tf.not_equal(ids, -1))
        return tf.SparseTensor(present, tf.gather_nd(ids, present), tf.shape(ids, tf.int64))

    def as_ragged(ids):
        return tf.ragged.boolean_mask(ids, tf.not_equal(ids, -1))

    losses = []
    for form in (lambda ids: ids, as_sparse, as_ragged):

        def input_fn(form=form):
            def convert(features, labels):
                return dict(features, history=form(features["history"])), labels

            return synthetic.input_fn()().map(convert)

        model = fns.build_model_fn(_fm_network, _constant_features(), first_order=True)
        estimator = synthetic.estimator(model, tmp_path / str(len(losses)))
        estimator.train(input_fn, steps=20)
        losses.append(estimator.evaluate(synthetic.input_fn(epochs=1))["log_loss"])
    np.testing.assert_allclose(losses, losses[0], rtol=1e-5)


def test_tables_and_variables_train_the_same_model(tmp_path):
    """With the same start and the same Adagrad, growing tables equal variables."""
    predictions = []
    for embedding in ("hash_table", "variable"):
        options = fns.ModelOptions(embedding=embedding, optimizers=FAST)
        model = fns.build_model_fn(_fm_network, _constant_features(), options, first_order=True)
        estimator = synthetic.estimator(model, tmp_path / embedding)
        estimator.train(synthetic.input_fn(), steps=50)
        found = estimator.predict(synthetic.input_fn(epochs=1))
        predictions.append([p["logits"] for p in found])
    np.testing.assert_allclose(predictions[0], predictions[1], rtol=1e-3, atol=1e-4)
    assert np.std(predictions[0]) > 0.5


def _fm_network(inputs, training):
    """A network without variables of its own, so without random starts."""
    del training
    return inputs.linear_logit() + towers.factorization_machine(inputs.stacked())


def _constant_features():
    start = tf.compat.v1.constant_initializer(0.1)
    # 1,000,003 rows: no two of the few ids meet in one row of the variable.
    items = fns.TableSpec("item", 4, start, variable_rows=1000003)
    return [
        fns.CategoricalFeature("user", fns.TableSpec("user", 4, start)),
        fns.CategoricalFeature("item", items),
        fns.CategoricalFeature("history", items, combiner="mean"),
    ]


def test_weights_choose_the_examples(tmp_path):
    """Examples of weight zero might as well not be there."""

    def input_fn():
        def weigh(features, labels):
            even = tf.equal(features["user"] % 2, 0)
            return dict(features, weight=tf.cast(even, tf.float32)), tf.where(
                even, labels, 1 - labels
            )

        return synthetic.input_fn(epochs=40)().map(weigh)

    head = fns.BinaryHead(weight_feature="weight")
    estimator = synthetic.estimator(model_fn(head=head), tmp_path)
    estimator.train(input_fn)
    assert estimator.evaluate(input_fn, steps=10)["auc"] > 0.95


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda f, y: ({"user": f["user"]}, y), "feature 'item' is missing from the input"),
        (lambda f, y: (f, tf.stack([y, y], axis=1)), r"labels must be \[batch\] or \[batch, 1\]"),
        (lambda f, y: (dict(f, user=f["numbers"]), y), "ids must be int64, int32 or string"),
        (lambda f, y: (dict(f, user=f["history"]), y), "give the feature a combiner"),
    ],
)
def test_bad_input_is_named(change, message, tmp_path):
    estimator = synthetic.estimator(model_fn(), tmp_path)
    with pytest.raises(ValueError, match=message):
        estimator.train(lambda: synthetic.input_fn()().map(change), steps=1)


def test_labels_that_are_no_clicks_are_refused(tmp_path):
    estimator = synthetic.estimator(model_fn(), tmp_path)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"click labels must be in \[0, 1\]"):
        estimator.train(lambda: synthetic.input_fn()().map(lambda f, y: (f, 5 * y)), steps=1)


def test_regression_head(tmp_path):
    def input_fn():
        return synthetic.input_fn(40)().map(lambda f, y: (f, 3 * y + f["numbers"][:, 1]))

    estimator = synthetic.estimator(model_fn(head=fns.RegressionHead()), tmp_path)
    estimator.train(input_fn)
    metrics = estimator.evaluate(input_fn, steps=10)
    assert metrics["rmse"] < 1.0
    assert metrics["loss"] == pytest.approx(metrics["rmse"] ** 2, rel=1e-3)
    assert list(next(iter(estimator.predict(input_fn)))) == ["predictions"]

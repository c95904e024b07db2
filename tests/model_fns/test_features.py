"""Feature and table descriptions: what is accepted, and what each refusal says."""

import dataclasses

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.model_fns.features import split_features

fns = ep.model_fns
USER = fns.TableSpec("user", 8)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: fns.TableSpec("", 8), "TableSpec: name is empty"),
        (lambda: fns.TableSpec("t", 0), "TableSpec 't': dim must be an int from 1 to 8192, got 0"),
        (lambda: fns.TableSpec("t", 8193), "dim must be an int from 1 to 8192, got 8193"),
        (lambda: fns.TableSpec("t", 2.0), "dim must be an int from 1 to 8192, got 2.0"),
        (lambda: fns.TableSpec("t", True), "dim must be an int from 1 to 8192, got True"),
        (lambda: fns.TableSpec("t", 8, 0.1), "initializer must be a TensorFlow initializer"),
        (lambda: fns.TableSpec("t", 8, None, 0), "variable_rows must be an int of at least 1"),
        (lambda: fns.CategoricalFeature("", USER), "CategoricalFeature: name is empty"),
        (lambda: fns.CategoricalFeature("a", "user"), "table must be a TableSpec, got 'user'"),
        (lambda: fns.CategoricalFeature("a", USER, "max"), "one of sum, mean, sqrtn, got 'max'"),
        (lambda: fns.CategoricalFeature("a", USER, None, tf.float32), "dtype must be tf.int64"),
        (lambda: fns.CategoricalFeature("a", USER, access_threshold=-2), "'a': access_threshold"),
        (lambda: fns.CategoricalFeature("a", USER, eviction_threshold=0.5), "'a': eviction_thresh"),
        (lambda: fns.CategoricalFeature("a", USER, faae_coefficient=0), "'a': faae_coefficient"),
        (lambda: fns.TableSpec("t", 8, admission="exact"), "TableSpec 't': admission must be"),
        (lambda: fns.TableSpec("t", 8, eviction="old"), "TableSpec 't': eviction must be"),
        (lambda: fns.ModelOptions(timestamp_feature=3), "timestamp_feature must be None or"),
        (lambda: fns.ModelOptions(modify_graph="yes"), "modify_graph must be True or False"),
        (lambda: fns.NumericFeature(""), "NumericFeature: name is empty"),
        (lambda: fns.NumericFeature("x", 0), "size must be an int of at least 1, got 0"),
        (lambda: fns.NumericFeature("x", 1, "log"), "transform must be callable, got 'log'"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_settings_are_frozen():
    for settings in (USER, fns.NumericFeature("x"), fns.MlpConfig(), fns.ModelOptions()):
        with pytest.raises(dataclasses.FrozenInstanceError):
            settings.name = "other"


def test_split_keeps_order():
    a, b = fns.CategoricalFeature("a", USER), fns.CategoricalFeature("b", USER)
    x, y = fns.NumericFeature("x"), fns.NumericFeature("y")
    assert split_features((y, b, x, a)) == ([b, a], [y, x])


def test_features_of_a_table_share_thresholds():
    a = fns.CategoricalFeature("a", USER)
    b = fns.CategoricalFeature(
        "b", USER, access_threshold=3, eviction_threshold=9, faae_coefficient=2
    )
    c = fns.CategoricalFeature("c", fns.TableSpec("other", 4))
    (a, b, c), _ = split_features([a, b, c])
    assert (a.access_threshold, a.eviction_threshold, a.faae_coefficient) == (3, 9, 2)
    assert (c.access_threshold, c.eviction_threshold, c.faae_coefficient) == (None, None, 1)


@pytest.mark.parametrize(
    "features, message",
    [
        (
            [
                fns.CategoricalFeature("a", USER, access_threshold=2),
                fns.CategoricalFeature("b", USER, access_threshold=3),
            ],
            "table 'user': thresholds must be the same",
        ),
        ([], "features is empty"),
        (["a"], "must hold CategoricalFeature and NumericFeature objects, got 'a'"),
        ([fns.NumericFeature("x"), fns.CategoricalFeature("x", USER)], "must be unique.*: x"),
        (
            [
                fns.CategoricalFeature("a", USER),
                fns.CategoricalFeature("b", fns.TableSpec("user", 4)),
            ],
            "two different TableSpecs are named 'user'",
        ),
    ],
)
def test_split_refuses(features, message):
    with pytest.raises(ValueError, match=message):
        split_features(features)


def test_equal_specs_of_one_name_are_one_table():
    again = fns.TableSpec("user", 8)
    features = [fns.CategoricalFeature("a", USER), fns.CategoricalFeature("b", again)]
    assert len(split_features(features)[0]) == 2


@pytest.mark.parametrize(
    "values, message",
    [
        ({"hidden_units": ()}, "hidden_units must be one or more ints"),
        ({"hidden_units": (8, 0)}, "hidden_units must be one or more ints"),
        ({"activation": "gelu?"}, "activation must be one of linear, relu, sigmoid, tanh"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
        ({"l2": -0.1}, "l2 must not be negative, got -0.1"),
    ],
)
def test_mlp_config_refuses(values, message):
    with pytest.raises(ValueError, match=message):
        fns.MlpConfig(**values)


@pytest.mark.parametrize(
    "values, message",
    [
        ({"head": "binary"}, "head must be a Head, got 'binary'"),
        ({"optimizers": "adam"}, "optimizers must be an Optimizers, got 'adam'"),
        (
            {"embedding": "gpu"},
            "embedding must be one of hash_table, variable, sparse_core, got 'gpu'",
        ),
        ({"embedding_l2": -1}, "embedding_l2 must not be negative, got -1"),
    ],
)
def test_model_options_refuse(values, message):
    with pytest.raises(ValueError, match=message):
        fns.ModelOptions(**values)


def test_optimizers_are_made_in_model_fn():
    made = tf.compat.v1.train.AdamOptimizer(0.1)
    with pytest.raises(ValueError, match="dense must be a function that makes an optimizer"):
        fns.Optimizers(dense=made)

"""Warm start that cannot be: each error names what is wrong and what would be right."""

import glob
import os

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.warm_start import warm_start
from tests.cli import model_dir
from tests.warm_start import models

v1 = tf.compat.v1
Settings = tf.estimator.WarmStartSettings


@pytest.fixture(name="old")
def old_model(tmp_path):
    return models.write(tmp_path / "old", {"user": 3.0}, {"kernel": 5.0})


@pytest.fixture(name="user")
def user_table():
    return ep.create_table(tf.int64, models.DIM, "user", v1.zeros_initializer())


@pytest.mark.parametrize(
    "settings, message",
    [
        (Settings(["a", "b"], [".*"]), "vars_to_warm_start must be a list of 2.*got 1"),
        (Settings(["a", "b"], "user"), "vars_to_warm_start must be a list of 2"),
        (Settings(["a"], [".*"], None, [{}, {}]), "var_name_to_prev_var_name must be .*got 2"),
        (Settings(["a"], [".*"], None, {"x": "y"}), "var_name_to_prev_var_name must be a list"),
        (Settings(["a", ["b"]], [".*", ".*"]), "ckpt_to_initialize_from must be a path"),
        (Settings(5), "ckpt_to_initialize_from must be a path"),
        (Settings("a", 5), "vars_to_warm_start must be a pattern"),
        (Settings("a", ["x", 5]), "vars_to_warm_start must be a pattern"),
        (Settings("a", []), "vars_to_warm_start must be a pattern"),
        (Settings("a", ".*", ["x"]), "var_name_to_vocab_info must be a dict"),
    ],
)
def test_settings_are_checked_when_the_estimator_is_made(tmp_path, settings, message):
    ep.init()
    with pytest.raises(ValueError, match=message):
        models.estimator(tmp_path, models.model_fn(["user"]), settings)
    with pytest.raises(ValueError, match=message):
        ep.hooks.WarmStartHook(settings)


def test_pattern_that_is_no_regular_expression(old, user):
    with pytest.raises(ValueError, match=r"'user\(' is no regular expression"):
        warm_start(old, "user(")


@pytest.mark.parametrize("pattern", ["nothing", ["user", "nothing"]])
def test_pattern_that_matches_nothing_lists_what_there_is(old, user, pattern):
    with pytest.raises(ValueError, match="'nothing' matches nothing.*tables 'user'.*'kernel'"):
        warm_start(old, pattern)


def test_everything_of_a_checkpoint_that_shares_nothing(tmp_path, user):
    other = models.write(tmp_path / "other", {"brand": 1.0})
    with pytest.raises(ValueError, match="matches nothing.*tables 'brand'"):
        warm_start(other)


def test_training_needs_every_pattern(old, user):
    ids = tf.constant([1], tf.int64)
    loss = tf.reduce_sum(ep.sparse_lookup(user, ids))
    ep.optimizers.gradient_descent.create_hash_optimizer(0.1).minimize(loss)
    with pytest.raises(ValueError, match="'kernel' matches nothing"):
        warm_start(old, ["user", "kernel"])  # In the checkpoint, not in the graph.


def test_table_that_the_checkpoint_lacks(old):
    ep.create_table(tf.int64, models.DIM, "item", v1.zeros_initializer())
    with pytest.raises(ValueError, match="table 'item' cannot start.*has tables 'user'"):
        warm_start(old, "item")


def test_previous_name_that_the_checkpoint_lacks(old, user):
    with pytest.raises(ValueError, match="table 'user' cannot start from 'member'"):
        warm_start(old, ".*", var_name_to_prev_var_name={"user": "member"})


@pytest.mark.parametrize("name", ["user", "kernel"])
def test_previous_name_of_what_is_not_started(old, user, name):
    v1.get_variable("kernel", [models.DIM])
    ep.create_table(tf.int64, models.DIM, "other", v1.zeros_initializer())
    with pytest.raises(ValueError, match="names '%s', which vars_to_warm_start" % name):
        warm_start(old, ["other"], var_name_to_prev_var_name={"other": "user", name: "user"})


def test_previous_name_of_what_the_graph_lacks(old, user):
    v1.get_variable("kernel", [models.DIM])
    message = "names 'misspelt', neither.*tables 'user', and variables 'kernel'"
    with pytest.raises(ValueError, match=message):
        warm_start(old, ".*", var_name_to_prev_var_name={"misspelt": "user"})


def test_table_of_another_dim(old):
    ep.create_table(tf.int64, 8, "user", v1.zeros_initializer())
    with pytest.raises(ValueError, match="table 'user' has dim 8, table 'user' of .* has dim 4"):
        warm_start(old)


@pytest.mark.parametrize("name", ["nowhere", "empty", "notes.txt"])
def test_path_that_is_no_checkpoint(tmp_path, user, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("no checkpoint")
    with pytest.raises(ValueError, match="ckpt_to_initialize_from must be the prefix.*%s" % name):
        warm_start(str(tmp_path / name))


def test_a_delta_whose_parent_is_gone(tmp_path, user):
    prefixes = model_dir.build(tmp_path)
    os.remove(prefixes[10] + ".index")
    with pytest.raises(
        tf.errors.NotFoundError, match="model.ckpt-20 is a delta of .*model.ckpt-10"
    ):
        warm_start(prefixes[30])


def test_damaged_rows_are_found_when_training_starts(tmp_path, old):
    data = max(glob.glob(old + ".data-*"), key=os.path.getsize)  # The tables'.
    with open(data, "r+b") as file:
        file.truncate(os.path.getsize(data) // 2)
    with pytest.raises((tf.errors.DataLossError, tf.errors.OutOfRangeError), match="user"):
        ep.init()
        models.started(tmp_path / "new", models.model_fn(["user"]), Settings(old, "user"))

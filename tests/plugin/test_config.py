"""init, terminate_config_initializer and get_config."""

import pytest

import estimator_plugin as ep
from estimator_plugin import notices


@pytest.fixture
def said(monkeypatch):
    """The log lines of the test, none of them said before."""
    lines = []
    monkeypatch.setattr(notices, "_said", set())
    for level in ("info", "warning"):
        monkeypatch.setattr(
            notices.tf.compat.v1.logging, level, lambda form, *args: lines.append(form % args)
        )
    return lines


def test_defaults_hold_without_init():
    config = ep.get_config()
    assert (config.max_steps, config.train_steps, config.eval_steps, config.save_steps) == (-1,) * 4
    assert not config.use_dynamic_expansion and not config.is_incremental_checkpoint
    assert config.restore_model_version is None


def test_init_sets_what_it_is_given():
    ep.init(train_steps=100, eval_steps=10, save_steps=50, use_dynamic_expansion=True)
    config = ep.get_config()
    assert (config.train_steps, config.eval_steps, config.save_steps) == (100, 10, 50)
    assert config.use_dynamic_expansion


def test_config_is_frozen_and_survives_a_round_trip():
    config = ep.Config(train_steps=3)
    with pytest.raises(AttributeError):
        config.train_steps = 4
    assert ep.Config(**config.to_dict()) == config


def test_second_init_is_an_error_until_terminated():
    ep.init(train_steps=1)
    with pytest.raises(EnvironmentError, match="terminate_config_initializer"):
        ep.init(train_steps=2)
    assert ep.get_config().train_steps == 1
    ep.terminate_config_initializer()
    ep.init(train_steps=2)
    assert ep.get_config().train_steps == 2


def test_terminate_without_init_only_warns(said):
    ep.terminate_config_initializer()
    ep.terminate_config_initializer()
    assert len(said) == 1 and "init was not called" in said[0]


@pytest.mark.parametrize("name", ["max_steps", "train_steps", "eval_steps", "save_steps"])
@pytest.mark.parametrize("value", [-2, 2147483648, 1.5, "3", None, True])
def test_steps_out_of_range(name, value):
    with pytest.raises(ValueError, match="%s must be an int from -1 to 2147483647, got " % name):
        ep.init(**{name: value})
    assert ep.get_config() == ep.Config()


@pytest.mark.parametrize(
    "name, value, wanted",
    [
        ("if_load", 1, "True or False"),
        ("use_dynamic", "yes", "True or False"),
        ("use_dynamic_expansion", None, "True or False"),
        ("bind_cpu", 0, "True or False"),
        ("use_lccl", 2, "True or False"),
        ("use_mpi", 1, "True or False"),
        ("use_hot", [], "True or False"),
        ("save_checkpoint_due_time", 0, "from 1 to"),
        ("save_delta_checkpoints_secs", -1, "from 1 to"),
        ("restore_model_version", -1, "from 0 to"),
        ("recent_key_count_threshold", -1, "from 0 to"),
        ("rank_id", -1, "from 0 to"),
        ("rank_size", 0, "from 1 to"),
        ("train_interval", -2, "from -1 to"),
        ("prefetch_batch_number", 0, "from 1 to"),
    ],
)
def test_values_out_of_range(name, value, wanted):
    with pytest.raises(ValueError, match="init: %s must be .*%s" % (name, wanted)):
        ep.init(**{name: value})


def test_none_is_fine_where_it_is_the_default():
    ep.init(restore_model_version=None, save_checkpoint_due_time=None)


@pytest.mark.parametrize(
    "steps", [{"max_steps": 0}, {"max_steps": 0, "train_steps": 0, "eval_steps": 0}]
)
def test_step_limits_must_not_all_be_zero(steps):
    with pytest.raises(ValueError, match="must not all be 0"):
        ep.init(**steps)


def test_one_step_limit_above_zero_is_enough():
    ep.init(train_steps=0, eval_steps=10)


@pytest.mark.parametrize("given", ["save_checkpoint_due_time", "save_delta_checkpoints_secs"])
def test_incremental_needs_both_intervals(given):
    with pytest.raises(ValueError, match="is_incremental_checkpoint"):
        ep.init(is_incremental_checkpoint=True, **{given: 60})


def test_parameters_without_meaning_are_accepted_and_said_once(said):
    ep.init(
        bind_cpu=True,
        use_lccl=False,
        use_mpi=False,
        rank_id=0,
        rank_size=1,
        train_interval=100,
        use_hot=True,
        recent_key_count_threshold=2,
    )
    assert len(said) == 8 and all("has no effect" in line for line in said)
    ep.terminate_config_initializer()
    ep.init(use_hot=True)
    assert len(said) == 8


def test_unknown_parameter_is_ignored_with_a_hint(said):
    ep.init(trian_steps=3)
    assert said == ["init: unknown parameter 'trian_steps' is ignored; did you mean train_steps?"]
    assert ep.get_config().train_steps == -1

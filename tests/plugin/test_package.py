"""What `import estimator_plugin` offers, and what it leaves alone."""

import doctest

import pytest

import estimator_plugin as ep
from estimator_plugin import hashing, initialize, requirements
from tests.plugin import support


def test_every_public_name_is_there():
    for name in ep.__all__:
        assert getattr(ep, name) is not None, name
    assert ep.hooks.__name__ == "estimator_plugin.hooks"
    assert ep.model_fns.__name__ == "estimator_plugin.model_fns"


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="'estimator_plugin' has no attribute 'create_tabel'"):
        ep.create_tabel  # noqa: B018


def test_sub_packages_load_when_first_used():
    program = (
        "import sys, estimator_plugin as ep\n"
        "print('estimator_plugin.model_fns' in sys.modules)\n"
        "ep.model_fns\n"
        "print('estimator_plugin.model_fns' in sys.modules)\n"
    )
    assert support.run_program(program).split() == ["False", "True"]


def test_import_rewires_nothing():
    program = (
        "import tensorflow as tf\n"
        "v1 = tf.compat.v1\n"
        "def facts():\n"
        "    return [v1.train.Saver.save, v1.train.Saver.__init__, v1.Session.run,\n"
        "            v1.train.Optimizer.compute_gradients, v1.executing_eagerly(),\n"
        "            tf.estimator.Estimator.train, tf.data.Dataset.map]\n"
        "before = facts()\n"
        "import estimator_plugin\n"
        "print(before == facts())\n"
    )
    assert support.run_program(program).strip() == "True"


@pytest.mark.parametrize("version", ["1.15.5", "2.6.5", "2.15.1", "2.21.0", "2.16.0-rc1"])
def test_tensorflow_versions_that_work(version):
    requirements.check_tensorflow(version)


@pytest.mark.parametrize("version", ["1.14.0", "2.0.0", "2.5.3"])
def test_tensorflow_versions_that_do_not(version):
    with pytest.raises(ImportError, match="found %s; install one with: pip install" % version):
        requirements.check_tensorflow(version)


@pytest.mark.parametrize("module", [hashing, initialize])
def test_examples_that_stand_alone(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


def test_version_is_one():
    assert len(ep.__version__.split(".")) == 3

"""The package works from its distributions, away from the checkout and without a compiler."""

import os
import re
import zipfile

import tensorflow as tf

from tests.packaging import conftest

_SMOKE = os.path.join(conftest.ROOT, "tests", "compat", "smoke.py")


def test_wheel_holds_the_library_and_its_sources(wheel):
    assert re.search(r"-py3-none-linux_\w+\.whl$", wheel)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    libraries = [name for name in names if name.endswith(".so")]
    assert len(libraries) == 1
    assert libraries[0].startswith("estimator_plugin/ops/ep_ops-tf%s-" % tf.__version__)
    assert "estimator_plugin/ops/core/table.h" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"estimator_plugin"}
    assert not [name for name in names if name.endswith(".lock")]


def test_wheel_works_in_a_new_environment(environment, wheel):
    environment.install(wheel)
    printed = environment.python(_SMOKE)
    assert "site-packages/estimator_plugin works on TensorFlow" in printed


def test_editable_install_works(environment, unpacked):
    environment.install("--editable", unpacked)
    printed = environment.python(_SMOKE)
    assert "%s/estimator_plugin works on TensorFlow" % unpacked in printed


def test_library_of_changed_sources_is_not_used(environment, wheel):
    environment.install(wheel)
    script = (
        "import os, estimator_plugin.ops.build as build\n"
        "with open(os.path.join(os.path.dirname(build.__file__), 'core', 'table.h'), 'a') as f:\n"
        "    f.write('// changed')\n"
        "try:\n"
        "    build.library_path()\n"
        "except build.BuildError as error:\n"
        "    print(error)\n"
    )
    printed = environment.python("-c", script)
    assert "there is no C++ compiler 'no-compiler'" in printed
    assert "was built for TensorFlow %s" % tf.__version__ in printed


def test_source_distribution_has_the_tests_and_the_tools(unpacked):
    for name in ("Makefile", "LICENSE", "README.md", "tests/core/core.mk", "tests/conftest.py"):
        assert os.path.exists(os.path.join(unpacked, name)), name

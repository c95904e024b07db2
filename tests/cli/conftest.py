"""The model_dir that the tests of the command line look into, and a way to run a command."""

import collections
import json
import shutil

import pytest

from estimator_plugin.cli import main
from tests.cli import model_dir

Result = collections.namedtuple("Result", ["code", "out", "err"])
Model = collections.namedtuple("Model", ["directory", "prefixes"])


@pytest.fixture(scope="session", name="pristine")
def pristine_model(tmp_path_factory):
    directory = tmp_path_factory.mktemp("model dir, größer")
    return Model(str(directory), model_dir.build(directory))


@pytest.fixture(name="model")
def copied_model(pristine, tmp_path):
    """A copy that a test may damage."""
    directory = str(tmp_path / "model")
    shutil.copytree(pristine.directory, directory)
    prefixes = {
        step: prefix.replace(pristine.directory, directory)
        for step, prefix in pristine.prefixes.items()
    }
    return Model(directory, prefixes)


@pytest.fixture(name="run")
def run_command(capsys):
    """run("list", directory) -> Result(exit code, standard output, standard error)."""

    def run(*arguments):
        capsys.readouterr()
        code = main.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture(name="run_json")
def run_command_json(run):
    """As `run`, with --json: (exit code, what was printed)."""

    def run_json(*arguments):
        result = run(*arguments + ("--json",))
        return result.code, json.loads(result.out)

    return run_json

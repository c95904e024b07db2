"""Distributions of this checkout, and bare environments to install them into."""

import glob
import os
import shutil
import site
import subprocess
import sys
import tarfile
import venv

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(command, directory, **variables):
    """The finished process of a command, run as if there were no checkout."""
    environment = dict(os.environ, **variables)
    environment.pop("PYTHONPATH", None)
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        cwd=directory,
    )


def output(command, directory, **variables):
    result = run(command, directory, **variables)
    assert result.returncode == 0, result.stdout
    return result.stdout


class Environment:
    """A Python that sees what ours has installed, TensorFlow for one, but not this package."""

    def __init__(self, directory):
        self._directory = directory
        venv.create(directory, with_pip=False, symlinks=True)
        self._python = os.path.join(directory, "bin", "python")
        packages = glob.glob(os.path.join(directory, "lib", "*", "site-packages"))[0]
        with open(os.path.join(packages, "outer.pth"), "w") as file:
            file.write("\n".join(site.getsitepackages()) + "\n")

    def python(self, *arguments):
        """What Python prints. There is no compiler, and the cache of op libraries is empty."""
        cache = os.path.join(self._directory, "cache")
        command = [self._python] + list(arguments)
        return output(command, self._directory, CXX="no-compiler", ESTIMATOR_PLUGIN_CACHE=cache)

    def install(self, *what):
        # Ignoring what is installed: the outer environment may have this package.
        command = [self._python, "-m", "pip", "install", "--no-deps", "--no-build-isolation"]
        output(command + ["--ignore-installed"] + list(what), self._directory)


@pytest.fixture
def environment(tmp_path):
    return Environment(str(tmp_path / "environment"))


@pytest.fixture(scope="session")
def sdist(tmp_path_factory):
    """The path of the source distribution."""
    directory = str(tmp_path_factory.mktemp("sdist"))
    command = [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", directory]
    output(command + ["sdist", "--dist-dir", directory], ROOT)
    return glob.glob(os.path.join(directory, "*.tar.gz"))[0]


@pytest.fixture(scope="session")
def unpacked(sdist):
    """The directory of the unpacked source distribution, set up so that it need not compile.

    The library's name tells its sources, so one that was built in the checkout is taken if, and
    only if, it is made of the very sources that the distribution has.
    """
    directory = os.path.dirname(sdist)
    with tarfile.open(sdist) as archive:
        archive.extractall(directory)
    built = os.path.join(sdist[: -len(".tar.gz")], "build", "ops")
    os.makedirs(built)
    for library in glob.glob(os.path.join(ROOT, "build", "ops", "*.so")):
        shutil.copy(library, built)
    return sdist[: -len(".tar.gz")]


@pytest.fixture(scope="session")
def wheel(unpacked, tmp_path_factory):
    """The path of a wheel made from the source distribution."""
    directory = str(tmp_path_factory.mktemp("wheel"))
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", unpacked]
    output(command, directory)
    return glob.glob(os.path.join(directory, "*.whl"))[0]

"""The Python environments of the systems that cannot share ours: one virtual environment each.

TFRA's and DeepRec's wheels are built for one TensorFlow and one Python, so each runs with an
interpreter of its own. An environment is made once and reused; one that cannot be made is reported
in one line, and its system is left out of the run.
"""

import glob
import os
import shutil
import subprocess
import sys
from typing import NamedTuple, Optional, Sequence

TENSORFLOW = "tensorflow-cpu==2.15.1"


class Recipe(NamedTuple):
    """What an environment is made of."""

    name: str
    python: str  # "3.11": the only version the wheel is built for.
    requirements: Sequence[str]
    without_dependencies: Sequence[str]  # Their metadata asks for more than the ops need.
    check: str  # Python code that fails unless the system works.


RECIPES = {
    "tfra": Recipe(
        name="tfra",
        python="3.11",
        requirements=[TENSORFLOW, "typeguard", "setuptools<81"],
        without_dependencies=["tensorflow-recommenders-addons==0.7.2"],
        check="from tensorflow_recommenders_addons import dynamic_embedding",
    ),
    # DeepRec itself is a fork of TensorFlow 1.15. This wheel carries its EmbeddingVariable, the
    # same C++ core, as custom ops for TensorFlow 2.15.
    "deeprec": Recipe(
        name="deeprec",
        python="3.10",
        requirements=[TENSORFLOW, "typeguard", "tf_keras==2.15.1", "setuptools<81"],
        without_dependencies=["deepray==0.21.97"],
        check="from benchmarks.rivals import deeprec; deeprec.load_ops()",
    ),
}


class EnvironmentUnavailableError(Exception):
    """An environment cannot be made here; the message says why in one line."""


def find_python(version: str) -> Optional[str]:
    """Path of a working interpreter of exactly `version` ("3.10"), or None."""
    candidates = [sys.executable, shutil.which("python" + version)]
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    candidates += sorted(glob.glob(os.path.join(root, "versions", version + ".*", "bin", "python")))
    probe = "import sys; print('%d.%d' % sys.version_info[:2])"
    for candidate in candidates:
        if candidate is None:
            continue
        # A version manager's shim exists for versions that are not active, so ask it.
        answer = subprocess.run(
            [candidate, "-c", probe], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        if answer.returncode == 0 and answer.stdout.decode().strip() == version:
            return candidate
    return None


def _run(command: Sequence[str], log_path: str, repository: str) -> None:
    """Runs `command`, its output going to the log."""
    with open(log_path, "ab") as log:
        environment = dict(os.environ, PYTHONPATH=repository, TF_CPP_MIN_LOG_LEVEL="3")
        done = subprocess.run(command, stdout=log, stderr=log, env=environment, check=False)
    if done.returncode != 0:
        raise EnvironmentUnavailableError(
            "`%s` failed with exit code %d, see %s"
            % (" ".join(command[:6]), done.returncode, log_path)
        )


def make_environment(recipe: Recipe, folder: str, repository: str) -> str:
    """Returns the interpreter of the recipe's environment, made first where there is none.

    Args:
      recipe: what to install.
      folder: where the environments live; this one becomes `folder`/<name>.
      repository: root of this repository, for the recipe's check.

    Raises:
      EnvironmentUnavailableError: no interpreter of the right version, or a package that cannot be
        installed or imported.
    """
    home = os.path.join(folder, recipe.name)
    interpreter = os.path.join(home, "bin", "python")
    stamp = os.path.join(home, "complete")
    if os.path.exists(stamp):
        return interpreter
    os.makedirs(folder, exist_ok=True)
    log_path = os.path.join(folder, recipe.name + ".log")
    base = find_python(recipe.python)
    if base is None:
        raise EnvironmentUnavailableError("it needs Python %s, which was not found" % recipe.python)
    shutil.rmtree(home, ignore_errors=True)
    _run([base, "-m", "venv", home], log_path, repository)
    install = [interpreter, "-m", "pip", "install", "--quiet"]
    _run(install + list(recipe.requirements), log_path, repository)
    _run(install + ["--no-deps"] + list(recipe.without_dependencies), log_path, repository)
    _run([interpreter, "-c", recipe.check], log_path, repository)
    with open(stamp, "w") as done:
        done.write("%s\n" % (recipe,))
    return interpreter

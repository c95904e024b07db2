"""Runs the smoke test on the oldest TensorFlows that the code has to work with.

For each of them, where the Python it needs is found: an environment under build/compat/, the
package installed into it from this checkout, and smoke.py run there, outside the checkout.

    python tests/compat/run.py              # all
    python tests/compat/run.py 1.15.5       # one
"""

import collections
import glob
import os
import shutil
import subprocess
import sys
import tempfile

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SMOKE = os.path.join(_ROOT, "tests", "compat", "smoke.py")

_QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

Target = collections.namedtuple("Target", "tensorflow python requirements")
# The upper limits are those of the time: these releases pinned none themselves.
_TARGETS = (
    Target("1.15.5", "3.7", ["tensorflow==1.15.5", "protobuf<3.21", "numpy<1.19", "h5py<3"]),
    Target(
        "2.6.5",
        "3.9",
        ["tensorflow==2.6.5", "tensorflow-estimator==2.6.0", "keras==2.6.0", "protobuf<3.21"],
    ),
)


def find_python(version):
    """A command that starts this version of Python, or None."""
    pyenv = os.environ.get("PYENV_ROOT", os.path.join(os.path.expanduser("~"), ".pyenv"))
    candidates = [shutil.which("python" + version)]
    candidates += sorted(glob.glob(os.path.join(pyenv, "versions", version + ".*/bin/python")))
    for candidate in candidates:
        # A version manager's stand-in may be there for a version that is not.
        if candidate and subprocess.run([candidate, "--version"], **_QUIET).returncode == 0:
            return candidate
    return None


def environment(target, python):
    """The Python of an environment with the target's TensorFlow, made unless it is there."""
    place = os.path.join(_ROOT, "build", "compat", "tf" + target.tensorflow)
    inner = os.path.join(place, "bin", "python")
    ready = os.path.join(place, "ready")
    if not os.path.exists(ready):
        run([python, "-m", "venv", "--clear", place])
        run([inner, "-m", "pip", "install", "--quiet", "setuptools", "wheel"])
        run([inner, "-m", "pip", "install", "--quiet"] + target.requirements)
        open(ready, "w").close()
    return inner


def check(target, python):
    inner = environment(target, python)
    with tempfile.TemporaryDirectory() as scratch:
        run(
            [
                inner,
                "-m",
                "pip",
                "wheel",
                "--quiet",
                "--no-deps",
                "--no-build-isolation",
                "--wheel-dir",
                scratch,
                _ROOT,
            ]
        )
        wheel = glob.glob(os.path.join(scratch, "*.whl"))[0]
        run([inner, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", wheel])
        run([inner, _SMOKE], cwd=scratch)


def run(command, **options):
    print("+ " + " ".join(command), flush=True)
    subprocess.run(command, check=True, **options)


def main():
    wanted = sys.argv[1:]
    results = []
    for target in _TARGETS:
        if wanted and target.tensorflow not in wanted:
            continue
        python = find_python(target.python)
        if python is None:
            results.append("TensorFlow %s: not run, no Python %s" % (target[0], target.python))
            continue
        check(target, python)
        results.append("TensorFlow %s on Python %s: passed" % (target[0], target.python))
    print("\n".join(results))


if __name__ == "__main__":
    main()

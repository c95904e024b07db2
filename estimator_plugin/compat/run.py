"""`run`: a Rec SDK program, unchanged, on this plugin.

python -m estimator_plugin run train.py --epochs 3
"""

import os
import runpy
import sys

from .finder import install


def run(script, arguments):
    """Runs a Python program as `python script arguments` would, with the import layer installed.

    What the program raises is raised, SystemExit included. TensorFlow is imported before the
    program begins, so settings that TensorFlow reads from the environment at its import must be in
    the environment before that.

    Args:
      script: str, path of the program.
      arguments: list of str, its `sys.argv[1:]`.

    Raises:
      FileNotFoundError: there is no such file.
    """
    if not os.path.isfile(script):
        raise FileNotFoundError("there is no program %s" % script)
    install()
    sys.argv = [script] + list(arguments)
    sys.path[0] = os.path.dirname(os.path.realpath(script))
    runpy.run_path(script, run_name="__main__")

"""What this package needs to run, checked at import with a message that says the fix."""

import sys

_OLDEST_PYTHON = (3, 7)
_FIX = "install one with: pip install tensorflow-cpu==2.15.1"


def check():
    """Raises ImportError when Python or TensorFlow is missing or too old."""
    if sys.version_info < _OLDEST_PYTHON:
        raise ImportError(
            "estimator_plugin needs Python 3.7 or later, this is %s" % sys.version.split()[0]
        )
    try:
        import tensorflow as tf
    except ImportError as error:
        raise ImportError(
            "estimator_plugin needs TensorFlow with Estimator (1.15, or 2.6 to 2.15); %s" % _FIX
        ) from error
    check_tensorflow(tf.__version__)


def check_tensorflow(version):
    """Raises ImportError when TensorFlow `version` is older than tables can work with."""
    numbers = tuple(int(part) for part in version.split(".")[:2])
    if numbers < (1, 15) or (2, 0) <= numbers < (2, 6):
        raise ImportError(
            "estimator_plugin works with TensorFlow 1.15, or 2.6 and later; found %s; %s"
            % (version, _FIX)
        )

"""The import layer: programs written for the Rec SDK or for NPUEstimator run as they stand.

`import estimator_plugin.compat.mx_rec`, or `python -m estimator_plugin run script.py`, makes the
names of `names.MODULES` importable; `uninstall` ends it. Importing this package does neither.
"""

from .finder import install, uninstall

__all__ = ["install", "uninstall"]

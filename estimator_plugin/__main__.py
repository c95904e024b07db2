"""`python -m estimator_plugin`: see `estimator_plugin.cli.main`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main.main())

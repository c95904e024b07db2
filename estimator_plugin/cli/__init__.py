"""The command line: `python -m estimator_plugin`, one module per command."""

"""Arguments, errors and exit codes of the command line.

Exit codes: 0 is done; 1 is that verify found damage, diff a difference, or inspect no such key; 2
is wrong arguments or files that cannot be read.
"""

import argparse
import contextlib
import os
import sys

import tensorflow as tf

from ..compat import run
from ..version import __version__
from . import diff, export, inspect, merge, verify
from . import list as list_command
from .progress import Progress
from .report import UNUSABLE, show

COMMANDS = {
    "list": list_command,
    "inspect": inspect,
    "verify": verify,
    "diff": diff,
    "merge": merge,
    "export": export,
}


def main(arguments=None):
    """Runs one command.

    Args:
      arguments: list of str; None is those of the process.

    Returns:
      The exit code.
    """
    parsed = parser().parse_args(arguments)
    if parsed.command == "run":
        return _run(parsed)
    with _quiet():
        return _report(parsed)


@contextlib.contextmanager
def _quiet():
    """Keeps TensorFlow's notices out of a report."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("ERROR")
    try:
        yield
    finally:
        logger.setLevel(level)


def _report(parsed):
    """Runs a command that reports, and returns the exit code."""
    try:
        report = COMMANDS[parsed.command].run(parsed, Progress())
        show(report, parsed.json, sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:  # The reader, such as `head`, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError, tf.errors.OpError) as error:
        message = error.message if isinstance(error, tf.errors.OpError) else str(error)
        sys.stderr.write("estimator_plugin %s: %s\n" % (parsed.command, message))
        return UNUSABLE
    return report.exit_code


def _run(parsed):
    """Runs a program; what it raises is its own, and no error of the command line."""
    if not os.path.isfile(parsed.script):
        sys.stderr.write("estimator_plugin run: there is no program %s\n" % parsed.script)
        return UNUSABLE
    run.run(parsed.script, parsed.arguments)
    return 0


def parser():
    """The parser of the command line; its result has `command`, `json` and the command's own."""
    made = argparse.ArgumentParser(
        prog="estimator_plugin",
        description="Looks into TensorFlow checkpoints that hold growing embedding tables; runs "
        "programs written for the Rec SDK.",
        epilog="Exit codes: 0 done; 1 verify found damage, diff a difference or inspect no such "
        "key; 2 wrong arguments or unreadable files.",
    )
    made.add_argument("--version", action="version", version=__version__)
    commands = made.add_subparsers(dest="command", metavar="COMMAND")
    commands.required = True
    for name, command in COMMANDS.items():
        summary = command.__doc__.splitlines()[0].partition(": ")[2]
        sub = commands.add_parser(name, help=summary, description=summary)
        command.add_arguments(sub)
        sub.add_argument("--json", action="store_true", help="print JSON for scripts")
    summary = run.__doc__.splitlines()[0].partition(": ")[2]
    sub = commands.add_parser("run", help=summary, description=summary)
    sub.add_argument("script", help="a Python program")
    sub.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    return made

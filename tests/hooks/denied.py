"""A process without rights that works on a model_dir of another user's: `python -m` this.

It saves and restores as an ordinary user would and prints what the errors say, as one JSON object.
Run by root, it becomes nobody once everything is imported.
"""

import json
import os
import sys

import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import versions
from tests.hooks.failing import Run, restored
from tests.plugin import support

NOBODY = 65534


def _error(call):
    try:
        return repr(call())
    except (tf.errors.OpError, ValueError, OSError) as error:
        return "%s: %s" % (type(error).__name__, error)


def _save(directory, step):
    with tf.Graph().as_default():
        run = Run(directory)
        with support.ready_session() as session:
            run.touch(session, 1)
            return run.save(session, step)


def main(directory, prefix):
    ep.ops.library.load()
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    said = {
        "restore": _error(lambda: restored(directory, [1, 2], prefix)),
        "save": _error(lambda: _save(directory, 9)),
        "kinds": {v.step: [v.kind, v.error] for v in versions.list_versions(directory)},
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])

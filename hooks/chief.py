"""Which task of a cluster saves checkpoints."""

import json
import os


def is_chief():
    """Whether this process is the one that saves, by the environment variable TF_CONFIG.

    Semantics: `tf.estimator.RunConfig.is_chief`, without the RunConfig.
    """
    task = json.loads(os.environ.get("TF_CONFIG") or "{}").get("task", {})
    return task.get("type", "chief") in ("chief", "master")

"""A parameter server of the scenario `servers`; TF_CONFIG says which one.

python -m benchmarks.server_task
"""

import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf  # noqa: E402

import estimator_plugin  # noqa: E402, F401  (a server of TF_CONFIG loads the ops it is to run)


def main():
    settings = json.loads(os.environ["TF_CONFIG"])
    cluster = tf.train.ClusterSpec(settings["cluster"])
    tf.distribute.Server(cluster, "ps", settings["task"]["index"]).join()


if __name__ == "__main__":
    main()

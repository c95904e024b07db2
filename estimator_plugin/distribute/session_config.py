"""Which tasks of a cluster a session talks to."""

import tensorflow as tf

from .. import validate
from . import cluster

_EVERYBODY = ("/job:ps", "/job:worker", "/job:chief", "/job:master")


def session_config(config=None):
    """A session configuration with the device filters that `tf.estimator.RunConfig` has by default.

    By them a session talks to the servers and to its own task. Without them it waits until every
    other worker has started, and fails when one of them dies. A RunConfig has them only where it is
    given no `session_config`, so one of your own goes through here:

    >>> own = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=2)
    >>> config = tf.estimator.RunConfig(session_config=ep.distribute.session_config(own))

    Args:
      config: tf.compat.v1.ConfigProto to start from, which is not changed; default: one that allows
        soft placement, as a RunConfig's does.

    Returns:
      tf.compat.v1.ConfigProto. Filters that `config` has are left as they are; none are added in an
      evaluator and where TF_CONFIG names no cluster.

    Raises:
      ValueError: config is no ConfigProto, or as `ep.distribute.rank_id`.

    Semantics: the default `session_config` of `tf.estimator.RunConfig`.
    """
    if config is None:
        config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    if not isinstance(config, tf.compat.v1.ConfigProto):
        validate.fail("session_config", "config", config, "a tf.compat.v1.ConfigProto")
    filtered = tf.compat.v1.ConfigProto()
    filtered.CopyFrom(config)
    if not filtered.device_filters:
        filtered.device_filters.extend(_filters(cluster.read()))
    return filtered


def _filters(known):
    if known.task_type == "ps":
        return _EVERYBODY
    if known.rank is None or not known.servers:
        return ()
    return ("/job:ps", "/job:%s/task:%d" % (known.task_type, known.task_index))

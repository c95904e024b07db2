"""The cluster this process belongs to, as the environment variable TF_CONFIG tells it.

It is read anew at each call and never taken from a RunConfig: what a framework on top of Estimators
hands to a model_fn can be out of date.
"""

import collections
import json
import os

_CHIEFS = ("chief", "master")
_WORKER = "worker"
_SERVER = "ps"

Cluster = collections.namedtuple(
    "Cluster",
    [
        "servers",  # Tuple of device strings, one for each parameter server.
        "task_type",  # str, "chief" where TF_CONFIG names no task.
        "task_index",  # int.
        "rank",  # int among those that train, the chief first; None for a server or an evaluator.
        "size",  # int from 1, how many train.
    ],
)


def read():
    """The Cluster of TF_CONFIG; without one, a cluster of this process alone.

    Raises:
      ValueError: TF_CONFIG is no JSON object, or its task is not one of its cluster.

    >>> read().size
    1
    """
    text = os.environ.get("TF_CONFIG") or "{}"
    try:
        settings = json.loads(text)
        jobs, task = dict(settings.get("cluster", {})), dict(settings.get("task", {}))
        task_type, task_index = task.get("type", _CHIEFS[0]), int(task.get("index", 0))
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            "TF_CONFIG must be a JSON object with cluster and task, got %r: %s" % (text, error)
        ) from error
    trainers = [(job, i) for job in _CHIEFS + (_WORKER,) for i in range(len(jobs.get(job, ())))]
    trainers = trainers if jobs else [(_CHIEFS[0], 0)]
    rank = None
    if (task_type, task_index) in trainers:
        rank = trainers.index((task_type, task_index))
    elif jobs and task_type != "evaluator" and task_index >= len(jobs.get(task_type, ())):
        raise ValueError(
            "TF_CONFIG: the cluster has no task %s:%d, got %r" % (task_type, task_index, text)
        )
    servers = tuple(server_device(i) for i in range(len(jobs.get(_SERVER, ()))))
    return Cluster(servers, task_type, task_index, rank, max(1, len(trainers)))


def server_device(index):
    """The device of parameter server `index`."""
    return "/job:%s/task:%d/device:CPU:0" % (_SERVER, index)


def is_server():
    """Whether this process is a parameter server."""
    return read().task_type == _SERVER


def is_chief():
    """Whether this process is the one that saves.

    Semantics: `tf.estimator.RunConfig.is_chief`, without the RunConfig.
    """
    return read().task_type in _CHIEFS


def rank_id():
    """This process's number among those that train: the chief is 0, workers follow. An evaluator or
    a server, which take no part, are told 0.

    For a dataset of one's own: `dataset.shard(rank_size(), rank_id())`.

    Semantics: `get_rank_id` of the Rec SDK.
    """
    return read().rank or 0


def rank_size():
    """How many processes train: the chief and the workers.

    Semantics: `get_rank_size` of the Rec SDK.
    """
    return read().size


def check_rank(rank, size):
    """Checks that what a program says of its place agrees with TF_CONFIG; None passes.

    Raises:
      ValueError: they disagree. Nothing is checked where TF_CONFIG names no cluster, or this task
        does not train.
    """
    cluster = read()
    if cluster.rank is None or (cluster.size == 1 and not cluster.servers):
        return
    for name, given, known in (("rank_id", rank, cluster.rank), ("rank_size", size, cluster.size)):
        if given is not None and given != known:
            raise ValueError(
                "init: %s must be %d, as task %s:%d of TF_CONFIG's cluster is, got %d"
                % (name, known, cluster.task_type, cluster.task_index, given)
            )

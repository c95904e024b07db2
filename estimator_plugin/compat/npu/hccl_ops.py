"""Collective communication of one rank: what every rank gets is what this one gave.

Each function checks that there is one rank (see `ranks.check_alone`), and the arguments that say
otherwise; fusion, fusion_id and group have nothing to control.
"""

import tensorflow as tf

from .ranks import check_alone

_REDUCTIONS = ("sum", "prod", "max", "min")
_GROUP = "hccl_world_group"


def allreduce(tensor, reduction, fusion=1, fusion_id=-1, group=_GROUP):
    """The reduction of all ranks' `tensor`: `tensor`.

    Raises:
      ValueError: reduction is none of "sum", "prod", "max" and "min".
    """
    del fusion, fusion_id, group
    return _reduced("allreduce", tensor, reduction)


def allgather(tensor, rank_size, fusion=0, fusion_id=-1, group=_GROUP):
    """All ranks' `tensor`, one after another: `tensor`. ValueError when rank_size is not 1."""
    del fusion, fusion_id, group
    _check("allgather", "rank_size", rank_size, 1)
    return _own(tensor)


def broadcast(tensor, root_rank, fusion=2, fusion_id=0, group=_GROUP):
    """The root's list of tensors: a list equal to `tensor`. ValueError when root_rank is not 0."""
    del fusion, fusion_id, group
    _check("broadcast", "root_rank", root_rank, 0)
    return [_own(t) for t in tensor]


def reduce(tensor, reduction, root_rank, fusion=0, fusion_id=-1, group=_GROUP):
    """The reduction of all ranks' `tensor`, on the root: `tensor`.

    Raises:
      ValueError: reduction is none of "sum", "prod", "max" and "min", or root_rank is not 0.
    """
    del fusion, fusion_id, group
    _check("reduce", "root_rank", root_rank, 0)
    return _reduced("reduce", tensor, reduction)


def reduce_scatter(tensor, reduction, rank_size, fusion=0, fusion_id=-1, group=_GROUP):
    """This rank's part of the reduction of all ranks' `tensor`: all of it.

    Raises:
      ValueError: reduction is none of "sum", "prod", "max" and "min", or rank_size is not 1.
    """
    del fusion, fusion_id, group
    _check("reduce_scatter", "rank_size", rank_size, 1)
    return _reduced("reduce_scatter", tensor, reduction)


def _reduced(owner, tensor, reduction):
    if reduction not in _REDUCTIONS:
        raise ValueError(
            "%s: reduction must be one of %s, got %r" % (owner, ", ".join(_REDUCTIONS), reduction)
        )
    return _own(tensor)


def _own(tensor):
    check_alone()
    return tf.identity(tensor)


def _check(owner, argument, value, wanted):
    if value != wanted:
        raise ValueError("%s: %s must be %d, got %r" % (owner, argument, wanted, value))

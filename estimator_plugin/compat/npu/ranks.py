"""Who else takes part in the job: nobody, on a CPU.

Functions of `rec_sdk_common.communication.hccl.hccl_info` and `hccl.manage.api`.
"""

import os

_SIZES = ("OMPI_COMM_WORLD_SIZE", "RANK_SIZE", "CM_WORKER_SIZE")


def check_alone():
    """Raises RuntimeError when the environment says that there are several ranks."""
    for name in _SIZES:
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 1:
            raise RuntimeError(
                "%s is %s: on a CPU there is one rank and no collective communication; unset it, "
                "or start the program once" % (name, value)
            )


def get_rank_id(group="hccl_world_group"):
    """0: this process's number among the ranks. RuntimeError when there are several."""
    del group
    check_alone()
    return 0


def get_rank_size(group="hccl_world_group"):
    """1: the number of ranks. RuntimeError when there are several."""
    del group
    check_alone()
    return 1


def get_local_rank_size(group="hccl_world_group"):
    """1: the number of ranks on this host. RuntimeError when there are several."""
    return get_rank_size(group)


def get_device_id():
    """0: the number of this rank's device. RuntimeError when there are several ranks."""
    return get_rank_id()

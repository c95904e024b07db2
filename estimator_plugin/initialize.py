"""What a Rec SDK program calls first and last: `init` and `terminate_config_initializer`.

`init` is optional: without it the defaults of `Config` hold, and tables, lookups, optimizers and
checkpoints work. It is there for the settings themselves and because Rec SDK programs call it.
"""

import dataclasses
import difflib

from . import config, notices, patches, validate
from .distribute import cluster

_OWNER = "init"
_STEP_LIMITS = ("max_steps", "train_steps", "eval_steps")

# Parameters of either generation of the Rec SDK that have nothing to control here. Their values
# are still checked where the Rec SDK checks them, so that a typing error does not pass.
_ACCEPTED = {
    "bind_cpu": lambda v: validate.boolean(_OWNER, "bind_cpu", v),
    "use_lccl": lambda v: validate.boolean(_OWNER, "use_lccl", v),
    "use_mpi": lambda v: validate.boolean(_OWNER, "use_mpi", v),
    "use_hot": lambda v: validate.boolean(_OWNER, "use_hot", v),
    "use_shm_swap": lambda v: validate.boolean(_OWNER, "use_shm_swap", v),
    "recent_key_count_threshold": lambda v: validate.integer(
        _OWNER, "recent_key_count_threshold", v, 0, validate.INT32_MAX
    ),
    "rank_id": lambda v: validate.integer(_OWNER, "rank_id", v, 0, 4095),
    "rank_size": lambda v: validate.integer(_OWNER, "rank_size", v, 1, 4096),
    "train_interval": lambda v: validate.integer(
        _OWNER, "train_interval", v, -1, validate.INT32_MAX
    ),
}


def init(**kwargs):
    """Sets the process's settings, once, before graphs are built.

    Args:
      **kwargs: the attributes of `Config`, all optional. The other parameters of the Rec SDK
        (bind_cpu, use_lccl, use_mpi, rank_id, rank_size, train_interval, use_hot, use_shm_swap,
        recent_key_count_threshold) are accepted, checked, and said once to have no effect: a row is
        updated once a step in any case, whatever use_hot says; a process's place in a cluster is
        what TF_CONFIG says, see `ep.distribute.rank_id`; and a delta holds every row that changed,
        however rarely its key was seen. A name that nobody knows is accepted too, as in the Rec
        SDK, with a warning.

    Raises:
      ValueError: rank_id or rank_size is not what TF_CONFIG says.
      ValueError: a value is out of range or of a wrong type; or all of max_steps, train_steps and
        eval_steps that were given are 0.
      EnvironmentError: `init` was called before and `terminate_config_initializer` was not.

    >>> init(train_steps=100, eval_steps=10, save_steps=100)
    >>> config.get_config().save_steps
    100
    >>> terminate_config_initializer()

    Semantics: `mx_rec.util.initialize.init` of the Rec SDK.
    """
    fields = {field.name for field in dataclasses.fields(config.Config)}
    settings = {name: value for name, value in kwargs.items() if name in fields}
    for name in sorted(set(kwargs) - fields):
        if name in _ACCEPTED:
            _ACCEPTED[name](kwargs[name])
        else:
            _warn_unknown(name, fields.union(_ACCEPTED))
    cluster.check_rank(kwargs.get("rank_id"), kwargs.get("rank_size"))
    notices.no_meaning(_OWNER, set(kwargs).intersection(_ACCEPTED))
    limits = [settings[name] for name in _STEP_LIMITS if name in settings]
    made = config.Config(**settings)
    if limits and not any(limits):
        names = ", ".join(name for name in _STEP_LIMITS if name in settings)
        raise ValueError("%s: %s must not all be 0" % (_OWNER, names))
    config.activate(made)
    patches.install()


def terminate_config_initializer():
    """Ends what `init` began, so that `init` may be called again. Logs a warning when there is
    nothing to end, as the Rec SDK does.
    """
    if not config.deactivate():
        notices.warn_once("terminate_config_initializer: init was not called, nothing to end")
    patches.uninstall()


def _warn_unknown(name, known):
    near = difflib.get_close_matches(name, known, n=1)
    hint = "; did you mean %s?" % near[0] if near else ""
    notices.warn_once("init: unknown parameter %r is ignored%s" % (name, hint))

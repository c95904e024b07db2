"""The settings of a training process: `init`, `terminate_config_initializer`, `get_config`.

`init` is optional: without it the defaults hold, and tables, lookups, optimizers and checkpoints
work. It is there for the settings themselves and because Rec SDK programs call it.
"""

import dataclasses
import difflib
import threading
import typing

from . import constants, notices, patches, validate
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
    "rank_id": lambda v: validate.integer(_OWNER, "rank_id", v, 0, 4095),
    "rank_size": lambda v: validate.integer(_OWNER, "rank_size", v, 1, 4096),
    "train_interval": lambda v: validate.integer(
        _OWNER, "train_interval", v, -1, validate.INT32_MAX
    ),
}


@dataclasses.dataclass(frozen=True)
class Config:
    """The settings `init` takes. Frozen: a change needs a new `init`.

    Attributes:
      max_steps: int from -1, default -1. Train steps in all; -1 is until the data end.
      train_steps: int from -1, default -1. Train steps between evaluations; -1 is one pass.
      eval_steps: int from -1, default -1. Steps of one evaluation; -1 is one pass.
      save_steps: int from -1, default -1. Steps between checkpoints; -1 is only at the end.
      if_load: bool, default False. A model will be restored before training or prediction.
      use_dynamic: bool, default True. False is for static shapes: every lookup has a send_count,
        the most distinct ids of a step, and one that has more of them fails.
      use_dynamic_expansion: bool, default False. Tables grow here in either case, and every
        optimizer works by key and by address in either case.
      is_incremental_checkpoint: bool, default False. Needs the next two.
      save_checkpoint_due_time: None or int from 1. Seconds between full checkpoints.
      save_delta_checkpoints_secs: None or int from 1. Seconds between delta checkpoints.
      restore_model_version: None or int from 0. The global step to restore; None is the newest.
      recent_key_count_threshold: int from 0, default 0. Keys seen fewer times than this since the
        last checkpoint stay out of a delta.
      ascend_global_hashtable_collection: str of 1 to 255 characters, by default its own name in
        capital letters. The collection of a graph that its tables' handles join.
      prefetch_batch_number: int from 1, default 1. Batches that a pipeline which
        GraphModifierHook made has ready before a step asks for them.
    """

    max_steps: int = -1
    train_steps: int = -1
    eval_steps: int = -1
    save_steps: int = -1
    if_load: bool = False
    use_dynamic: bool = True
    use_dynamic_expansion: bool = False
    is_incremental_checkpoint: bool = False
    save_checkpoint_due_time: typing.Optional[int] = None
    save_delta_checkpoints_secs: typing.Optional[int] = None
    restore_model_version: typing.Optional[int] = None
    recent_key_count_threshold: int = 0
    prefetch_batch_number: int = 1
    ascend_global_hashtable_collection: str = constants.ASCEND_GLOBAL_HASHTABLE_COLLECTION

    def __post_init__(self):
        limit = validate.INT32_MAX
        for name in ("max_steps", "train_steps", "eval_steps", "save_steps"):
            validate.integer(_OWNER, name, getattr(self, name), -1, limit)
        for name, kind in self.__annotations__.items():
            if kind is bool:
                validate.boolean(_OWNER, name, getattr(self, name))
        for name in ("save_checkpoint_due_time", "save_delta_checkpoints_secs"):
            validate.integer(_OWNER, name, getattr(self, name), 1, limit, optional=True)
            if self.is_incremental_checkpoint and getattr(self, name) is None:
                wanted = "given, in seconds, when is_incremental_checkpoint is True"
                validate.fail(_OWNER, name, None, wanted)
        validate.integer(
            _OWNER, "restore_model_version", self.restore_model_version, 0, limit, optional=True
        )
        name = "ascend_global_hashtable_collection"
        validate.string(_OWNER, name, getattr(self, name), 255)
        validate.integer(_OWNER, "prefetch_batch_number", self.prefetch_batch_number, 1, limit)
        validate.integer(
            _OWNER, "recent_key_count_threshold", self.recent_key_count_threshold, 0, limit
        )

    def to_dict(self):
        """The settings as a plain dict; `Config(**config.to_dict()) == config`."""
        return dataclasses.asdict(self)


_DEFAULT = Config()
_lock = threading.Lock()
_active = []  # Holds the one Config that init made, until it is terminated.


def init(**kwargs):
    """Sets the process's settings, once, before graphs are built.

    Args:
      **kwargs: the attributes of `Config`, all optional. The other parameters of the Rec SDK
        (bind_cpu, use_lccl, use_mpi, rank_id, rank_size, train_interval, use_hot, use_shm_swap) are
        accepted, checked, and said once to have no effect: a row is updated once a step in any
        case, whatever use_hot says, and a process's place in a cluster is what TF_CONFIG says, see
        `ep.distribute.rank_id`. A name that nobody knows is accepted too, as in the Rec SDK, with
        a warning.

    Raises:
      ValueError: rank_id or rank_size is not what TF_CONFIG says.
      ValueError: a value is out of range or of a wrong type; or all of max_steps, train_steps and
        eval_steps that were given are 0.
      EnvironmentError: `init` was called before and `terminate_config_initializer` was not.

    >>> init(train_steps=100, eval_steps=10, save_steps=100)
    >>> get_config().save_steps
    100
    >>> terminate_config_initializer()

    Semantics: `mx_rec.util.initialize.init` of the Rec SDK.
    """
    fields = {field.name for field in dataclasses.fields(Config)}
    settings = {name: value for name, value in kwargs.items() if name in fields}
    for name in sorted(set(kwargs) - fields):
        if name in _ACCEPTED:
            _ACCEPTED[name](kwargs[name])
        else:
            _warn_unknown(name, fields.union(_ACCEPTED))
    cluster.check_rank(kwargs.get("rank_id"), kwargs.get("rank_size"))
    notices.no_meaning(_OWNER, set(kwargs).intersection(_ACCEPTED))
    limits = [settings[name] for name in _STEP_LIMITS if name in settings]
    config = Config(**settings)
    if limits and not any(limits):
        names = ", ".join(name for name in _STEP_LIMITS if name in settings)
        raise ValueError("%s: %s must not all be 0" % (_OWNER, names))
    with _lock:
        if _active:
            raise EnvironmentError(  # noqa: UP024 - the name Rec SDK programs know.
                "init was called twice; call terminate_config_initializer() before a second init"
            )
        _active.append(config)
        patches.install()


def terminate_config_initializer():
    """Ends what `init` began, so that `init` may be called again. Logs a warning when there is
    nothing to end, as the Rec SDK does.
    """
    with _lock:
        if not _active:
            notices.warn_once("terminate_config_initializer: init was not called, nothing to end")
        del _active[:]
        patches.uninstall()


def get_config():
    """The `Config` that `init` made, or the defaults when `init` was not called."""
    with _lock:
        return _active[0] if _active else _DEFAULT


def is_initialized():
    """Whether `init` was called and not terminated since."""
    with _lock:
        return bool(_active)


def change(**settings):
    """Replaces some of the settings that `init` made; for programs that decide late, as those of
    the Rec SDK do with `if_load`.

    Args:
      **settings: attributes of `Config`.

    Raises:
      EnvironmentError: `init` was not called.
      ValueError: a value is of a wrong type or out of range; the settings are as they were.
    """
    with _lock:
        if not _active:
            raise EnvironmentError(  # noqa: UP024 - the name Rec SDK programs know.
                "there are no settings to change yet; call init() first"
            )
        _active[0] = dataclasses.replace(_active[0], **settings)


def _warn_unknown(name, known):
    near = difflib.get_close_matches(name, known, n=1)
    hint = "; did you mean %s?" % near[0] if near else ""
    notices.warn_once("init: unknown parameter %r is ignored%s" % (name, hint))

"""The settings of a training process, which `init` makes: `Config`, `get_config`."""

import dataclasses
import threading
import typing

from . import constants, validate

_OWNER = "init"


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

    def to_dict(self):
        """The settings as a plain dict; `Config(**config.to_dict()) == config`."""
        return dataclasses.asdict(self)


_DEFAULT = Config()
_lock = threading.Lock()
_active = []  # Holds the one Config that init made, until it is terminated.


def activate(config):
    """Makes `config` that of the process, until `deactivate`.

    Raises:
      EnvironmentError: another one is active.
    """
    with _lock:
        if _active:
            raise EnvironmentError(  # noqa: UP024 - the name Rec SDK programs know.
                "init was called twice; call terminate_config_initializer() before a second init"
            )
        _active.append(config)


def deactivate():
    """The defaults hold again. Returns whether there was a config to end."""
    with _lock:
        was_active = bool(_active)
        del _active[:]
        return was_active


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

"""The Rec SDK's view of the settings: `ConfigInitializer` and the functions around it.

Nothing is kept here; everything is asked of, and told to, `estimator_plugin.config`.
"""

import os

from .. import config, initialize, validate
from . import sub_configs

_READABLE = (
    "use_dynamic_expansion",
    "save_checkpoint_due_time",
    "save_delta_checkpoints_secs",
    "is_incremental_checkpoint",
    "restore_model_version",
)
_CHANGEABLE = ("max_steps", "train_steps", "eval_steps", "save_steps", "if_load")


def init(**kwargs):
    """`estimator_plugin.init`, and a JOB_ID in the environment, which NPUEstimator asks for.

    Semantics: `mx_rec.util.initialize.init` of the Rec SDK.
    """
    initialize.init(**kwargs)
    os.environ.setdefault("JOB_ID", "10086")


class ConfigInitializer:
    """The settings as Rec SDK programs read them: `ConfigInitializer.get_instance().if_load`.

    Attributes:
      max_steps, train_steps, eval_steps, save_steps, if_load: as in `estimator_plugin.Config`; they
        can be set, and are checked as `init` checks them.
      use_static: bool, the opposite of `estimator_plugin.Config`'s use_dynamic; it can be set.
      use_dynamic_expansion, save_checkpoint_due_time, save_delta_checkpoints_secs,
        is_incremental_checkpoint, restore_model_version: as there, to be read only.
      train_params_config, sparse_embed_config, hybrid_manager_config: see `sub_configs`. The Rec
        SDK's feature_spec_config and optimizer_config have no counterpart.
    """

    train_params_config = sub_configs.TrainParamsConfig()
    sparse_embed_config = sub_configs.SparseEmbedConfig()
    hybrid_manager_config = sub_configs.HybridManagerConfig()

    @staticmethod
    def get_instance():
        """The one instance.

        Raises:
          EnvironmentError: `init` was not called, or was terminated.
        """
        if not config.is_initialized():
            raise EnvironmentError(  # noqa: UP024 - the name Rec SDK programs know.
                "ConfigInitializer: there are no settings yet; call init() first"
            )
        return _INSTANCE

    @property
    def use_static(self):
        return not config.get_config().use_dynamic

    @use_static.setter
    def use_static(self, value):
        config.change(use_dynamic=not validate.boolean("ConfigInitializer", "use_static", value))


def _readable(name):
    return property(lambda self: getattr(config.get_config(), name))


def _changeable(name):
    return _readable(name).setter(lambda self, value: config.change(**{name: value}))


for _name in _READABLE:
    setattr(ConfigInitializer, _name, _readable(_name))
for _name in _CHANGEABLE:
    setattr(ConfigInitializer, _name, _changeable(_name))

_INSTANCE = ConfigInitializer()


def get_use_dynamic_expansion():
    """Whether `init(use_dynamic_expansion=True)` was called. EnvironmentError before `init`."""
    return ConfigInitializer.get_instance().use_dynamic_expansion


def set_if_load(if_load=False):
    """Says whether a model will be restored: a bool. EnvironmentError before `init`."""
    ConfigInitializer.get_instance().if_load = if_load

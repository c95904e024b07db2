"""Which names of the Rec SDK and of the NPU's TensorFlow adapter there are, and what they are here.

`MODULES` maps a module to its names, and a name to `module` or `module:attribute` of this plugin.
It is looked into when a program asks for a name, not before: a name whose place here does not exist
(yet) raises ImportError, and begins to work when the place does.
"""

_EP = "estimator_plugin:"
_HOOKS = "estimator_plugin.hooks:"
_CONSTANTS = "estimator_plugin.constants:"
_OPTIMIZERS = "estimator_plugin.optimizers."
_SETTINGS = "estimator_plugin.compat.settings:"
_NPU = "estimator_plugin.compat.npu."

# Of the old tree and of the documentation's examples; the new tree has the first three only.
_INITIALIZE = {
    "init": _SETTINGS + "init",
    "terminate_config_initializer": _EP + "terminate_config_initializer",
    "ConfigInitializer": _SETTINGS + "ConfigInitializer",
    "get_initializer": _EP + "get_initializer",
    "get_rank_id": _NPU + "ranks:get_rank_id",
    "get_rank_size": _NPU + "ranks:get_rank_size",
    "get_use_dynamic_expansion": _SETTINGS + "get_use_dynamic_expansion",
    "set_if_load": _SETTINGS + "set_if_load",
    "clear_channel": _EP + "clear_channel",
}
_FEATURE_SPEC = {"FeatureSpec": _EP + "FeatureSpec"}
_MODIFIER = {
    "modify_graph_and_start_emb_cache": _EP + "modify_graph_and_start_emb_cache",
    "GraphModifierHook": _HOOKS + "GraphModifierHook",
}
_SLICERS = {
    "LookupSubgraphSlicerHook": _HOOKS + "LookupSubgraphSlicerHook",
    "OrphanLookupKeySlicerHook": _HOOKS + "OrphanLookupKeySlicerHook",
}
_HCCL_OPS = {"hccl_ops": _NPU + "hccl_ops"}
_COLLECTIONS = (
    "ASCEND_GLOBAL_HASHTABLE_COLLECTION",
    "ASCEND_SPARSE_LOOKUP_ENTRANCE",
    "ASCEND_SPARSE_LOOKUP_LOCAL_EMB",
    "ASCEND_SPARSE_LOOKUP_ID_OFFSET",
    "ASCEND_CUTTING_POINT_INITIALIZER",
    "ASCEND_TIMESTAMP",
)


def _factory(module, function):
    return {function: "%s%s:%s" % (_OPTIMIZERS, module, function)}


_REC_SDK = {
    "mx_rec": {"__version__": _EP + "__version__", "version": _EP + "__version__"},
    "mx_rec.constants.constants": {name: _CONSTANTS + name for name in _COLLECTIONS},
    "mx_rec.core.asc": dict(_FEATURE_SPEC),
    "mx_rec.core.asc.feature_spec": dict(_FEATURE_SPEC),
    "mx_rec.core.asc.helper": dict(_FEATURE_SPEC, get_asc_insert_func=_EP + "get_asc_insert_func"),
    "mx_rec.core.asc.manager": {"start_asc_pipeline": _EP + "start_asc_pipeline"},
    "mx_rec.core.embedding": {
        "create_table": _EP + "create_table",
        "sparse_lookup": _EP + "sparse_lookup",
    },
    "mx_rec.core.feature_process": {"EvictHook": _HOOKS + "EvictHook"},
    "mx_rec.graph": dict(_SLICERS, GraphModifierHook=_HOOKS + "GraphModifierHook"),
    "mx_rec.graph.hooks": dict(_SLICERS),
    "mx_rec.graph.merge_lookup": {"do_merge_lookup": _EP + "do_merge_lookup"},
    "mx_rec.graph.modifier": dict(_MODIFIER),
    "mx_rec.optimizers.adagrad": _factory("adagrad", "create_hash_optimizer"),
    "mx_rec.optimizers.adagrad_by_addr": _factory(
        "adagrad_by_addr", "create_hash_optimizer_by_address"
    ),
    "mx_rec.optimizers.ftrl": _factory("ftrl", "create_hash_optimizer"),
    "mx_rec.optimizers.gradient_descent": _factory("gradient_descent", "create_hash_optimizer"),
    "mx_rec.optimizers.gradient_descent_by_addr": _factory(
        "gradient_descent_by_addr", "create_hash_optimizer_by_addr"
    ),
    "mx_rec.optimizers.lazy_adam": _factory("lazy_adam", "create_hash_optimizer"),
    "mx_rec.optimizers.lazy_adam_by_addr": _factory(
        "lazy_adam_by_addr", "create_hash_optimizer_by_address"
    ),
    "mx_rec.saver.sparse": {"export": "estimator_plugin.compat.export:export"},
    "mx_rec.util.initialize": _INITIALIZE,
    "mx_rec.util.ops": {"import_host_pipeline_ops": _EP + "import_host_pipeline_ops"},
    "mx_rec.util.tf_version_adapter": dict(_HCCL_OPS),
    "mx_rec.util.variable": {
        "get_dense_and_sparse_variable": _EP + "get_dense_and_sparse_variable"
    },
}

_RANKS = {
    name: _NPU + "ranks:" + name
    for name in ("get_rank_id", "get_rank_size", "get_local_rank_size", "get_device_id")
}
_CONFIG = {
    name: _NPU + "run_config:" + name
    for name in ("NPURunConfig", "ProfilingConfig", "DumpConfig", "DynamicInputConfig")
}
_ESTIMATOR = {name: _NPU + "estimator:" + name for name in ("NPUEstimator", "NPUEstimatorSpec")}
_NPU_HOOKS = {
    name: _NPU + "hooks:" + name
    for name in ("NPUBroadcastGlobalVariablesHook", "NPUCheckpointSaverHook")
}
_LOSS_SCALES = {
    name: _NPU + "loss_scale:" + name
    for name in ("FixedLossScaleManager", "ExponentialUpdateLossScaleManager")
}
_LOSS_SCALE_OPTIMIZER = {"NPULossScaleOptimizer": _NPU + "loss_scale:NPULossScaleOptimizer"}
_APPEND = {"npu_hooks_append": _NPU + "hooks:npu_hooks_append"}
_NPU_INIT = dict(
    RewriterConfig=_NPU + "session_config:RewriterConfig",
    npu_config_proto=_NPU + "session_config:npu_config_proto",
    **_APPEND,
    **_CONFIG,
    **_ESTIMATOR,
    **_NPU_HOOKS,
    **_LOSS_SCALES,
    **_LOSS_SCALE_OPTIMIZER,
    **_HCCL_OPS,
    **_RANKS,
)

# Below npu_bridge with TensorFlow 1.15, below npu_device.compat.v1 with TensorFlow 2.
_ADAPTER = {
    "npu_init": _NPU_INIT,
    "estimator.npu.npu_config": _CONFIG,
    "estimator.npu.npu_estimator": dict(_ESTIMATOR, NPURunConfig=_CONFIG["NPURunConfig"]),
    "estimator.npu.npu_hook": _NPU_HOOKS,
    "estimator.npu.npu_loss_scale_manager": _LOSS_SCALES,
    "estimator.npu.npu_loss_scale_optimizer": _LOSS_SCALE_OPTIMIZER,
    "hccl.hccl_ops": {
        name: _NPU + "hccl_ops:" + name
        for name in ("allreduce", "allgather", "broadcast", "reduce", "reduce_scatter")
    },
}

_STAND_INS = {
    "hccl.manage.api": _RANKS,
    "npu_device.compat": {"enable_v1": _NPU + "session_config:enable_v1"},
    "rec_sdk_common": {},
    "rec_sdk_common.communication.hccl.hccl_info": _RANKS,
    "rec_sdk_common.util.tf_adapter": dict(_NPU_INIT),
    "tf_adapter": dict(_NPU_INIT),
}
for _root in ("npu_bridge", "npu_device.compat.v1"):
    _STAND_INS.update({"%s.%s" % (_root, name): names for name, names in _ADAPTER.items()})

MODULES = dict(_REC_SDK, **_STAND_INS)

# The package that the layer is there to answer for, wherever else it may be installed.
OWN = ("mx_rec",)
# Packages that it answers for only where they are not installed.
STAND_INS = tuple(sorted({name.partition(".")[0] for name in _STAND_INS}))

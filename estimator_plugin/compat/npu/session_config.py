"""What an NPUEstimator puts into the session's configuration, and a program for NPUs by hand."""

import tensorflow as tf

OPTIMIZER = "NpuOptimizer"

RewriterConfig = type(tf.compat.v1.GraphOptions().rewrite_options)

# The passes of TensorFlow that run beside the device's own, the last.
_PASSES = (
    "pruning",
    "function",
    "constfold",
    "shape",
    "arithmetic",
    "loop",
    "dependency",
    "layout",
    "GradFusionOptimizer",
)


def add_optimizer(session_config, options):
    """Adds the entry that tells the device its options; a CPU knows no such optimizer and goes on.

    Args:
      session_config: tf.compat.v1.ConfigProto, changed in place: twice, and it has two entries.
      options: dict from option to None, bool, int, str or an object; those of None are left out.
    """
    rewrite = session_config.graph_options.rewrite_options
    rewrite.optimizers.extend(_PASSES)
    entry = rewrite.custom_optimizers.add(name=OPTIMIZER)
    for name, value in sorted(options.items()):
        if isinstance(value, bool):
            entry.parameter_map[name].b = value
        elif isinstance(value, int):
            entry.parameter_map[name].i = value
        elif value is not None:
            entry.parameter_map[name].s = tf.compat.as_bytes(str(value))


def npu_config_proto(config_proto=None):
    """`config_proto` (default: a new one) with an `NpuOptimizer` entry, remapping off.

    Semantics: npu_config_proto of the NPU's TensorFlow adapter.
    """
    config_proto = config_proto if config_proto is not None else tf.compat.v1.ConfigProto()
    rewrite = config_proto.graph_options.rewrite_options
    if not any(entry.name == OPTIMIZER for entry in rewrite.custom_optimizers):
        rewrite.custom_optimizers.add(name=OPTIMIZER)
    rewrite.remapping = RewriterConfig.OFF
    return config_proto


def enable_v1():
    """As `npu_device.compat.enable_v1`: TensorFlow 2 behaves as TensorFlow 1 from here on."""
    tf.compat.v1.disable_v2_behavior()

"""From a TensorFlow initializer to what a table needs to start its rows.

A table draws each new row from (seed, key) alone, so a key starts the same in whatever order keys
arrive. The usual initializers are drawn natively; every other TensorFlow initializer is asked once
for a bank of rows, and each key takes the row of the bank that its hash names.
"""

import collections
import hashlib
import math
import numbers

import numpy as np
import tensorflow as tf

from . import validate

_BANK_ROWS = 4096
_BANK_VALUES = (4 << 20) // 4  # 4 MiB of float32.

# kind and arguments: ops/core/initializer.h. `bank` is a callable that gives the float32 [r, dim]
# tensor of kind "bank", None otherwise.
InitializerSpec = collections.namedtuple("InitializerSpec", ["kind", "arguments", "seed", "bank"])

# A truncated normal of standard deviation 1 has this one; TensorFlow divides by it.
_TRUNCATED_STDDEV = 0.87962566103423978


def spec_of(table_name, initializer, dim, init_param=1.0):
    """How rows of a table start.

    Args:
      table_name: the table's name; part of the seed when the initializer has none.
      initializer: an instance of a TensorFlow initializer (`tf.compat.v1`, `tf` or Keras). Zeros,
        Ones, Constant, RandomUniform, RandomNormal, TruncatedNormal and VarianceScaling with its
        descendants (Glorot, He, LeCun) are drawn natively; a growing table has no number of rows,
        so both fans of VarianceScaling are `dim`. Any other is called once, with shape [rows, dim].
      dim: the width of a row.
      init_param: a factor on every starting value.

    Returns:
      An InitializerSpec. Its seed is the initializer's own when it has one; otherwise it follows
      from the table's name and the graph's seed (`tf.compat.v1.set_random_seed`), so tables
      differ from each other and two runs of one program do not.

    Raises:
      ValueError: `initializer` is no instance of a TensorFlow initializer.
    """
    owner = "table %r" % table_name
    if not _is_initializer(initializer):
        validate.fail(
            owner,
            "emb_initializer",
            initializer,
            "an instance of a TensorFlow initializer, e.g. tf.compat.v1.zeros_initializer()",
        )
    seed = _seed_of(table_name, initializer)
    family = _native_family(initializer)
    if family is not None:
        native = _NATIVE[family](owner, initializer, dim, init_param)
        if native is not None and all(isinstance(x, numbers.Real) for x in native[1]):
            return InitializerSpec(native[0], [float(x) for x in native[1]], seed, None)
    bank = _bank_of(owner, initializer, dim, init_param, seed)
    return InitializerSpec("bank", [], seed, bank)


def _is_tensorflow_class(cls):
    return cls.__module__.split(".")[0] in ("tensorflow", "tensorflow_core", "keras", "tf_keras")


def _is_initializer(value):
    return not isinstance(value, type) and any(
        cls.__name__ == "Initializer" and _is_tensorflow_class(cls) for cls in type(value).__mro__
    )


def _native_family(initializer):
    """The name in `_NATIVE` of what `initializer` draws, None if it draws in a way of its own."""
    cls = type(initializer)
    for base in cls.__mro__:
        if base.__name__ in _NATIVE and _is_tensorflow_class(base):
            return base.__name__ if cls.__call__ is base.__call__ else None
    return None


def _constant(owner, initializer, dim, factor):
    value = np.asarray(initializer.value, dtype=np.float64)
    if value.size == 1:
        return "constant", [value.item() * factor]
    if value.size != dim:
        validate.fail(owner, "emb_initializer", initializer.value, "one constant or %d" % dim)
    return None


def _uniform(unused_owner, initializer, unused_dim, factor):
    low = 0.0 if initializer.minval is None else initializer.minval
    high = 1.0 if initializer.maxval is None else initializer.maxval
    return "uniform", sorted([low * factor, high * factor])


def _normal(unused_owner, initializer, unused_dim, factor):
    return "normal", [initializer.mean * factor, abs(initializer.stddev * factor)]


def _truncated_normal(unused_owner, initializer, unused_dim, factor):
    return "truncated_normal", [initializer.mean * factor, abs(initializer.stddev * factor)]


def _variance_scaling(unused_owner, initializer, dim, factor):
    variance = initializer.scale / max(1.0, float(dim))
    factor = abs(factor)
    if initializer.distribution == "uniform":
        limit = math.sqrt(3.0 * variance) * factor
        return "uniform", [-limit, limit]
    if initializer.distribution == "untruncated_normal":
        return "normal", [0.0, math.sqrt(variance) * factor]
    return "truncated_normal", [0.0, math.sqrt(variance) / _TRUNCATED_STDDEV * factor]


_NATIVE = {
    "Zeros": lambda owner, initializer, dim, factor: ("constant", [0.0]),
    "Ones": lambda owner, initializer, dim, factor: ("constant", [factor]),
    "Constant": _constant,
    "RandomUniform": _uniform,
    "RandomNormal": _normal,
    "TruncatedNormal": _truncated_normal,
    "VarianceScaling": _variance_scaling,
}


def _seed_of(table_name, initializer):
    seed = getattr(initializer, "seed", None)
    if isinstance(seed, (int, np.integer)):
        return int(np.uint64(int(seed) & 0xFFFFFFFFFFFFFFFF).astype(np.int64))
    text = "%s\n%s" % (table_name, tf.compat.v1.get_default_graph().seed)
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return int(np.frombuffer(digest[:8], dtype="<i8")[0])


def _bank_of(owner, initializer, dim, factor, seed):
    """A callable that makes the tensor of pre-drawn rows where it is called."""
    rows = max(1, min(_BANK_ROWS, _BANK_VALUES // dim))
    if isinstance(getattr(initializer, "value", None), (list, tuple, np.ndarray)):
        rows = 1  # A constant row.

    def make():
        graph = tf.compat.v1.get_default_graph()
        seed_before = graph.seed
        if seed_before is None:  # Else two runs of one program would draw different banks.
            graph.seed = seed & 0x7FFFFFFF
        try:
            bank = initializer([rows, dim], dtype=tf.float32)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "%s: emb_initializer %s cannot draw rows of shape [%d, %d]: %s"
                % (owner, type(initializer).__name__, rows, dim, error)
            ) from error
        finally:
            graph.seed = seed_before
        return tf.cast(bank, tf.float32) * factor

    return make

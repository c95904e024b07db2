"""The checks of create_table's arguments, and what remains of them: TableOptions."""

import collections
import numbers
import os

import tensorflow as tf

from . import admission, constants, eviction, notices, validate

TableOptions = collections.namedtuple(
    "TableOptions",
    [
        "name",
        "dim",
        "key_dtype",
        "num_buckets",
        "is_save",
        "is_dp",
        "init_param",
        "padding_keys",
        "padding_keys_len",  # None without padding keys.
        "admission",  # A filter of `admission`.
        "eviction",  # A tuple of policies of `eviction`.
    ],
)

_INT64_MIN = -(1 << 63)
_INT64_MAX = (1 << 63) - 1

# Arguments with nothing to control here: check and value that needs no remark.
_ACCEPTED = {
    "device_vocabulary_size": (lambda o, n, v: validate.integer(o, n, v, 1, _vocabulary()), 1),
    "host_vocabulary_size": (lambda o, n, v: validate.integer(o, n, v, 0, _vocabulary()), 0),
    "ssd_vocabulary_size": (lambda o, n, v: validate.integer(o, n, v, 0, _vocabulary()), 0),
    "is_dp": (validate.boolean, False),
    "all2all_gradients_op": (
        lambda o, n, v: validate.choice(
            o, n, v, ["sum_gradients", "sum_gradients_and_div_by_ranksize"]
        ),
        "sum_gradients",
    ),
    "shard_num": (lambda o, n, v: validate.integer(o, n, v, 1, 8192), 1),
    "fusion_optimizer_var": (validate.boolean, True),
    "hashtable_threshold": (lambda o, n, v: validate.integer(o, n, v, 0, validate.INT32_MAX), 0),
    "optimizer_list": (lambda o, n, v: None, None),
}


def _vocabulary():
    return constants.MAX_VOCABULARY


def normal_name(name, owner="create_table", argument="name"):
    """The name a table goes by: `name` without dots, as in the Rec SDK.

    Raises:
      ValueError: `name` is not 1 to 100 of the characters 0-9, A-Z, a-z, `_` and `.`, or what is
        left of it does not begin with a letter or a digit.
    """
    validate.string(owner, argument, name, 100, pattern="[0-9A-Za-z_.]")
    normal = name.replace(".", "")
    if not normal or normal[0] == "_":
        validate.fail(
            owner, argument, name, "a name that begins with a letter or a digit, dots aside"
        )
    if normal != name:
        notices.warn_once("table %r is called %r: dots are left out" % (name, normal))
    return normal


def checked_options(name, key_dtype, dim, value_dtype, num_buckets, is_save, init_param, others):
    """TableOptions out of create_table's arguments; `others` maps the remaining names to values.

    Raises:
      ValueError: an argument is of a wrong type or out of range.
    """
    normal = normal_name(name)
    owner = "table %r" % normal
    if key_dtype not in (tf.int64, tf.int32):
        validate.fail(owner, "key_dtype", key_dtype, "tf.int64 or tf.int32")
    if value_dtype != tf.float32:
        validate.fail(owner, "value_dtype", value_dtype, "tf.float32")
    validate.integer(owner, "num_buckets", num_buckets, 1, constants.MAX_BUCKETS)
    if num_buckets & (num_buckets - 1):
        validate.fail(owner, "num_buckets", num_buckets, "a power of two")
    for argument, (check, _) in _ACCEPTED.items():
        check(owner, argument, others[argument])
    _check_ssd(owner, others)
    notices.no_meaning(
        "create_table", [n for n, (_, silent) in _ACCEPTED.items() if others[n] != silent]
    )
    padding_keys, padding_keys_len = _padding_keys(owner, others)
    return TableOptions(
        name=normal,
        dim=_dim(owner, dim),
        key_dtype=tf.as_dtype(key_dtype),
        num_buckets=int(num_buckets),
        is_save=validate.boolean(owner, "is_save", is_save),
        is_dp=others["is_dp"],
        init_param=validate.real(owner, "init_param", init_param, -10, 10),
        padding_keys=padding_keys,
        padding_keys_len=padding_keys_len,
        admission=admission.checked_filter(owner, others["admission"]),
        eviction=eviction.checked_policies(owner, others["eviction"]),
    )


def _dim(owner, dim):
    value = dim
    if isinstance(dim, tf.TensorShape):
        if dim.rank != 1 or dim.as_list()[0] is None:
            validate.fail(owner, "dim", dim, "an int or a tf.TensorShape of one known dimension")
        value = dim.as_list()[0]
    return validate.integer(owner, "dim", value, 1, constants.MAX_DIM)


def _check_ssd(owner, others):
    paths = others["ssd_data_path"]
    if not isinstance(paths, (list, tuple)) or not paths:
        validate.fail(owner, "ssd_data_path", paths, "a list of at least one directory")
    for path in paths:
        validate.string(owner, "ssd_data_path", path, 1024)
    if others["ssd_vocabulary_size"] == 0:
        return
    if others["host_vocabulary_size"] == 0:
        validate.fail(owner, "host_vocabulary_size", 0, "above 0 when ssd_vocabulary_size is")
    for path in paths:
        if ".." in path.split(os.sep) or not os.path.isdir(path):
            validate.fail(owner, "ssd_data_path", path, "an existing directory, without '..'")


def _padding_keys(owner, others):
    """(the keys whose rows take no update, as a sorted tuple, padding_keys_len); without padding
    keys, an empty tuple and None."""
    keys, mask = others["padding_keys"], others["padding_keys_mask"]
    length = validate.integer(
        owner, "padding_keys_len", others["padding_keys_len"], 1, validate.INT32_MAX, optional=True
    )
    validate.boolean(owner, "padding_keys_mask", mask)
    if keys is None:
        if mask:
            validate.fail(owner, "padding_keys", None, "given when padding_keys_mask is True")
        return (), None
    if isinstance(keys, numbers.Integral) and not isinstance(keys, bool):
        keys = [keys]
    if not isinstance(keys, (list, tuple)) or not keys:
        validate.fail(owner, "padding_keys", keys, "None, an int, or a list of at least one int")
    for key in keys:
        validate.integer(owner, "padding_keys", key, _INT64_MIN, _INT64_MAX)
    if not mask:
        validate.fail(owner, "padding_keys_mask", mask, "True when padding_keys are given")
    if length is None:
        validate.fail(owner, "padding_keys_len", None, "given when padding_keys are")
    return tuple(sorted(set(int(key) for key in keys))), length

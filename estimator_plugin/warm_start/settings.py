"""What `tf.estimator.WarmStartSettings` says, one `Source` for each path."""

import collections

import tensorflow as tf

from .. import validate
from ..checkpoint import reader

_OWNER = "warm start"

Source = collections.namedtuple(
    "Source",
    [
        "path",  # str, as given.
        "with_slots",  # bool, whether tables bring their optimizer's slots along.
        "variables",  # None, a pattern, or a list of patterns, or of variables and tables.
        "vocabularies",  # dict from a variable's name to a tf.estimator.VocabInfo.
        "previous_names",  # dict from a name in the graph to the name in the checkpoint.
    ],
)


class WithoutSlots(str):
    """A path whose tables start with fresh optimizer slots.

    It goes wherever a path goes, also into a list of them:

        tf.estimator.WarmStartSettings(ep.warm_start.WithoutSlots("/tmp/old"))

    By default slots come along, and those that the new optimizer does not know are dropped.
    """


class PathList(tuple):
    """Several paths in the place of one."""

    def __fspath__(self):
        # Only Estimator.export_saved_model asks, in a model_dir without a checkpoint: it would
        # export the one checkpoint that warm start names.
        raise ValueError(
            "%s: there is no checkpoint to use yet, only %d to start from (%s); train first"
            % (_OWNER, len(self), ", ".join(self))
        )


def sources_of(
    ckpt_to_initialize_from,
    vars_to_warm_start=".*",
    var_name_to_vocab_info=None,
    var_name_to_prev_var_name=None,
):
    """The Sources of a WarmStartSettings' four fields, in the order they are applied.

    Nothing is read.

    Raises:
      ValueError: a field is of a wrong type, or lists are of unequal length.
    """
    fields = [vars_to_warm_start, var_name_to_vocab_info, var_name_to_prev_var_name]
    if not isinstance(ckpt_to_initialize_from, (list, tuple)):
        return [_source(ckpt_to_initialize_from, *fields)]
    count = len(ckpt_to_initialize_from)
    if not count:
        validate.fail(_OWNER, "ckpt_to_initialize_from", [], "a path or a list of paths")
    names = ("vars_to_warm_start", "var_name_to_vocab_info", "var_name_to_prev_var_name")
    defaults = (".*", {}, {})
    lists = [
        _list_of(name, value, default, count)
        for name, value, default in zip(names, fields, defaults)
    ]
    return [_source(*values) for values in zip(ckpt_to_initialize_from, *lists)]


def find(source):
    """The prefix of a Source's checkpoint.

    Raises:
      ValueError: there is none.
    """
    prefix = reader.find_checkpoint(source.path)
    if prefix is None:
        validate.fail(
            _OWNER,
            "ckpt_to_initialize_from",
            source.path,
            "the prefix of a checkpoint, a directory with one, or the directory of a SavedModel",
        )
    return prefix


def _list_of(name, value, default, count):
    """`value` as a list for `count` paths; what was not given holds for each path."""
    if value is None or value == default:
        return [default] * count
    wanted = "a list of %d, one for each path of ckpt_to_initialize_from" % count
    if not isinstance(value, (list, tuple)):
        validate.fail(_OWNER, name, value, wanted)
    if len(value) != count:
        raise ValueError("%s: %s must be %s, got %d" % (_OWNER, name, wanted, len(value)))
    return list(value)


def _source(path, variables, vocabularies, previous_names):
    if isinstance(path, bytes):
        path = path.decode("utf-8")
    if not isinstance(path, str) or not path:
        validate.fail(_OWNER, "ckpt_to_initialize_from", path, "a path")
    if isinstance(variables, tuple):
        variables = list(variables)
    if variables is not None and not isinstance(variables, (str, list)):
        variables = [variables]  # A variable or a table.
    if isinstance(variables, list) and not variables:
        validate.fail(_OWNER, "vars_to_warm_start", variables, "a pattern or a list that has some")
    if isinstance(variables, list):
        _check_items(variables)
    for name, value in (
        ("var_name_to_vocab_info", vocabularies),
        ("var_name_to_prev_var_name", previous_names),
    ):
        if value is not None and not isinstance(value, dict):
            validate.fail(_OWNER, name, value, "a dict from names of this graph")
    with_slots = not isinstance(path, WithoutSlots)
    return Source(path, with_slots, variables, dict(vocabularies or {}), dict(previous_names or {}))


def _check_items(items):
    strings = [isinstance(item, str) for item in items]
    if all(strings):
        return
    wanted = "a pattern, a list of patterns, or a list of variables and tables"
    if any(strings):
        validate.fail(_OWNER, "vars_to_warm_start", items, wanted)
    for item in items:
        if not isinstance(item, (tf.Variable, tf.Tensor)) and not hasattr(item, "handle"):
            validate.fail(_OWNER, "vars_to_warm_start", item, wanted)

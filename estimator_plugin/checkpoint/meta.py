"""What a checkpoint says about a table: the reader of the tensor `<table>/meta`.

The text is one `name=value` line per fact; ops/core/table_meta.cc writes it.
"""

import collections

FORMAT_VERSION = 1

TableMeta = collections.namedtuple(
    "TableMeta",
    [
        "format_version",  # int.
        "hash_version",  # int, see estimator_plugin.hashing.
        "key_dtype",  # "int64" or "int32".
        "value_dtype",  # "float32".
        "num_buckets",  # int.
        "dim",  # int.
        "slots",  # Tuple of (name, initial value), in row order.
        "initializer",  # str, the kind.
        "initializer_arguments",  # Tuple of floats.
        "seed",  # int, 0 to 2^64 - 1.
        "save_id",  # int, drawn anew for each save of the table.
        "parent",  # str, the checkpoint in the same directory that a delta is relative to, or "".
        "parent_id",  # int, the parent's save_id.
        "clock",  # int, the latest time of a lookup that noted it; -1 for none.
        "access_threshold",  # int, what a key's count must reach; -1 for no threshold.
        "configured_threshold",  # int, what the program said; another than set_threshold's may be.
        "frozen",  # int, 1 while counts stand still.
    ],
)

_INTEGERS = ("format_version", "hash_version", "num_buckets", "dim", "seed", "save_id", "parent_id")
# Fields that tables of before admission lack.
_ADMISSION = {"clock": -1, "access_threshold": -1, "configured_threshold": -1, "frozen": 0}


def parse_meta(text):
    """The TableMeta in `text`, str or bytes. Fields this version does not know are left out.

    Raises:
      ValueError: `text` is not a table's meta, or of a format newer than this version reads.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    fields = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if not equals:
            raise ValueError("not a table's meta: line without '=': %r" % line)
        fields[name] = value
    missing = [n for n in TableMeta._fields if n not in fields and n not in _ADMISSION]
    if missing:
        raise ValueError("not a table's meta: no field %s" % ", ".join(missing))
    values = {name: fields.get(name, _ADMISSION.get(name)) for name in TableMeta._fields}
    for name in _INTEGERS + tuple(_ADMISSION):
        values[name] = int(values[name])
    if not 1 <= values["format_version"] <= FORMAT_VERSION:
        raise ValueError(
            "a table of checkpoint format %d; this version reads formats 1 to %d"
            % (values["format_version"], FORMAT_VERSION)
        )
    values["slots"] = tuple(_slot(slot) for slot in _parts(values["slots"]))
    values["initializer_arguments"] = tuple(
        float(argument) for argument in _parts(values["initializer_arguments"])
    )
    return TableMeta(**values)


def _parts(text):
    return [part for part in text.split(",") if part]


def _slot(text):
    name, colon, value = text.partition(":")
    if not colon:
        raise ValueError("not a table's meta: slot without initial value: %r" % text)
    return name, float(value)

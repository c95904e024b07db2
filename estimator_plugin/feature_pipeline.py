"""`get_asc_insert_func` and `start_asc_pipeline`: how FeatureSpecs and batches come together."""

import collections

import tensorflow as tf

from . import batches, notices, thresholds, timestamps, validate
from .feature_spec import FeatureSpec

_OWNER = "get_asc_insert_func"
_NO_TIMESTAMP = 0

Place = collections.namedtuple(
    "Place",
    [
        "index",  # Where the ids are in a mapped batch.
        "timestamp_index",  # Where its timestamp is, or None.
        "thresholds",  # Those of all specs of the table together.
    ],
)
# What a lookup learns from a FeatureSpec and a batch.
Found = collections.namedtuple("Found", ["ids", "thresholds", "timestamp"])


def get_asc_insert_func(tgt_key_specs=None, args_index_list=None, table_names=None, **kwargs):
    """A function for `dataset.map` that checks batches and makes them ready for lookups.

    A batch comes out as it went in, with one scalar added, the int64 timestamp of the batch or 0,
    as the Rec SDK adds one: to a dict under the key `<last of its sorted keys>_read_emb_key`, to a
    pair as the last part of the first, to any other tuple as its last part; a single tensor
    becomes a pair. Map it after `batch`, and give the batch to `sparse_lookup` as it comes out.

    Args:
      tgt_key_specs: a FeatureSpec, or a list of them. A spec whose ids a dict batch lacks is left
        out, which is said once; its lookup then fails.
      args_index_list: list of ints instead, positions of ids in the batch; needs table_names, a
        list of as many strings. Lookups then take ids and thresholds themselves.
      **kwargs: is_training: None or bool, default True, whether the dataset is for training.
        dump_graph: None or bool, accepted. Others are accepted, said once to have no effect.

    Returns:
      A function from the parts of a dataset's element to an element.

    Raises:
      ValueError: not exactly one of tgt_key_specs and args_index_list is given; an argument is of a
        wrong type; two specs are timestamps; specs of one table have different thresholds. When
        the dataset is mapped: ids or timestamp are not where the specs say, or no tensors of ints.

    >>> specs = [FeatureSpec("ids", table_name="user"), FeatureSpec("timestamp", is_timestamp=True)]
    >>> dataset = dataset.batch(512).map(get_asc_insert_func(tgt_key_specs=specs))

    Semantics: `mx_rec.core.asc.helper.get_asc_insert_func` of the Rec SDK; there are no threads
    behind it here, lookups are made in the training step.
    """
    if (tgt_key_specs is None) == (args_index_list is None):
        raise ValueError("%s: give one of tgt_key_specs and args_index_list" % _OWNER)
    is_training = _checked_options(kwargs)
    if tgt_key_specs is None:
        return _insert_by_index(_checked_indexes(args_index_list, table_names))
    if table_names is not None:
        validate.fail(_OWNER, "table_names", table_names, "None, the FeatureSpecs name the tables")
    return _insert_by_specs(_checked_specs(tgt_key_specs), is_training)


def start_asc_pipeline():
    """Accepted for the Rec SDK's sake: there is no pipeline to start, lookups read the batch."""
    notices.no_meaning("start_asc_pipeline", ["(the call itself)"])


def find(owner, table, spec, batch, is_train):
    """What a lookup of `spec` in `table` reads: a `Found`.

    Args:
      batch: what the mapped dataset gave: a dict, tuple, list or tensor.

    Raises:
      ValueError: the spec is of another table or a timestamp, or the batch has no such ids.
      RuntimeError: is_train, and no training batch with the spec's ids has been mapped.
    """
    if spec.is_timestamp or spec.table_name not in table.names:
        validate.fail(owner, "ids", spec, "a FeatureSpec of table %r" % table.name)
    if batch is None:
        validate.fail(owner, "batch", batch, "the batch that holds the ids of %r" % spec)
    if not is_train:  # Nothing is counted, so a batch that was not mapped will do.
        place = spec.places.get(False) or spec.places.get(True)
        place = place or Place(spec.index_key, None, thresholds.NONE)
        return Found(batches.part(owner, batch, place.index), thresholds.NONE, None)
    if True not in spec.places:
        raise RuntimeError(
            "%s: %r has seen no training batch; map the dataset with get_asc_insert_func("
            "tgt_key_specs=[...], is_training=True), with ids at %r" % (owner, spec, spec.index_key)
        )
    place = spec.places[True]
    timestamp = None
    if place.timestamp_index is not None:
        timestamp = batches.part(owner, batch, place.timestamp_index)
    ids = batches.part(owner, batch, place.index)
    return Found(ids, place.thresholds, timestamp)


def _checked_options(kwargs):
    options = {"is_training": True, "dump_graph": False}
    for name in options:
        if kwargs.get(name) is not None:
            options[name] = validate.boolean(_OWNER, name, kwargs[name])
    unused = set(kwargs) - {"is_training"}
    notices.no_meaning(_OWNER, [n for n in unused if n != "dump_graph" or options["dump_graph"]])
    return options["is_training"]


def _checked_indexes(args_index_list, table_names):
    wanted = "a list of at least one int from 0"
    if not isinstance(args_index_list, (list, tuple)) or not args_index_list:
        validate.fail(_OWNER, "args_index_list", args_index_list, wanted)
    for index in args_index_list:
        validate.integer(_OWNER, "args_index_list", index, 0, validate.INT32_MAX)
    if not isinstance(table_names, (list, tuple)) or len(table_names) != len(args_index_list):
        wanted = "a list of %d table names, one for each index" % len(args_index_list)
        validate.fail(_OWNER, "table_names", table_names, wanted)
    for name in table_names:
        validate.string(_OWNER, "table_names", name, 255)
    return list(args_index_list)


def _checked_specs(tgt_key_specs):
    specs = [tgt_key_specs] if isinstance(tgt_key_specs, FeatureSpec) else tgt_key_specs
    if not isinstance(specs, (list, tuple)) or not specs:
        validate.fail(_OWNER, "tgt_key_specs", specs, "a FeatureSpec, or a list of at least one")
    for spec in specs:
        if not isinstance(spec, FeatureSpec):
            validate.fail(_OWNER, "tgt_key_specs", spec, "a FeatureSpec")
    clocks = [spec for spec in specs if spec.is_timestamp]
    if len(clocks) > 1:
        raise ValueError("%s: a batch has one timestamp, got %r" % (_OWNER, clocks))
    return list(specs)


def _thresholds_by_table(specs):
    found = {}
    for spec in specs:
        known = found.get(spec.table_name, thresholds.NONE)
        found[spec.table_name] = thresholds.agreed(spec.table_name, known, spec.thresholds)
    return found


def _insert_by_index(indexes):
    def insert(*parts):
        batch = batches.of_parts(parts)
        for index in indexes:
            batches.checked_ids(_OWNER, batches.part(_OWNER, batch, index))
        return batches.extended(batch, tf.constant(_NO_TIMESTAMP, tf.int64))[0]

    return insert


def _insert_by_specs(specs, is_training):
    by_table = _thresholds_by_table([spec for spec in specs if not spec.is_timestamp])

    def insert(*parts):
        batch = batches.of_parts(parts)
        added = tf.constant(_NO_TIMESTAMP, tf.int64)
        clock = next((spec for spec in specs if spec.is_timestamp), None)
        if clock is not None:
            value = batches.part(_OWNER, batch, clock.index_key)
            added = timestamps.checked("FeatureSpec %s" % clock.name, value)
        mapped, added_index = batches.extended(batch, added)
        found = [s for s in specs if not s.is_timestamp and batches.has(batch, s.index_key)]
        if not found:
            raise ValueError(
                "%s: no ids of %r are in the batch, which has %s"
                % (_OWNER, specs, batches.described(batch))
            )
        for spec in found:
            ids = batches.checked_ids(spec.name, batches.part(_OWNER, batch, spec.index_key))
            index = spec.index_key
            if batches.dict_of(batch) is None or not isinstance(index, str):
                index = batches.position(mapped, ids)  # What was added may have moved it.
            place = Place(index, added_index if clock else None, by_table[spec.table_name])
            spec.places[is_training] = place
        return mapped

    return insert

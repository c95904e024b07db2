"""FeatureSpec: which part of a batch holds the ids of a table, and when ids come and go."""

import itertools

from . import notices, table_options, thresholds, validate

_LONGEST_NAME = 255
_LARGEST_INDEX = 255


class FeatureSpec:
    """Says where in a batch the ids of a lookup are, and what its table admits and evicts.

    `get_asc_insert_func(tgt_key_specs=...)` takes it to check batches, `sparse_lookup` takes it in
    the place of ids.

    Args:
      name: str of 1 to 255 characters.
      table_name: None or str of 1 to 255 characters, the table's name; default `name`.
      index_key: where the ids are: a key of a dict batch, or an int from 0 to 255, a position in
        the batch with its tuples and lists flattened. Default `name`.
      access_threshold: None or int from -1, default None. A key gets a row once it was seen so many
        times; 0 admits all keys without counting them, None and -1 are off.
      eviction_threshold: None or int from -1, default None. An eviction removes rows whose key was
        last seen so long ago: in the units of the batch's timestamp, or in steps when there is
        none. None, -1 and 0 are off. Works with and without access_threshold.
      is_timestamp: None or bool. True: this is the batch's timestamp, a scalar integer above 0, and
        no ids.
      batch_size, feat_count: None or int from 1; accepted for the Rec SDK's sake.
      faae_coefficient: None or int from 1, default 1. What an occurrence of a key counts.

    Attributes:
      name: str, `name` and the number of the spec in this process, as in the Rec SDK.
      table_name: str, as tables are called: without dots.
      index_key: str or int.
      thresholds: `thresholds.Thresholds`.
      is_timestamp: bool.

    Raises:
      ValueError: an argument is of a wrong type or out of range; the message names it.

    >>> specs = [
    ...     FeatureSpec("ids", table_name="user", access_threshold=3, eviction_threshold=86400),
    ...     FeatureSpec("timestamp", is_timestamp=True),
    ... ]

    Semantics: `mx_rec.core.asc.feature_spec.FeatureSpec` of the Rec SDK.
    """

    _numbers = itertools.count()

    def __init__(
        self,
        name,
        table_name=None,
        index_key=None,
        access_threshold=None,
        eviction_threshold=None,
        is_timestamp=None,
        batch_size=None,
        faae_coefficient=1,
        feat_count=None,
    ):
        validate.string("FeatureSpec", "name", name, _LONGEST_NAME)
        owner = "FeatureSpec %r" % name
        validate.string(owner, "table_name", table_name, _LONGEST_NAME, optional=True)
        if is_timestamp is not None:
            validate.boolean(owner, "is_timestamp", is_timestamp)
        for argument, value in (("batch_size", batch_size), ("feat_count", feat_count)):
            validate.integer(owner, argument, value, 1, validate.INT32_MAX, optional=True)
            if value is not None:
                notices.no_meaning("FeatureSpec", [argument])
        self.name = "%s_%d" % (name, next(FeatureSpec._numbers))
        self.index_key = name if index_key is None else _checked_index(owner, index_key)
        self.is_timestamp = bool(is_timestamp)
        self.table_name = table_name or name
        if not self.is_timestamp:
            self.table_name = table_options.normal_name(self.table_name, owner, "table_name")
        self.thresholds = thresholds.checked(
            owner, access_threshold, eviction_threshold, faae_coefficient
        )
        if self.is_timestamp and self.thresholds != thresholds.NONE:
            raise ValueError("%s: a timestamp has no thresholds; give them to ids" % owner)
        self.places = {}  # Whether training -> feature_pipeline.Place, once a batch was seen.

    def __deepcopy__(self, memo):
        # An Estimator copies its params; the spec there is the one that the input_fn maps with.
        return self

    def __repr__(self):
        return "FeatureSpec(name=%r, table_name=%r, index_key=%r)" % (
            self.name,
            self.table_name,
            self.index_key,
        )


def _checked_index(owner, index_key):
    if isinstance(index_key, str):
        return validate.string(owner, "index_key", index_key, _LONGEST_NAME)
    if isinstance(index_key, bool) or not isinstance(index_key, int):
        validate.fail(owner, "index_key", index_key, "None, a string or an int")
    return validate.integer(owner, "index_key", index_key, 0, _LARGEST_INDEX)

"""Training lookups that count their keys, and what is decided by the counts: which keys are
admitted to a table, and which rows leave it.
"""

import tensorflow as tf

from .library import load
from .op_inputs import int64_ids, row_or_zeros

POLICIES = ("older_than", "small_norm", "least_recent", "least_frequent")
SKETCH_BYTES = 64 << 20


def table_tracked_lookup(
    handle,
    keys,
    dim,
    now,
    default_row=None,
    occurrences=None,
    faae_coefficient=1,
    access_threshold=-1,
    time_unit="seconds",
    admission_filter="exact",
    sketch_bytes=0,
    combined=False,
    name=None,
):
    """`table_lookup` for training that counts its keys and admits them.

    Each occurrence of a key, duplicates included, adds `faae_coefficient` to its count. A key
    without a row gets one once its count, this batch included, is `access_threshold` or more; until
    then its address is -1 and its embedding default_row. The counts of rows go on; a row's
    last-seen time is the table's clock, the largest `now` so far.

    Args:
      handle, keys, dim, default_row, name: as for `table_lookup`.
      now: int64 scalar, the batch's time in `time_unit`. An earlier one than before leaves the
        table's clock as it is, which is logged once.
      occurrences: int32 tensor of the shape of keys, how often each of them, unique by then, has
        occurred; default one each.
      faae_coefficient: int from 1, default 1.
      access_threshold: int. -1 (default) and 0: every key gets a row; with 0 nothing is counted,
        only times are kept. The value that the program wants: where a table was configured, or
        saved, with the same one, the current threshold stays what `table_set_threshold` made it.
      time_unit: "seconds" (default), a timestamp above 0, or "steps", the global step.
      admission_filter: "exact" (default), a record for each key that waits, or "sketch", a table of
        fixed size that counts too high at times, never too low.
      sketch_bytes: int, the memory of the sketch; default 0: 64 MiB.
      combined: bool, default False. Whether the table shares one record of counts with all other
        tables of which that is true.

    Returns:
      (embeddings, addresses), as `table_lookup`. `tf.gradients(loss, handle)` sees through it.

    Raises:
      TypeError, ValueError, tf.errors.FailedPreconditionError: as `table_lookup`.
      ValueError: an argument is out of range, or combined with a sketch.
      tf.errors.InvalidArgumentError: when run, now is below its least value, or occurrences are
        negative; nothing is counted then.

    >>> _, addresses = table_tracked_lookup(handle, [5, 5, 6], 2, now=1, access_threshold=2)
    >>> session.run(addresses >= 0)
    array([ True,  True, False])
    """
    attrs = tracking_attrs(
        faae_coefficient, access_threshold, time_unit, admission_filter, sketch_bytes, combined
    )
    return load().ep_table_tracked_lookup(
        handle,
        int64_ids(keys, "keys"),
        row_or_zeros(default_row),
        tf.zeros([0], tf.int32) if occurrences is None else occurrences,
        tf.convert_to_tensor(now, tf.int64),
        dim=dim,
        name=name,
        **attrs,
    )


def tracking_attrs(
    faae_coefficient=1,
    access_threshold=-1,
    time_unit="seconds",
    admission_filter="exact",
    sketch_bytes=0,
    combined=False,
):
    """The attrs by which an op counts and admits the keys of a table, as a dict.

    Args:
      As for `table_tracked_lookup`.

    Raises:
      ValueError: sketch_bytes is negative, or combined is true of a sketch.

    >>> tracking_attrs(access_threshold=2)["access_threshold"]
    2
    """
    if sketch_bytes < 0:
        raise ValueError("sketch_bytes is %d, want 0 for the default or more" % sketch_bytes)
    if combined and admission_filter != "exact":
        raise ValueError(
            "admission_filter is %r; tables that share one record count exactly" % admission_filter
        )
    return {
        "faae_coefficient": faae_coefficient,
        "access_threshold": access_threshold,
        "time_unit": time_unit,
        "admission_filter": admission_filter,
        "sketch_bytes": sketch_bytes or SKETCH_BYTES,
        "combined": combined,
    }


def table_set_threshold(handle, threshold, access_threshold, name=None):
    """Sets a table's admission threshold for the lookups that follow.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      threshold: int32 tensor of one or more elements, of which the first counts. Positive: the
        threshold from now on, and keys are counted. 0: counts stand still, the threshold stays.
      access_threshold: int, what the table's tracked lookups pass.
      name: optional name of the operation.

    Returns:
      Scalar int32 tensor: 1.

    Raises:
      tf.errors.InvalidArgumentError: when run, threshold is negative or has no element.
      tf.errors.FailedPreconditionError: when run, the table is uninitialized.

    >>> session.run(table_set_threshold(handle, [3], access_threshold=2))
    1
    """
    return load().ep_table_set_threshold(
        handle, threshold, access_threshold=access_threshold, name=name
    )


def table_evict(handle, policy, threshold, name=None):
    """Removes rows; their keys start anew, counts included, when they return.

    Args:
      handle: scalar resource tensor, from `table_handle`.
      policy: str. "older_than": rows not seen for `threshold` seconds or steps by the table's
        clock, and keys that wait as long for admission. "small_norm": rows whose embedding's L2
        norm is below `threshold`. "least_recent", "least_frequent": rows seen longest ago, or least
        often, until `threshold` rows are left; ties go by key, smaller ones first.
      threshold: number or float64 scalar tensor, at least 0.
      name: optional name of the operation.

    Returns:
      Scalar int64 tensor: how many rows left. Training may go on meanwhile: rows that it uses
      again before their turn stay.

    Raises:
      ValueError: there is no such policy.
      tf.errors.InvalidArgumentError: when run, threshold is negative or no number.
      tf.errors.FailedPreconditionError: when run, the table is uninitialized.

    >>> session.run(table_evict(handle, "older_than", 86400))
    0
    """
    threshold = tf.convert_to_tensor(threshold, tf.float64)
    return load().ep_table_evict(handle, threshold, policy=policy, name=name)

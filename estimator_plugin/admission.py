"""Admission filters: what keeps the counts of the keys that wait for a row."""

import dataclasses
import os

from . import validate

COMBINE_VARIABLE = "USE_COMBINE_FAAE"


@dataclasses.dataclass(frozen=True)
class ExactCounts:
    """Counts each waiting key: some 20 bytes a key that was seen and has no row yet."""

    kind = "exact"
    max_bytes = 0


@dataclasses.dataclass(frozen=True)
class CountingSketch:
    """Counts waiting keys in memory of a fixed size, however many they are.

    A count-min sketch with conservative update: it never counts too low, so a key that reached the
    threshold always gets its row; it may count too high, and let a key in early, where many keys
    share its cells. Waiting keys cannot be listed, nor evicted.

    Args:
      max_bytes: int from 1024, default 64 MiB: memory of the table's sketch.

    Raises:
      ValueError: max_bytes is out of range.

    >>> table = ep.create_table(tf.int64, 8, "url", start, admission=CountingSketch(1 << 20))
    """

    max_bytes: int = 64 << 20
    kind = "sketch"

    def __post_init__(self):
        validate.integer("CountingSketch", "max_bytes", self.max_bytes, 1024, 1 << 40)


def checked_filter(owner, value):
    """The filter of a table: `value`, or ExactCounts for None."""
    if value is None:
        return ExactCounts()
    if not isinstance(value, (ExactCounts, CountingSketch)):
        wanted = "None, ep.admission.ExactCounts() or ep.admission.CountingSketch(...)"
        validate.fail(owner, "admission", value, wanted)
    return value


def counts_are_combined():
    """Whether all tables share one record of counts, by the environment variable USE_COMBINE_FAAE.

    Raises:
      ValueError: the variable is neither "0" nor "1".
    """
    value = os.environ.get(COMBINE_VARIABLE, "0")
    validate.choice("environment", COMBINE_VARIABLE, value, ("0", "1"))
    return value == "1"

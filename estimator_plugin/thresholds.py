"""When a table lets a key in and when it lets a row go: the thresholds users give."""

import collections

from . import validate

Thresholds = collections.namedtuple("Thresholds", ["access", "eviction", "coefficient"])
Thresholds.__doc__ = """The thresholds of a table, None where they switch nothing on.

Attributes:
  access: None; 0, all keys are admitted and none is counted; or the count a key needs for a row.
  eviction: None, or how long ago, in the units of `timestamps`, a row that leaves was last seen.
  coefficient: int, what an occurrence of a key counts.
"""

OFF = -1  # How users write None.
NONE = Thresholds(None, None, 1)


def checked(owner, access_threshold, eviction_threshold, faae_coefficient=1):
    """Thresholds out of what a user gives.

    Args:
      owner: str, who asks, for error messages.
      access_threshold: None or -1, off; 0, admit all keys without counting; or an int above 0.
      eviction_threshold: None, -1 or 0, off; or an int above 0.
      faae_coefficient: None, which is 1, or an int from 1.

    Raises:
      ValueError: a value is no int, or out of range.
    """
    given = {"access_threshold": access_threshold, "eviction_threshold": eviction_threshold}
    for name, value in given.items():
        validate.integer(owner, name, value, OFF, validate.INT32_MAX, optional=True)
    coefficient = validate.integer(
        owner, "faae_coefficient", faae_coefficient, 1, validate.INT32_MAX, optional=True
    )
    access = None if access_threshold in (None, OFF) else int(access_threshold)
    eviction = None if eviction_threshold in (None, OFF, 0) else int(eviction_threshold)
    if access is None and eviction is None:
        return NONE
    return Thresholds(access, eviction, 1 if coefficient is None else coefficient)


def of_config(owner, config):
    """The Thresholds of sparse_lookup's argument access_and_evict_config.

    Raises:
      ValueError: it is neither None nor a dict, or one of its values is out of range.
    """
    if config is None:
        return NONE
    if not isinstance(config, dict):
        validate.fail(owner, "access_and_evict_config", config, "None or a dict")
    names = ("access_threshold", "eviction_threshold", "faae_coefficient")
    return checked(owner, *[config.get(name) for name in names])


def agreed(table_name, known, given):
    """The Thresholds of a table that has `known` and is `given` others; NONE gives way.

    Raises:
      ValueError: both are something, and differ.
    """
    if NONE in (known, given) or known == given:
        return given if known == NONE else known
    raise ValueError(
        "table %r: thresholds must be the same in all its lookups and FeatureSpecs, got %s after %s"
        % (table_name, described(given), described(known))
    )


def described(thresholds):
    """Thresholds as users write them."""
    return "access_threshold=%r, eviction_threshold=%r, faae_coefficient=%r" % thresholds

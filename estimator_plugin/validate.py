"""Checks of arguments. Every failure is a ValueError that names the owner, the argument, the value
and what would be right, e.g. ``table 'user': dim must be an int from 1 to 8192, got 0``.

A numpy number is as good as Python's, and an int is as good as a float; a bool is never a number.
"""

import math
import numbers
import re

INT32_MAX = 2147483647


def fail(owner, argument, value, wanted):
    """Raises the error all checks raise."""
    raise ValueError("%s: %s must be %s, got %s" % (owner, argument, wanted, shown(value)))


def shown(value):
    """`value` as an error message shows it, with its type where that is what is wrong."""
    text = repr(value)
    if len(text) > 200:
        text = text[:200] + "..."
    if isinstance(value, (bool, numbers.Number)) or value is None:
        return text
    return "%s (a %s)" % (text, type(value).__name__)


def boolean(owner, argument, value):
    if not isinstance(value, bool):
        fail(owner, argument, value, "True or False")
    return value


def integer(owner, argument, value, low, high, optional=False):
    """`value` as a Python int within [low, high]; None passes when `optional`."""
    if optional and value is None:
        return None
    wanted = "%san int from %d to %d" % ("None or " if optional else "", low, high)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        fail(owner, argument, value, wanted)
    if not low <= value <= high:
        fail(owner, argument, value, wanted)
    return int(value)


def real(owner, argument, value, low, high, above_low=False, below_high=False):
    """`value` as a Python float within [low, high], or (low, high] etc. by the two flags."""
    wanted = "a number %s %g and %s %g" % (
        "above" if above_low else "at least",
        low,
        "below" if below_high else "at most",
        high,
    )
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        fail(owner, argument, value, wanted)
    number = float(value)
    too_low = number <= low if above_low else number < low
    too_high = number >= high if below_high else number > high
    if math.isnan(number) or too_low or too_high:
        fail(owner, argument, value, wanted)
    return number


def string(owner, argument, value, longest, optional=False, pattern=None):
    """`value` if it is a string of 1 to `longest` characters, all of which match `pattern`."""
    if optional and value is None:
        return None
    wanted = "%sa string of 1 to %d characters" % ("None or " if optional else "", longest)
    if pattern is not None:
        wanted += " out of " + pattern
    if not isinstance(value, str) or not 1 <= len(value) <= longest:
        fail(owner, argument, value, wanted)
    if pattern is not None and not re.match("%s+$" % pattern, value):
        fail(owner, argument, value, wanted)
    return value


def choice(owner, argument, value, choices):
    if value not in choices:
        fail(owner, argument, value, "one of " + ", ".join(repr(c) for c in choices))
    return value

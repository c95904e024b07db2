"""Where this process saved checkpoints last."""

_last = []  # The directory, once there is one.


def note(directory):
    """Says that a version was saved into `directory`."""
    _last[:] = [directory]


def last_directory():
    """The directory of the last `note`, or None."""
    return _last[0] if _last else None

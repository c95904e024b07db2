"""Lines of training in one directory: what restoring an old version does to the names of new ones.

A run that starts from a version older than the newest would, under the same names, overwrite the
newer ones. It saves as `<basename>.branch-<k>-<step>` instead, with the first k that is free: for
`model.ckpt` that is `model.branch-1.ckpt-<step>`. A run that starts from a branch's newest version
goes on with that branch.
"""

import os
import re

from . import versions

_BRANCH = re.compile(r"\.branch-(\d+)")


def line_after(restored, requested):
    """The line that a run saves to which restored `restored`, as a basename without step.

    Args:
      restored: str, the prefix that was restored.
      requested: str, the prefix that would have been restored but for the wish of an old version.
    """
    line = versions.line_of(restored)
    if os.path.basename(restored) == os.path.basename(requested):
        return line
    taken = [0]
    for version in versions.list_versions(os.path.dirname(restored) or "."):
        other = versions.line_of(version.prefix)
        if _BRANCH.search(other) and _trunk(other) == _trunk(line):
            taken.append(int(_BRANCH.search(other).group(1)))
    stem, extension = os.path.splitext(_trunk(line))
    return "%s.branch-%d%s" % (stem, max(taken) + 1, extension)


def abandoned_by(restored, requested):
    """Basenames of the recorded versions that are newer than `restored`, where a run goes on from
    it instead of from `requested`; they are no longer its business."""
    if os.path.basename(restored) == os.path.basename(requested):
        return frozenset()
    names = [os.path.basename(p) for p in versions.recorded(os.path.dirname(restored) or ".")]
    name = os.path.basename(restored)
    if name in names:
        return frozenset(names[names.index(name) + 1 :])
    step = versions.step_of(restored)
    return frozenset(n for n in names if versions.step_of(n) > step)


def path_on(line, save_path):
    """`save_path` with the basename of `line`, if that is a branch of it; else `save_path`."""
    directory, basename = os.path.split(save_path)
    return os.path.join(directory, line) if line and _trunk(line) == basename else save_path


def _trunk(line):
    return _BRANCH.sub("", line)

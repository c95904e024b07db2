"""Which versions of a model directory are kept, and the `checkpoint` file that lists them.

`plan` decides and touches nothing; `record` and `remove` act. A version that a kept one needs is
never deleted, and neither is one that a version outside the list needs: what is not in the
`checkpoint` file is not ours to break.
"""

import collections
import os

import tensorflow as tf

from . import versions as _versions

# keep_max: int or None; restorable versions to keep; None and 0 keep all, as with a Saver.
# keep_every_hours: float; one version is kept for good for each so many hours.
Policy = collections.namedtuple("Policy", ["keep_max", "keep_every_hours"])

Plan = collections.namedtuple(
    "Plan",
    [
        "managed",  # Versions that stay in the list, oldest first.
        "delete",  # Versions to delete, newest first: a delta before its parent.
        "last_preserved",  # Seconds since the epoch; see `plan`.
    ],
)


def plan(managed, others, policy, last_preserved):
    """What to keep and what to delete.

    The newest `keep_max` restorable versions are kept, with what they need. Of the older ones each
    that was saved more than `keep_every_hours` after `last_preserved` is kept for good: it leaves
    the list and the clock starts anew. The rest is deleted as soon as no version needs it.

    Args:
      managed: Versions, oldest first: the list, without those that are gone.
      others: Versions of the directory that are not in the list.
      policy: Policy.
      last_preserved: float, seconds since the epoch: when a version was last kept for good, or when
        training began.

    Returns:
      Plan.

    Semantics: max_to_keep and keep_checkpoint_every_n_hours of `tf.compat.v1.train.Saver`.
    """
    if not policy.keep_max:
        return Plan(list(managed), [], last_preserved)
    found = {version.prefix: version for version in list(managed) + list(others)}
    dropped = _older_than(managed, policy.keep_max, found)
    preserved = []
    for version in dropped:
        long_after = version.saved_at - last_preserved > policy.keep_every_hours * 3600
        if long_after and _is_restorable(version, found):
            preserved.append(version)
            last_preserved = version.saved_at
    staying = [v for v in managed if v not in dropped]
    needed = _ancestors(staying + preserved + list(others), found)
    delete = [v for v in dropped if v not in preserved and v.prefix not in needed]
    listed = [v for v in managed if v not in delete and v not in preserved]
    return Plan(listed, delete[::-1], last_preserved)


def needed_by_others(prefix):
    """Whether some other version of the directory of `prefix` needs it."""
    present = _versions.list_versions(os.path.dirname(prefix) or ".")
    found = {os.path.basename(version.prefix): version for version in present}
    name = os.path.basename(prefix)
    return any(
        os.path.basename(version.parent) == name
        for version in found.values()
        if version.parent and os.path.basename(version.prefix) != name
    )


def last_preserved(directory):
    """What `record` wrote as such, or None."""
    state = tf.train.get_checkpoint_state(directory)
    return state.last_preserved_timestamp or None if state is not None else None


def record(directory, prefixes, last_preserved):
    """Writes the `checkpoint` file: `prefixes`, oldest first, of which the last is the latest.

    The file changes as a whole or not at all. Paths in it are relative, so that the directory can
    be moved.
    """
    # TensorFlow makes paths relative by itself where the directory is relative.
    listed = [os.path.basename(p) if os.path.isabs(directory) else p for p in prefixes]
    state = tf.compat.v1.train.generate_checkpoint_state_proto(
        directory, listed[-1], listed, last_preserved_timestamp=last_preserved
    )
    path = os.path.join(directory, "checkpoint.new")
    with tf.io.gfile.GFile(path, "w") as file:
        file.write(str(state))
    own = [os.path.join(directory, os.path.basename(p)) for p in prefixes]
    _versions.replace_list(directory, path, own)


def remove(prefix):
    """Deletes a version's files: its index first, so that it is whole or absent at any moment."""
    directory, name = os.path.split(prefix)
    files = [f for f in tf.io.gfile.listdir(directory or ".") if _is_file_of(f, name)]
    for file in sorted(files, key=lambda f: f != name + ".index"):
        try:
            tf.io.gfile.remove(os.path.join(directory, file))
        except tf.errors.NotFoundError:  # Somebody else deleted it.
            continue


def move(source, target):
    """Gives a version's files another prefix; the index comes last."""
    directory, name = os.path.split(source)
    files = [f for f in tf.io.gfile.listdir(directory) if _is_file_of(f, name)]
    for file in sorted(files, key=lambda f: f == name + ".index"):
        tf.io.gfile.rename(os.path.join(directory, file), target + file[len(name) :], True)


def _is_file_of(file, name):
    return file in (name + ".index", name + ".meta") or file.startswith(name + ".data-")


def _older_than(managed, count, found):
    """The versions before the newest `count` restorable ones."""
    for place in range(len(managed) - 1, -1, -1):
        if count == 0:
            return managed[: place + 1]
        count -= _is_restorable(managed[place], found)
    return []


def _is_restorable(version, found):
    seen = set()
    while version.kind == _versions.DELTA and version.prefix not in seen:
        seen.add(version.prefix)
        parent = found.get(version.parent)
        if parent is None or any(
            parent.save_ids.get(table) != wanted for table, wanted in version.parent_ids.items()
        ):
            return False
        version = parent
    return version.kind == _versions.FULL


def _ancestors(versions, found):
    """The prefixes of all versions that `versions` need."""
    needed = set()
    for version in versions:
        while version is not None and version.parent and version.parent not in needed:
            needed.add(version.parent)
            version = found.get(version.parent)
    return needed

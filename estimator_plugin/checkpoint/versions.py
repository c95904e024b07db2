"""The versions in a model directory: full checkpoints, deltas, and how they hang together.

Everything here only reads files: no session, no graph, no op library. A *version* is a checkpoint
`<name>-<step>`; a *delta* holds what changed in tables since its *parent*, a version of the same
directory; a *chain* is a version with everything it needs, oldest first.
"""

import collections
import functools
import os
import re

import tensorflow as tf

from . import meta, names

FULL = "full"
DELTA = "delta"
UNREADABLE = "unreadable"

Version = collections.namedtuple(
    "Version",
    [
        "prefix",  # str, what Saver.restore takes.
        "step",  # int, the number at the end of the prefix; -1 where there is none.
        "kind",  # FULL, DELTA or UNREADABLE.
        "parent",  # str, the parent's prefix; "" where there is none.
        "saved_at",  # float, seconds since the epoch.
        "save_ids",  # dict from table to the number drawn for its save.
        "parent_ids",  # dict from table to the parent's number, for those saved as deltas.
        "error",  # str, why an UNREADABLE one cannot be read; else "".
    ],
)

Stamp = collections.namedtuple("Stamp", ["nanoseconds", "length", "inode"])

# What TensorFlow's reader raises for bad files; IndexError is for a file that ends too early.
READ_ERRORS = (tf.errors.OpError, ValueError, IndexError)

_INDEX = ".index"
_STEP = re.compile(r"-(\d+)$")
_known_lists = {}  # Directory -> (Stamp of its `checkpoint` file, what that lists).


class BrokenChainError(ValueError):
    """A version cannot be restored; the message names the file at fault."""


def step_of(prefix):
    """The step in a prefix, or -1.

    >>> step_of("/tmp/model/model.ckpt-120")
    120
    """
    match = _STEP.search(os.path.basename(prefix))
    return int(match.group(1)) if match else -1


def line_of(prefix):
    """The prefix's basename without its step: what versions of one line of training share."""
    return _STEP.sub("", os.path.basename(prefix))


def exists(prefix):
    """Whether there is a checkpoint of that prefix; says nothing of its being readable."""
    return tf.io.gfile.exists(prefix + _INDEX)


def read_version(prefix):
    """The Version at `prefix`, of kind UNREADABLE where its index or a table's meta cannot be read.

    Raises:
      FileNotFoundError: there is no such checkpoint.
    """
    stamp = stamp_of(prefix)
    # TensorFlow knows the time of a remote file to the second: it may change within that.
    return _read(prefix, stamp) if "://" not in prefix else _read.__wrapped__(prefix, stamp)


def stamp_of(prefix):
    """What tells a checkpoint from one written over it; FileNotFoundError where there is none."""
    stamp = _stamp(prefix + _INDEX)
    if stamp is None:
        raise FileNotFoundError("there is no checkpoint %s" % prefix)
    return stamp


def list_versions(directory):
    """The versions of a directory, by step and then by time; unreadable ones too.

    >>> [(v.step, v.kind) for v in list_versions("/tmp/model")]
    [(0, 'full'), (60, 'delta'), (120, 'delta')]
    """
    versions = []
    for name in tf.io.gfile.listdir(directory):
        if name.endswith(_INDEX):
            try:
                versions.append(read_version(os.path.join(directory, name[: -len(_INDEX)])))
            except FileNotFoundError:  # Deleted since it was listed.
                continue
    return sorted(versions, key=lambda v: (v.step, v.saved_at, v.prefix))


def chain_of(prefix):
    """What restoring `prefix` reads, as Versions, oldest first; the last is `prefix` itself.

    Raises:
      FileNotFoundError: there is no checkpoint `prefix`.
      BrokenChainError: a link is missing, unreadable, not the one the next was saved after, or its
        own ancestor.
    """
    chain = [_readable(read_version(prefix))]
    while chain[-1].kind == DELTA:
        delta = chain[-1]
        if any(link.prefix == delta.parent for link in chain):
            raise BrokenChainError(
                "checkpoint %s is a delta of itself, by way of %s" % (prefix, delta.parent)
            )
        try:
            parent = read_version(delta.parent)
        except FileNotFoundError:
            raise BrokenChainError(
                "checkpoint %s is a delta of %s, which is not there" % (delta.prefix, delta.parent)
            ) from None
        _check_parent(delta, _readable(parent))
        chain.append(parent)
    return chain[::-1]


def recorded(directory):
    """Prefixes that the directory's `checkpoint` file lists, oldest first; the last is the latest.

    Only those that lie in the directory and are there.

    Raises:
      tf.errors.OpError: there is such a file, and it cannot be read.
    """
    listed = _listed(directory)
    present = frozenset(tf.io.gfile.listdir(directory)) if listed else ()
    found = []
    for prefix in listed:
        name = os.path.basename(prefix)
        own = os.path.join(directory, name)
        if own not in found and name + _INDEX in present and same_directory(prefix, own):
            found.append(own)
    return found


def replace_list(directory, written, prefixes):
    """Makes the file `written` the directory's `checkpoint` file, which lists `prefixes`."""
    stamp = _stamp(written)  # A rename leaves it as it is.
    tf.io.gfile.rename(written, os.path.join(directory, "checkpoint"), overwrite=True)
    _known_lists[directory] = (stamp, tuple(prefixes))


def newest_restorable(directory, excluding=()):
    """The newest version that can be restored, or None: every byte of it is read and checked.

    Args:
      directory: str, a model directory.
      excluding: prefixes known not to be restorable.
    """
    listed = recorded(directory)[::-1]
    others = [v.prefix for v in list_versions(directory)[::-1] if v.prefix not in listed]
    whole = {os.path.join(directory, os.path.basename(p)): False for p in excluding}
    for prefix in listed + others:
        if whole.get(prefix, True) and is_whole(prefix, whole):
            return read_version(prefix)
    return None


def is_whole(prefix, known=None):
    """Whether every byte that restoring `prefix` reads is good.

    Args:
      prefix: str.
      known: dict from prefix to whether its own bytes are good; what is found out joins it.
    """
    whole = {} if known is None else known
    try:
        chain = chain_of(prefix)
    except (BrokenChainError, FileNotFoundError):
        return False
    for link in chain:
        if link.prefix not in whole:
            whole[link.prefix] = _bytes_are_good(link.prefix)
        if not whole[link.prefix]:
            return False
    return True


def same_directory(prefix, other):
    """Whether two prefixes lie in one directory, by whatever path they name it."""
    one, another = os.path.dirname(prefix), os.path.dirname(other)
    return one == another or _real(one) == _real(another)


def _real(directory):
    return directory if "://" in directory else os.path.realpath(directory or ".")


def _stamp(path):
    """The Stamp of a file, or None where there is none."""
    try:
        if "://" in path:
            stat = tf.io.gfile.stat(path)
            return Stamp(stat.mtime_nsec, stat.length, 0)
        stat = os.stat(path)
        return Stamp(stat.st_mtime_ns, stat.st_size, stat.st_ino)
    except (tf.errors.NotFoundError, FileNotFoundError):
        return None


def _listed(directory):
    """What the `checkpoint` file lists, the latest last."""
    path = os.path.join(directory, "checkpoint")
    stamp = _stamp(path)
    known, listed = _known_lists.get(directory, (None, ()))
    if stamp is None or (stamp == known and "://" not in directory):
        return listed if stamp else ()
    with tf.io.gfile.GFile(path) as file:
        file.read(1)  # TensorFlow takes a list that it may not read for none.
    state = tf.train.get_checkpoint_state(directory)
    latest = [state.model_checkpoint_path] if state else []
    older = [p for p in state.all_model_checkpoint_paths if p not in latest] if state else []
    listed = tuple(older + latest)
    _known_lists[directory] = (stamp, listed)
    return listed


def _bytes_are_good(prefix):
    try:
        reader = tf.train.load_checkpoint(prefix)
        for name in reader.get_variable_to_shape_map():
            reader.get_tensor(name)  # Verifies its checksum.
    except READ_ERRORS:
        return False
    return True


def _readable(version):
    if version.kind == UNREADABLE:
        raise BrokenChainError("checkpoint %s cannot be read: %s" % (version.prefix, version.error))
    return version


def _check_parent(delta, parent):
    for table, wanted in delta.parent_ids.items():
        found = parent.save_ids.get(table)
        if found != wanted:
            raise BrokenChainError(
                "checkpoint %s was saved after another %s than the one that is there: table %s, "
                "save %s, found %s" % (delta.prefix, parent.prefix, table, wanted, found)
            )


@functools.lru_cache(maxsize=4096)
def _read(prefix, stamp):
    """`read_version` of an index file as of its stamp."""
    version = Version(prefix, step_of(prefix), FULL, "", stamp.nanoseconds / 1e9, {}, {}, error="")
    try:
        if stamp.length == 0:
            raise ValueError("%s%s is empty" % (prefix, _INDEX))
        metas = _metas(prefix)
        parents = {m.parent for m in metas.values() if m.parent}
        if len(parents) > 1:
            raise ValueError("its tables name several parents: %s" % ", ".join(sorted(parents)))
        parent = _parent_prefix(prefix, parents.pop()) if parents else ""
    except READ_ERRORS as error:
        text = error.message if isinstance(error, tf.errors.OpError) else str(error)
        return version._replace(kind=UNREADABLE, error=text)
    return version._replace(
        kind=DELTA if parent else FULL,
        parent=parent,
        save_ids={table: m.save_id for table, m in metas.items()},
        parent_ids={table: m.parent_id for table, m in metas.items() if m.parent},
    )


def _metas(prefix):
    reader = tf.train.load_checkpoint(prefix)
    present = reader.get_variable_to_shape_map()
    suffix = names.meta_name("")
    metas = {}
    for name in sorted(present):
        table = name[: -len(suffix)]
        if name.endswith(suffix) and names.bucket_name(table, 0, "keys") in present:
            text = reader.get_tensor(name)
            if isinstance(text, bytes):  # Else it is somebody's variable.
                metas[table] = meta.parse_meta(text)
    return metas


def _parent_prefix(prefix, parent):
    if "/" in parent or parent in (".", ".."):
        raise ValueError("it names the parent %r; a parent lies in the same directory" % parent)
    return os.path.join(os.path.dirname(prefix), parent)

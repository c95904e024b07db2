"""Reading one table of a checkpoint bucket by bucket, through the deltas it is spread over.

The twin of ops/kernels/checkpoint_chain.cc in numpy, for tools that have no session.
"""

import collections
import os

import numpy as np
import tensorflow as tf

from . import meta as table_meta
from . import names, versions
from .tensor_reader import open_reader

TableRows = collections.namedtuple(
    "TableRows",
    [
        "keys",  # int64 [n].
        "embeddings",  # float32 [n, dim].
        "slots",  # Ordered dict from the slot's name to float32 [n, dim].
        "counts",  # int32 [n].
        "last_seen",  # int64 [n].
        "meta",  # TableMeta.
    ],
)


_WAITING_DTYPES = (np.int64, np.int32, np.int64, np.int32)


class TableLink:
    """A table as one checkpoint holds it: all rows, or what changed since the parent.

    Attributes:
      prefix: str, the checkpoint.
      meta: TableMeta.
      is_delta: bool.
    """

    def __init__(self, prefix, table):
        self.prefix = prefix
        self._table = table
        self._reader = open_reader(prefix)
        name = names.meta_name(table)
        if name not in self._reader.shapes:
            raise tf.errors.NotFoundError(None, None, "%s has no table %r" % (prefix, table))
        try:
            self.meta = table_meta.parse_meta(self._reader.read(name))
        except ValueError as error:
            raise _damaged(table, prefix, str(error)) from error

    is_delta = property(lambda self: bool(self.meta.parent))

    def saved_rows(self):
        """The number of rows in this checkpoint's own files."""
        return self._total("keys")

    def removed_rows(self):
        """The number of keys that this delta removes; 0 for a full checkpoint."""
        return self._total(names.REMOVED) if self.is_delta else 0

    def tensor_names(self):
        """The names of the table's tensors in this checkpoint."""
        arrays = names.BUCKET_ARRAYS + ((names.REMOVED,) if self.is_delta else ())
        return [names.meta_name(self._table), names.bank_name(self._table)] + [
            names.bucket_name(self._table, bucket, array)
            for bucket in range(self.meta.num_buckets)
            for array in arrays
        ]

    def read_bucket(self, bucket, arrays=names.BUCKET_ARRAYS):
        """A bucket as it is saved: a dict from each of `arrays` to its value.

        Raises:
          tf.errors.DataLossError: an array is damaged, or is not as long as there are keys.
        """
        read = {array: self._read(bucket, array) for array in arrays}
        count = len(read["keys"])
        width = self.meta.dim * (1 + len(self.meta.slots))
        for array, value in read.items():
            shape = (count, width) if array == "rows" else (count,)
            if value.shape != shape:
                what = names.bucket_name(self._table, bucket, array)
                raise _damaged(
                    self._table, self.prefix, "%s is %s, want %s" % (what, value.shape, shape)
                )
        return read

    def read_removed(self, bucket):
        """int64 [n]: the keys of a bucket that this delta removes."""
        return self._read(bucket, names.REMOVED) if self.is_delta else np.zeros([0], np.int64)

    def read_waiting(self, bucket):
        """The keys of a bucket that are counted and have no row: a dict from each of
        names.WAITING_ARRAYS to its value. All of the table's are in the last link of a chain.

        Raises:
          tf.errors.DataLossError: an array is damaged, or is not as long as there are keys.
        """
        found = {}
        for array, dtype in zip(names.WAITING_ARRAYS, _WAITING_DTYPES):
            name = names.bucket_name(self._table, bucket, array)
            known = name in self._reader.shapes
            found[array] = self._reader.read(name) if known else np.zeros([0], dtype)
        counts = [found[array].shape for array in names.WAITING_ARRAYS[:3]]
        if len(set(counts)) > 1:
            what = "arrays of waiting keys are %s, %s and %s" % tuple(counts)
            raise _damaged(self._table, self.prefix, what)
        return found

    def _read(self, bucket, array):
        name = names.bucket_name(self._table, bucket, array)
        self._require(name)
        return self._reader.read(name)

    def _total(self, array):
        total = 0
        for bucket in range(self.meta.num_buckets):
            name = names.bucket_name(self._table, bucket, array)
            self._require(name)
            total += int(np.prod(self._reader.shapes[name]))
        return total

    def _require(self, name):
        if name not in self._reader.shapes:
            raise _damaged(self._table, self.prefix, "%s is missing" % name)


def open_chain(prefix, table):
    """The TableLinks that make up `table` in the checkpoint `prefix`, oldest first.

    Raises:
      tf.errors.NotFoundError: there is no such table, or a parent is missing.
      tf.errors.DataLossError: a parent is not the one the delta was saved from, or the
        deltas form a circle.
    """
    chain = [TableLink(prefix, table)]
    while chain[-1].is_delta:
        delta = chain[-1]
        parent = _parent_of(table, delta)
        if any(link.prefix == parent for link in chain):
            raise _damaged(table, prefix, "it is a delta of itself, by way of %s" % parent)
        if not versions.exists(parent):
            raise tf.errors.NotFoundError(
                None,
                None,
                "table %r: %s is a delta of %s, which is not there" % (table, delta.prefix, parent),
            )
        chain.append(TableLink(parent, table))
        _check_parent(table, delta, chain[-1])
    return chain[::-1]


def _parent_of(table, delta):
    name = delta.meta.parent
    if "/" in name or name in (".", ".."):
        raise _damaged(
            table, delta.prefix, "its parent %r does not lie in the same directory" % name
        )
    return os.path.join(os.path.dirname(delta.prefix), name)


def _check_parent(table, delta, parent):
    if parent.meta.save_id != delta.meta.parent_id:
        raise _damaged(
            table,
            delta.prefix,
            "it was saved after another %s than the one that is there: save %d, found %d"
            % (parent.prefix, delta.meta.parent_id, parent.meta.save_id),
        )
    for field in ("dim", "num_buckets", "hash_version"):
        old, new = getattr(parent.meta, field), getattr(delta.meta, field)
        if old != new:
            raise _damaged(
                table,
                delta.prefix,
                "its %s is %s, that of its parent %s is %s" % (field, new, parent.prefix, old),
            )


class TableReader:
    """A table of a checkpoint, full or delta, as the rows a restore would give.

    Args:
      prefix: str, the checkpoint.
      table: str, the table's name.

    Attributes:
      meta: TableMeta of the checkpoint itself.
      chain: the TableLinks, oldest first.

    Raises: as `open_chain`.

    >>> reader = TableReader("/tmp/model/model.ckpt-9", "user")
    >>> sum(len(rows.keys) for rows in reader.buckets())
    1000
    """

    def __init__(self, prefix, table):
        self.chain = open_chain(prefix, table)
        self.meta = self.chain[-1].meta

    def buckets(self):
        """Yields the TableRows of one bucket after the other."""
        for bucket in range(self.meta.num_buckets):
            yield self.read_bucket(bucket)

    def read_bucket(self, bucket):
        """The TableRows of one bucket, in no particular order of keys."""
        merged = self.read_arrays(bucket, names.BUCKET_ARRAYS)
        parts = np.split(merged["rows"], 1 + len(self.meta.slots), axis=1)
        slots = collections.OrderedDict(zip([name for name, _ in self.meta.slots], parts[1:]))
        return TableRows(
            merged["keys"], parts[0], slots, merged["counts"], merged["last_seen"], self.meta
        )

    def read_arrays(self, bucket, arrays):
        """Some of the arrays of one bucket, a dict as `TableLink.read_bucket` gives it.

        Args:
          bucket: int.
          arrays: names out of BUCKET_ARRAYS, "keys" among them.
        """
        merged = None
        for link in self.chain:
            read = link.read_bucket(bucket, arrays)
            if "rows" in read:
                read["rows"] = _relaid(read["rows"], link.meta, self.meta)
            if merged is None:
                merged = read
                continue
            gone = np.concatenate([link.read_removed(bucket), read["keys"]])
            kept = ~np.isin(merged["keys"], gone)
            merged = {a: np.concatenate([merged[a][kept], read[a]]) for a in arrays}
        return merged

    def count_rows(self):
        """The number of rows. Reads keys only, and of a full checkpoint nothing but shapes."""
        if len(self.chain) == 1:
            return self.chain[0].saved_rows()
        buckets = range(self.meta.num_buckets)
        return sum(len(self.read_arrays(bucket, ("keys",))["keys"]) for bucket in buckets)


def _relaid(rows, saved, wanted):
    """`rows` with the slots of `wanted`: those of the same name, the others at their start."""
    if [name for name, _ in saved.slots] == [name for name, _ in wanted.slots]:
        return rows
    parts = np.split(rows, 1 + len(saved.slots), axis=1)
    known = dict(zip([name for name, _ in saved.slots], parts[1:]))
    return np.concatenate(
        [parts[0]]
        + [known.get(name, np.full_like(parts[0], initial)) for name, initial in wanted.slots],
        axis=1,
    )


def _damaged(table, prefix, what):
    return tf.errors.DataLossError(
        None, None, "table %r, checkpoint %s: %s" % (table, prefix, what)
    )

"""The parts of a table, one for each device it lives on."""

import collections

import tensorflow as tf

from .distribute import placement
from .ops import bundle_ops, table_ops

# What all partitions of a table have in common: TableOptions, InitializerSpec.
Settings = collections.namedtuple("Settings", ["options", "initializer"])


class Partition:
    """A contiguous range of a table's buckets, on one device. A local table has one, all of it.

    Attributes:
      table_name: str.
      handle: scalar resource tensor.
      device: str, where its operations run.
      buckets: (begin, end), the buckets it owns.
      initializer: operation that makes it empty and ready.
      is_initialized: scalar bool tensor.
    """

    def __init__(self, settings, buckets, bank=None):
        self.table_name = settings.options.name
        self.buckets = buckets
        self._buckets_of_table = settings.options.num_buckets
        self.handle = _make_handle(settings, buckets)
        self.device = self.handle.device
        bank = bank if bank is not None else bank_of(settings)
        self.initializer = table_ops.table_initialize(self.handle, bank)
        self.is_initialized = table_ops.table_is_initialized(self.handle)

    @property
    def is_head(self):
        """Whether what a checkpoint says of the table as a whole is this partition's to write."""
        return self.buckets[0] == 0

    def num_buckets(self):
        """How many buckets it owns."""
        return self.buckets[1] - self.buckets[0]

    def share_of(self, number):
        """Its part of a whole number that is for the table, by buckets; all parts add up to it."""
        begin, end = (number * bucket // self._buckets_of_table for bucket in self.buckets)
        return end - begin


def on_servers(settings, servers):
    """The partitions of a table that lives on `servers`, in the order of its buckets.

    Raises:
      ValueError: there are more servers than buckets.
      NotImplementedError: TensorFlow is 1.15.
    """
    options = settings.options
    if not bundle_ops.has_bundle_ops():
        raise NotImplementedError(
            "table %r: this TensorFlow cannot keep tables on parameter servers, it ships no header "
            "for its checkpoint format; use a newer one" % options.name
        )
    ranges = placement.bucket_ranges(options.name, options.num_buckets, len(servers))
    bank = bank_of(settings)  # Drawn once, so that a key finds the same rows on any server.
    partitions = []
    for i, (server, buckets) in enumerate(zip(servers, ranges)):
        with tf.device(server), tf.compat.v1.name_scope("part_%d" % i):
            partition = Partition(settings, buckets, bank)
            if not options.is_save:
                partition.initializer = _unless_initialized(partition, bank)
            partitions.append(partition)
    return partitions


def bank_of(settings):
    """The rows that the table's initializer draws from, [0, dim] where it needs none."""
    if settings.initializer.bank is None:
        return tf.zeros([0, settings.options.dim], tf.float32)
    return settings.initializer.bank()


def _make_handle(settings, buckets):
    options, initializer = settings
    return table_ops.table_handle(
        shared_name=options.name,
        table_name=options.name,
        dim=options.dim,
        num_buckets=options.num_buckets,
        key_dtype=options.key_dtype.name,
        initializer_kind=initializer.kind,
        initializer_arguments=initializer.arguments,
        seed=initializer.seed,
        first_bucket=buckets[0],
        end_bucket=buckets[1],
        name="handle",
    )


def _unless_initialized(partition, bank):
    """Every session initializes a table that is not saved, but one on a server is everybody's: a
    worker that joins must not empty it."""

    def initialize():
        with tf.control_dependencies([table_ops.table_initialize(partition.handle, bank)]):
            return tf.constant(True)

    return tf.cond(partition.is_initialized, lambda: tf.constant(True), initialize).op

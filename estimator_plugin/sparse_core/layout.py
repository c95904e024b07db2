"""SparseCoreTableLayout: where a logical table lies in the variable of its stack.

The records are protocol buffers with upstream's package, names and field numbers, so a layout that
either program wrote the other reads. They are built here, in a pool of their own: TensorFlow 2.15
has none, and a later TensorFlow's must not be disturbed.
"""

import collections

import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from .. import validate

CHECKPOINT_NAME = "_sparse_core_table_layouts"

_PACKAGE = "tensorflow.tpu"
_Type = descriptor_pb2.FieldDescriptorProto

# Name, number, type, whether it is a list.
_FIELDS = (
    ("table_name", 1, _Type.TYPE_STRING, False),
    ("stacked_table_name", 2, _Type.TYPE_STRING, False),
    ("num_sparse_cores", 3, _Type.TYPE_INT32, False),
    ("num_partitions", 4, _Type.TYPE_INT32, False),
    ("total_rows_per_sparse_core_shard", 5, _Type.TYPE_INT64, False),
    ("unsharded_shape", 6, _Type.TYPE_INT64, True),
    ("unsharded_padded_shape", 7, _Type.TYPE_INT64, True),
    ("sparse_core_shard_row_offset", 8, _Type.TYPE_INT32, False),
    ("sparse_core_shard_rotation", 9, _Type.TYPE_INT32, False),
    ("per_sparse_core_batch_size", 10, _Type.TYPE_INT32, False),
    ("num_features", 11, _Type.TYPE_INT32, False),
)


def _file_descriptor():
    file = descriptor_pb2.FileDescriptorProto(
        name="estimator_plugin/sparse_core_layout.proto", package=_PACKAGE, syntax="proto3"
    )
    layout = file.message_type.add(name="SparseCoreTableLayout")
    for name, number, kind, repeated in _FIELDS:
        label = _Type.LABEL_REPEATED if repeated else _Type.LABEL_OPTIONAL
        layout.field.add(name=name, number=number, type=kind, label=label)
    container = file.message_type.add(name="SparseCoreTableLayouts")
    container.field.add(
        name="tables",
        number=1,
        type=_Type.TYPE_MESSAGE,
        label=_Type.LABEL_REPEATED,
        type_name=".%s.SparseCoreTableLayout" % _PACKAGE,
    )
    return file


_FILE = _file_descriptor()
_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(_FILE)


def _message_class(name):
    descriptor = _POOL.FindMessageTypeByName("%s.%s" % (_PACKAGE, name))
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(_POOL).GetPrototype(descriptor)  # Before protobuf 4.22.


SparseCoreTableLayout = _message_class("SparseCoreTableLayout")
SparseCoreTableLayouts = _message_class("SparseCoreTableLayouts")

# The fields of one layout, as ints or as tensors, that `sharding` computes with.
Placement = collections.namedtuple(
    "Placement", ["num_shards", "shard_rows", "rows", "row_offset", "rotation", "shape", "width"]
)
Placement.__doc__ = """Where a table lies in the variable of its stack.

Fields:
  num_shards: N.
  shard_rows: rows of a shard, of all tables of the stack.
  rows: rows of a shard that are this table's.
  row_offset: the first of them.
  rotation: the shard that has row 0.
  shape: (rows, columns) of the logical table.
  width: columns of the variable.
"""


def placement_of(layout):
    """The Placement of a SparseCoreTableLayout, in ints."""
    padded_rows, width = layout.unsharded_padded_shape
    return Placement(
        layout.num_sparse_cores,
        layout.total_rows_per_sparse_core_shard,
        padded_rows // layout.num_sparse_cores,
        layout.sparse_core_shard_row_offset,
        layout.sparse_core_shard_rotation,
        tuple(layout.unsharded_shape),
        width,
    )


def serialized(layouts):
    """The bytes that a checkpoint has under CHECKPOINT_NAME, of an iterable of layouts."""
    return SparseCoreTableLayouts(tables=layouts).SerializeToString(deterministic=True)


def parsed(data):
    """The layouts in the bytes that `serialized` gives: an OrderedDict by table name."""
    tables = SparseCoreTableLayouts.FromString(data).tables
    return collections.OrderedDict((layout.table_name, layout) for layout in tables)


def decoded(data):
    """The layouts in a serialized string tensor, while a graph runs.

    Returns:
      dict of field name -> [n] tensor, or [n, 2] for the two shapes, of n tables. Checkpoint bytes
      leave zeros out; they are there.
    """
    files = descriptor_pb2.FileDescriptorSet(file=[_FILE]).SerializeToString()
    source = b"bytes://" + files
    _, (tables,) = tf.io.decode_proto(
        data, _PACKAGE + ".SparseCoreTableLayouts", ["tables"], [tf.string], source
    )
    types = {_Type.TYPE_STRING: tf.string, _Type.TYPE_INT32: tf.int32, _Type.TYPE_INT64: tf.int64}
    _, values = tf.io.decode_proto(
        tables,
        _PACKAGE + ".SparseCoreTableLayout",
        [name for name, *_ in _FIELDS],
        [types[kind] for _, _, kind, _ in _FIELDS],
        source,
    )
    return {
        name: value if repeated else value[:, 0]
        for (name, _, _, repeated), value in zip(_FIELDS, values)
    }


def check_stack(layouts, num_shards):
    """Checks given layouts of one stack against the topology and each other.

    Raises:
      ValueError: they are for other shards, disagree, overlap or leave the shard.
    """
    first = layouts[0]
    end, before = 0, None
    for layout in sorted(layouts, key=lambda layout: layout.sparse_core_shard_row_offset):
        owner = "layout of table %r" % layout.table_name
        place = placement_of(layout)
        if place.num_shards != num_shards:
            validate.fail(owner, "num_sparse_cores", place.num_shards, str(num_shards))
        if place.shard_rows != first.total_rows_per_sparse_core_shard:
            wanted = "%d, as of table %r" % (
                first.total_rows_per_sparse_core_shard,
                first.table_name,
            )
            validate.fail(owner, "total_rows_per_sparse_core_shard", place.shard_rows, wanted)
        if place.width != first.unsharded_padded_shape[1]:
            validate.fail(
                owner,
                "unsharded_padded_shape",
                tuple(layout.unsharded_padded_shape),
                "%d wide, as of table %r" % (first.unsharded_padded_shape[1], first.table_name),
            )
        if place.row_offset < end:
            wanted = "at least %d, where table %r ends" % (end, before)
            validate.fail(owner, "sparse_core_shard_row_offset", place.row_offset, wanted)
        end, before = place.row_offset + place.rows, layout.table_name
        if end > place.shard_rows:
            wanted = "at least %d, where the table ends" % end
            validate.fail(owner, "total_rows_per_sparse_core_shard", place.shard_rows, wanted)


def check_table(layout, name, vocabulary_size, dim):
    """Checks a given layout against its table: ValueError unless it is the table's."""
    owner = "layout of table %r" % name
    if layout.table_name != name:
        validate.fail(owner, "table_name", layout.table_name, repr(name))
    stack_name = layout.stacked_table_name
    if not stack_name or "/" in stack_name:
        validate.fail(owner, "stacked_table_name", stack_name, "a name without '/'")
    if tuple(layout.unsharded_shape) != (vocabulary_size, dim):
        wanted = "%s, the table's" % ((vocabulary_size, dim),)
        validate.fail(owner, "unsharded_shape", tuple(layout.unsharded_shape), wanted)
    shape, shards = tuple(layout.unsharded_padded_shape), layout.num_sparse_cores
    if len(shape) != 2 or shape[0] < vocabulary_size or shape[1] < dim or shards < 1:
        validate.fail(
            owner, "unsharded_padded_shape", shape, "at least %s" % ((vocabulary_size, dim),)
        )
    if shape[0] % shards:
        validate.fail(owner, "unsharded_padded_shape", shape, "of a multiple of %d rows" % shards)
    if not 0 <= layout.sparse_core_shard_rotation < shards:
        rotation = layout.sparse_core_shard_rotation
        validate.fail(owner, "sparse_core_shard_rotation", rotation, "from 0 to %d" % (shards - 1))

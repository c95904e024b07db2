"""Reading single tensors of a checkpoint, with one kind of error for whatever is damaged."""

import functools

import tensorflow as tf

# TensorFlow's own reader has one for each way that a file can be damaged.
_ERRORS = (IndexError, NotImplementedError, RuntimeError, ValueError, tf.errors.OpError)


class TensorReader:
    """The tensors of the checkpoint `prefix`.

    Attributes:
      prefix: str.
      shapes: dict from a tensor's name to its shape, a list of ints.
      dtypes: dict from a tensor's name to its tf.DType.

    Raises:
      tf.errors.DataLossError: the index cannot be read.
    """

    def __init__(self, prefix):
        self.prefix = prefix
        try:
            self._reader = tf.train.load_checkpoint(prefix)
            self.shapes = self._reader.get_variable_to_shape_map()
            self.dtypes = self._reader.get_variable_to_dtype_map()
        except _ERRORS as error:
            raise _damaged(prefix, "its index cannot be read", error) from error

    def read(self, name):
        """The tensor `name` as numpy gives it, its checksum verified.

        Raises:
          tf.errors.DataLossError: there is no such tensor, or it cannot be read.
        """
        try:
            return self._reader.get_tensor(name)
        except _ERRORS as error:
            raise _damaged(self.prefix, "%s cannot be read" % name, error) from error


def open_reader(prefix):
    """The TensorReader of `prefix`: the one of the last call, unless the checkpoint has changed.

    Opening reads the whole index, and each table of a checkpoint wants a reader.
    """
    try:
        stat = tf.io.gfile.stat(prefix + ".index")
    except tf.errors.OpError as error:
        raise _damaged(prefix, "its index cannot be read", error) from error
    return _open(prefix, stat.mtime_nsec, stat.length)


@functools.lru_cache(maxsize=32)
def _open(prefix, mtime_nsec, length):
    return TensorReader(prefix)


def _damaged(prefix, what, error):
    text = error.message if isinstance(error, tf.errors.OpError) else str(error)
    return tf.errors.DataLossError(None, None, "checkpoint %s: %s: %s" % (prefix, what, text))

"""The Rec SDK's `export`, which knows where the checkpoint is."""

import tensorflow as tf

from .. import table_export
from ..checkpoint import saves


def export(table_list=None, checkpoint=None, output_dir=None):
    """`estimator_plugin.export`, by default of what this process saved last.

    Args:
      table_list, output_dir: as there.
      checkpoint: as there; None is the newest checkpoint of the directory that this process has
        saved to last since `init`.

    Returns:
      A dict from table name to the file written.

    Raises:
      FileNotFoundError: checkpoint is None, and this process has saved none.
      ValueError: as there.

    >>> saver.save(session, "./saved-model/model-0", global_step=100)
    >>> export(table_list=["user"])

    Semantics: `mx_rec.saver.sparse.export` of the Rec SDK; the files differ, see there.
    """
    if checkpoint is None:
        directory = saves.last_directory()
        checkpoint = directory and tf.train.latest_checkpoint(directory)
        if checkpoint is None:
            raise FileNotFoundError(
                "export: this process has saved no checkpoint since init(); name one by checkpoint="
            )
    return table_export.export(table_list, checkpoint, output_dir)

"""StackedTables: the variables of an embedding, read and saved by logical table."""

import tensorflow as tf

from .. import tf_compat, validate
from . import sharding
from .layout import placement_of
from .pipelining import FlushHook
from .state import State
from .variables import PARAMETERS


class StackedTables(tf_compat.Trackable):
    """Tables that are stacked and sharded, built at the first use.

    Args:
      plan: plan.Plan.
      config: SparseCoreEmbeddingConfig.
      name: str or None, the first part of the names of variables.
      is_pipelined: bool, whether updates happen one step late.

    Raises:
      ValueError: an argument is out of range.
    """

    def __init__(self, plan, config, name, is_pipelined):
        owner = "TPUEmbeddingV2"
        self._plan = plan
        self._config = config
        self._name = validate.string(owner, "name", name, 200, True, "[A-Za-z0-9_./-]")
        self._is_pipelined = validate.boolean(
            owner, "pipeline_execution_with_tensor_core", is_pipelined
        )
        self._state = None

    @property
    def num_replicas(self):
        """R."""
        return self._plan.topology.num_replicas

    @property
    def num_sc_per_chip(self):
        """C."""
        return self._plan.topology.num_sc_per_chip

    @property
    def embedding_layouts(self):
        """dict table name -> SparseCoreTableLayout."""
        return dict(self._plan.layouts)

    @property
    def variables(self):
        """dict stack name -> dict "parameters" or slot name -> tf.Variable [rows, width]."""
        return {name: dict(made) for name, made in self._built().variables.items()}

    @property
    def embedding_tables(self):
        """dict stack name -> tf.Variable of its parameters, [rows, width], shard-major."""
        return {name: made[PARAMETERS] for name, made in self._built().variables.items()}

    @property
    def embedding_table_shards(self):
        """dict stack name -> list of R pairs (device, that replica's rows of the parameters)."""
        return {
            name: [(table.device, part) for part in tf.split(table, self.num_replicas)]
            for name, table in self.embedding_tables.items()
        }

    def build(self):
        """Makes the variables, in the graph or eagerly. Further calls change nothing."""
        self._built()

    def logical_table(self, name):
        """A table as it was configured, whatever stack it is in.

        Args:
          name: str, the table's.

        Returns:
          dict "parameters" or slot name -> float32 [vocabulary_size, dim], copies.

        Raises:
          ValueError: there is no table of that name.
        """
        stack = self._plan.stack_of(name)
        place = placement_of(self._plan.layouts[name])
        return {
            slot: sharding.table_in_variable(place, variable.read_value())
            for slot, variable in self._built().variables[stack.name].items()
        }

    def flush(self):
        """The operation that applies the update that waits in the pipeline; see `pipelining`."""
        pipeline = self._built().pipeline
        operations = [] if pipeline is None else pipeline.flush()
        return None if tf.executing_eagerly() else tf.group(*operations)

    def flush_hook(self):
        """A SessionRunHook that flushes when training ends.

        A save flushes too, so it is needed only where no checkpoint is saved in the end.
        """
        return FlushHook(self.flush)

    def _built(self, draw=True):
        if self._state is None:
            self._state = State(self._plan, self._config, self._name, self._is_pipelined, draw)
        elif draw:
            self._state.draw()
        return self._state

    def _trackable_children(self, *args, **kwargs):
        children = super()._trackable_children(*args, **kwargs)
        return children if self._state is None else {**children, **self._built().children}

    def _lookup_dependency(self, name, cached_dependencies=None):
        if cached_dependencies is None:
            return super()._lookup_dependency(name)
        return self._built(draw=False).receiver_of(name, cached_dependencies)

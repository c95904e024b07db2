"""The parts of the Rec SDK's ConfigInitializer that have a meaning here, for the default graph.

The Rec SDK keeps tables and iterators of the process in them; here each graph has its own.
"""

from .. import config, graph_state, lookup_registry
from ..graph import session

_NAME = "ascend_global_hashtable_collection"


class TrainParamsConfig:
    """`ConfigInitializer.get_instance().train_params_config`."""

    @property
    def ascend_global_hashtable_collection(self):
        """The collection that tables join, a string of 1 to 255 characters; it can be set before
        tables are made."""
        return getattr(config.get_config(), _NAME)

    @ascend_global_hashtable_collection.setter
    def ascend_global_hashtable_collection(self, name):
        config.change(**{_NAME: name})

    @staticmethod
    def get_initializer(is_training):
        """`estimator_plugin.get_initializer`; None where the graph was not modified."""
        if graph_state.of().pipeline is None:
            return None
        return session.get_initializer(is_training)


class SparseEmbedConfig:
    """`ConfigInitializer.get_instance().sparse_embed_config`."""

    @staticmethod
    def get_table_instance(key):
        """The table whose `variable` is `key`.

        Raises:
          KeyError: the graph has no such table.
        """
        table = lookup_registry.table_of(key)
        if table is None:
            raise KeyError("no table of the default graph has the variable %r" % (key,))
        return table

    @staticmethod
    def get_table_instance_by_name(table_name):
        """The table of a name.

        Raises:
          KeyError: the graph has no such table.
        """
        state = graph_state.of()
        tables = dict(state.tables, **state.table_of_merged_name)
        if table_name not in tables:
            raise KeyError(
                "the default graph has no table %r; it has %s"
                % (table_name, ", ".join(map(repr, tables)) or "none")
            )
        return tables[table_name]


class HybridManagerConfig:
    """`ConfigInitializer.get_instance().hybrid_manager_config`."""

    @property
    def freeze(self):
        """Whether the graph is modified, and takes no more lookups that ask for it."""
        return graph_state.of().pipeline is not None

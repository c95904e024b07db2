"""Growing embedding tables: `create_table` and the `EmbeddingTable` it returns."""

import tensorflow as tf

from . import (
    config,
    graph_state,
    initializers,
    partition,
    table_merging,
    table_options,
    tf_compat,
    validate,
)
from .checkpoint.saveable import saveables_of
from .distribute import placement
from .ops import lookup_ops, table_ops


class EmbeddingTable:
    """A table of one graph. Made by `create_table`; rows live in the session, not in this object.

    Attributes:
      name: str, the table's name; also the first part of its names in a checkpoint.
      dim: int, values in an embedding.
      key_dtype: tf.int64 or tf.int32.
      handle: scalar tensor. `tf.gradients(loss, table.handle)` gives a `tf.IndexedSlices` whose
        indices are row addresses; an optimizer's `apply_gradients` takes it back. It is the
        table's resource, or on parameter servers a constant that stands for it.
      initializer: operation that makes the table empty and ready, as a variable's initializer.
      graph: the tf.Graph the table belongs to.
      num_buckets: int, parts the table is kept and saved in.
      is_save: bool, whether checkpoints contain the table.
      partitions: list of Partition, one for each parameter server; of one for a table of this
        process.
      is_distributed: bool, whether the table lives on parameter servers.
      admission: the filter of `ep.admission` that counts waiting keys.
      eviction: tuple of policies of `ep.eviction`.
      names: list of str, `name`, and the names of the tables that were merged into this one.
    """

    def __init__(self, options, initializer):
        self._options = options
        self.graph = graph_state.outermost_graph()
        servers = placement.current()
        self.is_distributed = bool(servers)
        self.names = [options.name]
        settings = partition.Settings(options, initializer)
        with tf.device("/cpu:0"), tf.compat.v1.name_scope(options.name):
            if servers:
                self.handle = tf.zeros([], tf.float32, name="handle")
                self.partitions = partition.on_servers(settings, servers)
            else:
                self.partitions = [partition.Partition(settings, (0, options.num_buckets))]
                self.handle = self.partitions[0].handle
            self.gather_initializers()

    name = property(lambda self: self._options.name)
    dim = property(lambda self: self._options.dim)
    key_dtype = property(lambda self: self._options.key_dtype)
    num_buckets = property(lambda self: self._options.num_buckets)
    is_save = property(lambda self: self._options.is_save)
    is_dp = property(lambda self: self._options.is_dp)
    init_param = property(lambda self: self._options.init_param)
    padding_keys = property(lambda self: self._options.padding_keys)
    padding_keys_len = property(lambda self: self._options.padding_keys_len)
    admission = property(lambda self: self._options.admission)
    eviction = property(lambda self: self._options.eviction)

    # The names of the Rec SDK.
    table_name = name
    embedding_size = dim
    emb_size = dim
    variable = property(lambda self: self.handle)

    @property
    def is_merged(self):
        """Whether it was made with enable_merge=True."""
        return len(self.names) > 1

    def join(self, options):
        """Makes it the table of a further create_table with enable_merge=True."""
        self.names.append(options.name)
        if len(self.names) > 2:  # The first has made it, with padding keys of its own.
            keys = set(self.padding_keys).union(options.padding_keys)
            length = (self.padding_keys_len or 0) + (options.padding_keys_len or 0)
            self._options = self._options._replace(
                padding_keys=tuple(sorted(keys)), padding_keys_len=length or None
            )

    def gather_initializers(self):
        """Makes `initializer` that of all partitions, as they are now."""
        parts = [p.initializer for p in self.partitions]
        self.initializer = self._all(parts, lambda x: tf.group(*x))

    def is_initialized(self):
        """Scalar bool tensor: whether the initializer, or a restore, has run."""
        return self._all([p.is_initialized for p in self.partitions], tf.reduce_all)

    def size(self):
        """Scalar int64 tensor: the number of rows."""
        return self._all(self._each(table_ops.table_size), tf.add_n)

    def capacity(self):
        """Scalar int64 tensor: the rows there is room for, which is `size()` as a table grows."""
        return self.size()

    def memory_bytes(self):
        """Scalar int64 tensor: bytes in use for rows, their metadata and the index."""
        return self._all(self._each(table_ops.table_memory), tf.add_n)

    def statistics(self):
        """What the table has done so far, int64, as `ops.table_ops.STATISTICS` names it."""
        return self._all(self._each(table_ops.table_statistics), table_ops.combined_statistics)

    def find(self, keys):
        """The addresses of int64 `keys`, int64 of the same shape; -1 for those without a row."""
        found = self._each(lambda handle: lookup_ops.table_find(handle, keys, insert=False))
        return self._all(found, lambda addresses: tf.reduce_max(tf.stack(addresses), axis=0))

    def remove(self, keys):
        """Removes the rows of int64 `keys`. Returns a scalar int64 tensor: how many there were."""
        return self._all(self._each(lambda handle: table_ops.table_remove(handle, keys)), tf.add_n)

    def _each(self, make):
        """What `make` gives for the handle of each partition, where the partition lives."""
        made = []
        for each in self.partitions:
            with tf.device(each.device):
                made.append(make(each.handle))
        return made

    @staticmethod
    def _all(parts, combine):
        return parts[0] if len(parts) == 1 else combine(parts)

    def __repr__(self):
        return "EmbeddingTable(name=%r, dim=%d)" % (self.name, self.dim)


def create_table(
    key_dtype,
    dim,
    name,
    emb_initializer,
    device_vocabulary_size=1,
    host_vocabulary_size=0,
    ssd_vocabulary_size=0,
    ssd_data_path=(".",),
    is_save=True,
    is_dp=False,
    init_param=1.0,
    all2all_gradients_op="sum_gradients",
    enable_merge=False,
    padding_keys=None,
    padding_keys_mask=False,
    padding_keys_len=None,
    value_dtype=tf.float32,
    shard_num=1,
    fusion_optimizer_var=True,
    hashtable_threshold=0,
    optimizer_list=None,
    num_buckets=64,
    admission=None,
    eviction=None,
):
    """Makes a growing embedding table in the default graph.

    Call it where the graph is built; in an Estimator that is inside model_fn, in every mode. The
    table joins the graph's resources and saveable objects, so an Estimator, a MonitoredSession or
    `tables_initializer()` makes it ready and any Saver saves it. Where an Estimator trains in a
    cluster with parameter servers, the table lives on them; see `ep.distribute`.

    Args:
      key_dtype: tf.int64 or tf.int32.
      dim: int from 1 to 8192, or a tf.TensorShape of that one dimension: values in an embedding.
      name: str of 1 to 100 characters out of 0-9, A-Z, a-z, `_` and `.`; dots are left out.
        Unique in the graph; the same name in the next graph names the same table of a checkpoint.
      emb_initializer: instance of a TensorFlow initializer (v1, v2 or Keras). How new rows start;
        see `estimator_plugin.initializers.spec_of` for what is drawn how, and for the seed.
      is_save: bool, default True. Whether checkpoints contain the table; a table that is not saved
        starts empty in every session.
      init_param: number from -10 to 10, default 1. A factor on starting values.
      padding_keys: None, an int or a list of ints. Keys whose rows are looked up as any other and
        take no update; needs padding_keys_mask=True and padding_keys_len, as in the Rec SDK.
      padding_keys_mask: bool, default False.
      padding_keys_len: None or int from 1. Where shapes are static, the most distinct ids of a
        lookup of the table, in the place of its send_count.
      enable_merge: bool, default False. True: tables that are alike in all but their names are one
        table, mergeable_table_<n>, whose lookups of a step GraphModifierHook makes one operation.
        They must have no id in common. Needs init(use_dynamic_expansion=True).
      value_dtype: tf.float32.
      num_buckets: power of two from 1 to 4096, default 64. Parts the table is kept in; fixed for
        the life of its checkpoints.
      admission: what counts the keys that wait for a row, where lookups have an access_threshold:
        None or `ep.admission.ExactCounts()`, or `ep.admission.CountingSketch(max_bytes)`.
      eviction: None, a policy of `ep.eviction` or a list of them: rows that an eviction removes,
        beside those past a lookup's eviction_threshold. `ep.hooks.EvictHook` evicts.
      device_vocabulary_size, host_vocabulary_size, ssd_vocabulary_size, ssd_data_path, is_dp,
        all2all_gradients_op, shard_num, fusion_optimizer_var, hashtable_threshold,
        optimizer_list: accepted and checked for the Rec SDK's sake; a table grows by itself in
        host memory, so they have no effect, which is logged once.

    Returns:
      An EmbeddingTable.

    Raises:
      ValueError: an argument is of a wrong type or out of range, or the graph has a table of that
        name. The message names the table, the argument, its value and what would be right.
      RuntimeError: eager execution is on; enable_merge is True without dynamic expansion.

    >>> table = create_table(tf.int64, 8, "user", tf.compat.v1.truncated_normal_initializer())
    >>> table.name, table.dim
    ('user', 8)

    Semantics: `mx_rec.core.embedding.create_table` of the Rec SDK.
    """
    if tf_compat.executing_eagerly_outside_functions():
        raise RuntimeError(
            "create_table builds a graph: call it in an Estimator's model_fn, in "
            "`with tf.Graph().as_default():`, or after tf.compat.v1.disable_eager_execution()"
        )
    others = {
        "device_vocabulary_size": device_vocabulary_size,
        "host_vocabulary_size": host_vocabulary_size,
        "ssd_vocabulary_size": ssd_vocabulary_size,
        "ssd_data_path": ssd_data_path,
        "is_dp": is_dp,
        "all2all_gradients_op": all2all_gradients_op,
        "padding_keys": padding_keys,
        "padding_keys_mask": padding_keys_mask,
        "padding_keys_len": padding_keys_len,
        "shard_num": shard_num,
        "fusion_optimizer_var": fusion_optimizer_var,
        "hashtable_threshold": hashtable_threshold,
        "optimizer_list": optimizer_list,
        "admission": admission,
        "eviction": eviction,
    }
    options = table_options.checked_options(
        name, key_dtype, dim, value_dtype, num_buckets, is_save, init_param, others
    )
    validate.boolean("table %r" % options.name, "enable_merge", enable_merge)
    state = graph_state.of()
    if options.name in state.tables or options.name in state.table_of_merged_name:
        raise ValueError(
            "table %r: the graph has a table of that name already; give each table its own name, "
            "or share the table object between lookups" % options.name
        )
    if enable_merge:
        return table_merging.table_for(options, emb_initializer, state, _make)
    return _make(options, emb_initializer)


def _make(options, emb_initializer):
    initializer = initializers.spec_of(
        options.name, emb_initializer, options.dim, options.init_param
    )
    with tf.init_scope():  # Tables belong to the graph, even if a function body makes them.
        table = EmbeddingTable(options, initializer)
        _register(table, graph_state.of())
    return table


def _register(table, state):
    state.tables[table.name] = table
    state.table_of_handle[table.handle.name] = table
    graph = table.graph
    graph.add_to_collection(config.get_config().ascend_global_hashtable_collection, table.handle)
    for each in table.partitions:
        # What no checkpoint restores is local: sessions run its initializer after a restore.
        tf_compat.register_resource(
            each.handle, each.initializer, each.is_initialized, is_shared=table.is_save
        )
    if table.is_save:
        for saveable in saveables_of(table):
            graph.add_to_collection(tf.compat.v1.GraphKeys.SAVEABLE_OBJECTS, saveable)

"""TPUEmbeddingV2: lookups and updates of stacked, sharded tables."""

import tensorflow as tf

from .. import notices, validate
from ..distribute import placement
from ..ops import sparse_core_ops
from . import activations as samples
from . import preprocessing, statistics, updating
from .configuration import SparseCoreEmbeddingConfig
from .plan import Plan, Topology
from .preprocessing import PartitionedCsrFormatTensor
from .stacked_tables import StackedTables
from .variables import PARAMETERS

DEFAULT_NUM_SC_PER_CHIP = 4


class TPUEmbeddingV2(StackedTables):
    """Embedding tables that are stacked into few variables, on CPUs.

    One call takes the batch of all replicas: a feature of output_shape [b, ...] has R * b samples,
    replica 0's first, and its activations have the shape [R * b, ..., dim]. A row's update is one
    optimizer step on the sum of its gradients over all features, samples and replicas.

    Args:
      feature_config: a FeatureConfig or a nest of them, each with an `output_shape`: the samples of
        one replica, a multiple of num_sc_per_chip.
      optimizer: one of `optimizers`, for tables that have none; None (default) where all have one.
      pipeline_execution_with_tensor_core: True makes every update one step late; see `pipelining`.
      sparse_core_embedding_config: SparseCoreEmbeddingConfig; None (default): its defaults.
      num_replicas: int >= 1, R, default 1.
      num_sc_per_chip: int >= 1, C, default 4. R * C is a power of two, the number of shards.
      name: str or None (default): first part of the names of variables in a graph and in its
        Saver's checkpoints. Embeddings of one graph need different names.

    Raises:
      ValueError: an argument is out of range, an output_shape is missing or does not divide, a
        table has no optimizer, or an option of an optimizer is not supported.
      NotImplementedError: an optimizer has weight decay, or the tables would be on parameter
        servers.

    >>> table = TableConfig(100, 8, combiner="sum", name="item")
    >>> embedding = TPUEmbeddingV2(FeatureConfig(table, output_shape=[4]), SGD(0.1))
    >>> activations, csr = embedding(tf.constant([1, 2, 3, 4]))
    >>> update = embedding.apply_gradients(tf.gradients(loss, activations)[0], csr)

    Semantics: `tf.tpu.experimental.embedding.TPUEmbeddingV2` of TensorFlow 2.19.
    """

    def __init__(
        self,
        feature_config,
        optimizer=None,
        pipeline_execution_with_tensor_core=False,
        sparse_core_embedding_config=None,
        *,
        num_replicas=1,
        num_sc_per_chip=DEFAULT_NUM_SC_PER_CHIP,
        name=None,
    ):
        config = _checked_config("TPUEmbeddingV2", sparse_core_embedding_config)
        _check_place()
        topology = Topology(num_replicas, num_sc_per_chip)
        plan = Plan(feature_config, optimizer, topology, config.disable_table_stacking)
        _warn_of_unknown_stacks(config, plan)
        super().__init__(plan, config, name, pipeline_execution_with_tensor_core)
        self._feature_config = feature_config

    def __call__(self, features, weights=None):
        """As `embedding_lookup`."""
        return self.embedding_lookup(features, weights)

    def embedding_lookup(self, features, weights=None):
        """`build` if need be, `enqueue` and `dequeue`.

        Args, Returns, Raises: as theirs.
        """
        self.build()
        return self.dequeue(self.enqueue(features, weights))

    def enqueue(self, features, weights=None, device=None):
        """Preprocesses a batch. It has no state: it may run in `tf.data.Dataset.map`.

        Args:
          features: structured as feature_config; integer tensors of R * n elements, n the product
            of output_shape; or SparseTensors whose first column is the sample; or RaggedTensors of
            R * n rows.
          weights: structured likewise, of the same kinds; None (default): ones.
          device: accepted, None or a string; ids are preprocessed where the op is placed.

        Returns:
          dict stack name -> (PartitionedCsrFormatTensor, row_pointers_unpadded_size,
          ids_unpadded_size). With R replicas the sizes are vectors of R.

        Raises:
          ValueError: structures differ by a key, or something is of the wrong kind.
          TypeError: structures differ by a type.
          tf.errors.InvalidArgumentError: when run, an id is not in its table, ids exceed a limit,
            or the input is malformed. The message names feature or stack, value and limit.
        """
        validate.string("enqueue", "device", device, 1000, optional=True)
        flat_features = self._flat(features, "features")
        flat_weights = self._flat(weights, "weights")
        packed = preprocessing.csr_of_stacks(self._plan, self._config, flat_features, flat_weights)
        result = {}
        for name, csr in packed.items():
            partitioned = PartitionedCsrFormatTensor(
                csr.row_pointers,
                csr.sorted_sample_ids,
                csr.sorted_token_ids,
                csr.sorted_gains,
                self._plan.stacks[name].sample_count,
                csr.num_minibatches_per_sc,
            )
            sizes = (csr.row_pointers_unpadded_size, csr.ids_unpadded_size)
            result[name] = (partitioned,) + sizes
        return result

    def dequeue(self, partitioned_tensors):
        """Looks up what `enqueue` prepared.

        Args:
          partitioned_tensors: what `enqueue` returned.

        Returns:
          (activations, csr): activations structured as feature_config, float32
          [R * output_shape[0], ..., dim]; csr, dict stack name -> PartitionedCsrFormatTensor, what
          `apply_gradients` needs.

        Raises:
          KeyError: a stack is missing.
        """
        variables = self._built().variables
        looked_up, csr = {}, {}
        for stack in self._plan.stacks.values():
            partitioned = PartitionedCsrFormatTensor(*partitioned_tensors[stack.name][0])
            looked_up[stack.name] = self._looked_up(stack, partitioned, variables[stack.name])
            # Who updates with it updates after the lookup.
            with tf.control_dependencies([looked_up[stack.name]]):
                pointers = tf.identity(partitioned.row_pointers)
            csr[stack.name] = partitioned._replace(row_pointers=pointers)
        flat = samples.unstacked(self._plan, looked_up)
        return tf.nest.pack_sequence_as(self._feature_config, flat), csr

    def apply_gradients(self, gradients, preserved_outputs):
        """Updates every row that was looked up, once.

        Args:
          gradients: structured as feature_config, of the activations' shapes; None for zeros.
          preserved_outputs: the second result of `dequeue`.

        Returns:
          The operation; None where executed eagerly or in a tf.function, which runs it anyway.

        Raises:
          RuntimeError: not built.
          ValueError: structures differ, or a gradient is of the wrong kind or size.
          KeyError: a stack is missing in preserved_outputs.
        """
        if self._state is None:
            raise RuntimeError(
                "TPUEmbeddingV2: apply_gradients before build(): look up first, or call build()"
            )
        flat = self._flat(gradients, "gradients")
        updates = []
        for name, gradient in samples.stacked_gradients(self._plan, flat).items():
            stack, csr = self._plan.stacks[name], _csr_buffer(preserved_outputs[name])
            updates.append(self._updated(stack, csr, gradient))
        return None if tf.executing_eagerly() else tf.group(*updates)

    @classmethod
    def compute_sparse_core_stats(
        cls,
        features,
        feature_config,
        num_tpu_chips,
        num_sc_per_chip=DEFAULT_NUM_SC_PER_CHIP,
        optimizer=None,
        sparse_core_embedding_config=None,
    ):
        """The limits that a batch of one replica needs.

        Args:
          features: as for `enqueue`, of one replica.
          feature_config, optimizer, sparse_core_embedding_config: as for the constructor.
          num_tpu_chips: int >= 1, replicas.
          num_sc_per_chip: int >= 1.

        Returns:
          (max_ids, max_unique_ids): dicts stack name -> scalar int32 tensor, for
          SparseCoreEmbeddingConfig's max_ids_per_table and max_unique_ids_per_table; 0 for a batch
          without ids, which is no limit.

        Raises:
          As the constructor and `enqueue`.
        """
        config = _checked_config("compute_sparse_core_stats", sparse_core_embedding_config)
        topology = Topology(num_tpu_chips, num_sc_per_chip)
        plan = Plan(feature_config, optimizer, topology, config.disable_table_stacking)
        flat = preprocessing.flat_inputs(plan.features, feature_config, features, "features")
        max_ids, max_unique_ids = statistics.limits_of_batch(plan, flat)
        return dict(max_ids), dict(max_unique_ids)

    def _flat(self, inputs, argument):
        return preprocessing.flat_inputs(
            self._plan.features, self._feature_config, inputs, argument
        )

    def _looked_up(self, stack, partitioned, variables):
        return sparse_core_ops.sparse_core_matmul(
            _csr_buffer(partitioned),
            variables[PARAMETERS].handle,
            input_size=stack.sample_count,
            num_replicas=self.num_replicas,
            num_sc_per_chip=self.num_sc_per_chip,
            width=stack.width,
            quantization=stack.quantization,
            table_name=stack.name,
        )

    def _updated(self, stack, csr, gradient):
        if self._state.pipeline is not None:
            return self._state.pipeline.exchange(stack, csr, gradient)
        return updating.updated(
            self._plan,
            stack,
            self._state.variables[stack.name],
            csr,
            gradient,
            updating.hyperparameters_of(stack),
        )


def _checked_config(owner, config):
    if config is None:
        return SparseCoreEmbeddingConfig()
    if not isinstance(config, SparseCoreEmbeddingConfig):
        argument = "sparse_core_embedding_config"
        validate.fail(owner, argument, config, "None or a SparseCoreEmbeddingConfig")
    return config


def _check_place():
    """Stacked tables are updated in the process that looks them up."""
    servers = () if tf.executing_eagerly() else placement.current()
    if servers:
        raise NotImplementedError(
            "TPUEmbeddingV2: stacked tables cannot be on parameter servers, got %s; train without "
            'servers, or on tables that grow (ep.create_table, embedding="hash_table")'
            % ", ".join(servers)
        )


def _warn_of_unknown_stacks(config, plan):
    """Upstream takes such limits without a word; one configuration may serve several stackings."""
    for argument in ("max_ids_per_table", "max_unique_ids_per_table"):
        for name in sorted(set(getattr(config, argument) or {}) - set(plan.stacks)):
            notices.warn_once(
                "SparseCoreEmbeddingConfig: %s[%r] has no effect: there is no such stack, only %s"
                % (argument, name, ", ".join(plan.stacks))
            )


def _csr_buffer(partitioned):
    """The CsrBuffer of a PartitionedCsrFormatTensor, less the sizes, which no lookup needs."""
    return sparse_core_ops.CsrBuffer(
        partitioned.row_pointers,
        partitioned.sorted_sample_ids,
        partitioned.sorted_token_ids,
        partitioned.sorted_gains,
        None,
        None,
        partitioned.num_minibatches_per_physical_sparse_core,
    )

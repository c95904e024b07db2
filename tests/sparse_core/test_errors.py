"""What is wrong is said: by feature or table, argument, value and what would be right."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import notices
from estimator_plugin import sparse_core as sc
from tests.sparse_core import models


def _table(name="item", rows=16, dim=8, **kwargs):
    return sc.TableConfig(rows, dim, combiner="sum", name=name, **kwargs)


def _feature(table=None, shape=(4,)):
    return sc.FeatureConfig(_table() if table is None else table, output_shape=shape)


def _embedding(features=None, optimizer=None, **kwargs):
    features = {"f": _feature()} if features is None else features
    optimizer = sc.SGD(0.1) if optimizer is None else optimizer
    kwargs.setdefault("num_sc_per_chip", 2)
    return sc.TPUEmbeddingV2(features, optimizer, **kwargs)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: sc.TableConfig(0, 8), "vocabulary_size.*>= 1"),
        (lambda: sc.TableConfig(4, 2.0), "dim.*int"),
        (lambda: sc.TableConfig(4, 2, initializer=3), "initializer.*callable"),
        (lambda: sc.TableConfig(4, 2, combiner="max"), "combiner"),
        (lambda: sc.FeatureConfig("table"), "table"),
        (lambda: sc.QuantizationConfig(1, 0, 1), "num_buckets"),
        (
            lambda: sc.SparseCoreEmbeddingConfig(max_ids_per_chip_per_sample=0),
            "max_ids_per_chip_per_sample must be an int from 1 to 2147483647, got 0",
        ),
        (
            lambda: sc.SparseCoreEmbeddingConfig(max_ids_per_table={"a_b": 0}),
            r"max_ids_per_table\['a_b'\] must be an int from 1 to",
        ),
        (
            lambda: sc.SparseCoreEmbeddingConfig(allow_id_dropping=1),
            "allow_id_dropping must be True or False, got 1",
        ),
        (lambda: _embedding({"f": _table()}), "element 'f' must be a FeatureConfig"),
        (
            lambda: _embedding({"f": _feature(shape=None)}),
            "feature 'f': output_shape must be known",
        ),
        (lambda: _embedding({"f": _feature(shape=[])}), "output_shape must be of at least one dim"),
        (lambda: _embedding({"f": _feature(shape=[None])}), "output_shape must be known"),
        (
            lambda: _embedding({"a": {"b": _feature(shape=[3])}}),
            r"feature 'a/b': output_shape must be of a multiple of num_sc_per_chip \(2\)",
        ),
        (
            lambda: _embedding({"f": _feature(), "g": _feature()}),
            "2 distinct tables are named 'item'",
        ),
        (
            lambda: _embedding({"a": {"b": _feature()}, "a/b": _feature(_table("b"))}),
            "2 features have the path 'a/b'",
        ),
        (
            lambda: _embedding(
                [_feature(_table(n, dim=d)) for n, d in (("a", 8), ("b", 8), ("a_b", 9))]
            ),
            "two stacks would be named 'a_b', of the tables a, a_b, b; rename one",
        ),
        (
            lambda: _embedding(
                {"f": sc.FeatureConfig(_table(), max_sequence_length=3, output_shape=[4])}
            ),
            "feature 'f': max_sequence_length must be 0; give the shape.*as output_shape, got 3",
        ),
        (lambda: _embedding({"f": _feature(_table("a/b"))}), "name must be a name without '/'"),
        (lambda: _embedding(optimizer="sgd"), "table 'item': optimizer must be an SGD.*got 'sgd'"),
        (
            lambda: sc.TPUEmbeddingV2({"f": _feature()}),
            "table 'item': optimizer must be given, to it or to TPUEmbeddingV2, got None",
        ),
        (lambda: _embedding(num_replicas=3), "num_replicas is 3, num_sc_per_chip is 2.*got 6"),
        (lambda: _embedding(num_sc_per_chip=0), "num_sc_per_chip must be an int from 1"),
        (lambda: _embedding(name="a b"), "name must be None or a string"),
        (
            lambda: _embedding(sparse_core_embedding_config={}),
            "sparse_core_embedding_config must be None or a SparseCoreEmbeddingConfig",
        ),
        (
            lambda: _embedding(
                {"f": _feature(_table(quantization_config=sc.QuantizationConfig(4, 1, 0)))}
            ),
            "table 'item': quantization_config: lower must be below upper, 0, got 1",
        ),
        (lambda: _embedding(optimizer=sc.Adam(0.1, lazy_adam=False)), "lazy_adam must be True"),
        (lambda: _embedding(optimizer=sc.SGD(0.1, clipvalue=1.0)), "clipvalue must be None"),
        (
            lambda: _embedding(optimizer=sc.SGD(0.1, use_gradient_accumulation=False)),
            "use_gradient_accumulation must be True",
        ),
        (
            lambda: _embedding(optimizer=sc.Adagrad(0.1, slot_variable_creation_fn=lambda *a: {})),
            "slot_variable_creation_fn must be None",
        ),
        (
            lambda: _embedding(optimizer=sc.SGD(0.1, clip_weight_min=1.0, clip_weight_max=0.5)),
            "clip_weight_min must be at most clip_weight_max, 0.5, got 1.0",
        ),
        (
            lambda: _embedding(optimizer=sc.FTRL(0.1, learning_rate_power=0.5)),
            "learning_rate_power must be at most 0, got 0.5",
        ),
        (
            lambda: _embedding(optimizer=sc.FTRL(0.1, l1_regularization_strength=-1.0)),
            "l1_regularization_strength must be at least 0, got -1.0",
        ),
    ],
)
def test_configurations(make, message):
    with pytest.raises(ValueError, match="(?s)" + message):
        make()


def test_options_without_effect_are_said(monkeypatch):
    lines = []
    monkeypatch.setattr(notices, "_said", set())
    for level in ("info", "warning"):
        monkeypatch.setattr(
            notices.tf.compat.v1.logging, level, lambda form, *args: lines.append(form % args)
        )
    feature = sc.FeatureConfig(_table(), validate_weights_and_indices=False, output_shape=[4])
    limits = sc.SparseCoreEmbeddingConfig(max_ids_per_table={"item": 9, "itme": 9})
    _embedding({"f": feature}, sparse_core_embedding_config=limits)
    assert lines == [
        "feature 'f': argument validate_weights_and_indices is accepted and has no effect",
        "SparseCoreEmbeddingConfig: max_ids_per_table['itme'] has no effect: there is no such "
        "stack, only item",
    ]


def test_parameter_servers_are_refused():
    server = "/job:ps/replica:0/task:0/device:CPU:0"
    refused = pytest.raises(NotImplementedError, match="cannot be on parameter servers, got.*ps")
    with tf.Graph().as_default(), ep.distribute.servers([server]), refused:
        _embedding()


@pytest.mark.parametrize(
    "argument", ["weight_decay_factor", "multiply_weight_decay_factor_by_learning_rate"]
)
def test_weight_decay_is_not_supported(argument):
    optimizer = sc.SGD(0.1, **{argument: False, "weight_decay_factor": 0.5})
    with pytest.raises(NotImplementedError, match="table 'item': weight_decay_factor"):
        _embedding(optimizer=optimizer)


def _layout(name="item", **kwargs):
    fields = {
        "table_name": name,
        "stacked_table_name": "s",
        "num_sparse_cores": 2,
        "num_partitions": 1,
        "total_rows_per_sparse_core_shard": 16,
        "unsharded_shape": [16, 8],
        "unsharded_padded_shape": [16, 8],
    }
    return sc.SparseCoreTableLayout(**dict(fields, **kwargs))


@pytest.mark.parametrize(
    "layouts, message",
    [
        ([_layout("other")], "layout of table 'item': table_name must be 'item', got 'other'"),
        ([_layout(stacked_table_name="a/b")], "stacked_table_name must be a name without '/'"),
        ([_layout(unsharded_shape=[15, 8])], r"unsharded_shape must be \(16, 8\), the table's"),
        ([_layout(unsharded_padded_shape=[8, 8])], r"unsharded_padded_shape must be at least"),
        ([_layout(num_sparse_cores=4)], "num_sparse_cores must be 2, got 4"),
        ([_layout(sparse_core_shard_rotation=2)], "rotation must be from 0 to 1, got 2"),
        (
            [_layout(sparse_core_shard_row_offset=9)],
            "shard must be at least 17, where the table ends",
        ),
        (
            [_layout(), _layout("b")],
            "row_offset must be at least 8, where table 'b' ends, got 0",
        ),
        (
            [
                _layout(),
                _layout("b", sparse_core_shard_row_offset=8, total_rows_per_sparse_core_shard=24),
            ],
            "total_rows_per_sparse_core_shard must be 24, as of table 'b', got 16",
        ),
    ],
)
def test_given_layouts(layouts, message):
    names = ["item", "b"]
    features = [_feature(_table(n, layout=each)) for n, each in zip(names, layouts)]
    with pytest.raises(ValueError, match=message):
        _embedding(features)


def test_given_layouts_do_not_join_optimizers():
    features = [
        _feature(_table("item", layout=_layout())),
        _feature(
            _table(
                "b", layout=_layout("b", sparse_core_shard_row_offset=8), optimizer=sc.Adagrad(1.0)
            )
        ),
    ]
    with pytest.raises(ValueError, match="table 'item': optimizer must be as of table 'b'"):
        _embedding(features)


@pytest.mark.parametrize(
    "features, weights, error, message",
    [
        ({"g": [1]}, None, ValueError, "features must be structured as feature_config"),
        ([1], None, TypeError, "features must be structured as feature_config"),
        ({"f": np.zeros(4, int)}, None, ValueError, "feature 'f': ids must be .*a ndarray"),
        ({"f": "abc"}, None, ValueError, "feature 'f': ids must be a tf.SparseTensor or.*a str"),
        ({"f": tf.constant([0.5] * 4)}, None, ValueError, "ids must be integers: cast them"),
        (
            {"f": tf.constant([1] * 4)},
            {"f": tf.ragged.constant([[1.0]] * 4)},
            ValueError,
            "feature 'f': weights must be a tf.Tensor, got .*a RaggedTensor",
        ),
        (
            {"f": tf.ragged.constant([[[1]], [[2]], [[3]], [[4]]])},
            None,
            ValueError,
            "ids must be ragged in one dimension only",
        ),
        ({"f": tf.constant([1] * 4)}, {"g": None}, ValueError, "weights must be structured as"),
    ],
)
def test_enqueue_of_the_wrong_kind(features, weights, error, message):
    with models.eagerly(), pytest.raises(error, match="(?s)" + message):
        _embedding().enqueue(features, weights)


@pytest.mark.parametrize(
    "ids, message",
    [
        ([1, 2, 16, 3], "f.*16.*16"),
        ([1, 2, -1, 3], "f.*-1.*16"),
        ([1, 2, 2**32, 3], "f.*4294967296"),
        ([1, 2, 3], "f.*3"),
        (tf.RaggedTensor, "f"),
        (tf.SparseTensor, "f"),
    ],
)
def test_malformed_inputs(ids, message):
    with models.eagerly():
        if ids is tf.RaggedTensor:
            given = ids.from_row_splits([1, 2, 3], [0, 1, 3], validate=False)
        elif ids is tf.SparseTensor:
            given = ids([[0, 0], [4, 0]], [1, 2], [5, 1])
        else:
            given = tf.constant(ids, tf.int64)
        with pytest.raises(tf.errors.InvalidArgumentError, match="(?s)" + message):
            _embedding().enqueue({"f": given})


def test_too_many_ids_name_stack_and_limit():
    config = sc.SparseCoreEmbeddingConfig(max_ids_per_table={"item": 1})
    with models.eagerly(), pytest.raises(tf.errors.InvalidArgumentError, match="(?s)item.*1"):
        embedding = _embedding(sparse_core_embedding_config=config)
        embedding.enqueue({"f": tf.constant([0, 2, 4, 6])})


def test_a_variable_of_the_same_name_would_not_be_saved():
    tf.compat.v1.get_variable("item", [2])
    with pytest.raises(ValueError, match="the graph has a variable 'item' already"):
        _embedding().build()
    _embedding(name="tables").build()


def test_apply_gradients_before_build():
    with pytest.raises(RuntimeError, match="apply_gradients before build()"):
        _embedding().apply_gradients({"f": tf.zeros([4, 8])}, {})


@pytest.mark.parametrize(
    "gradient, message",
    [
        (lambda: np.zeros([4, 8], np.float32), "feature 'f': gradient must be .*a ndarray"),
        (lambda: tf.zeros([5, 8]), r"feature 'f': gradient must be of shape \[4, 8\], got"),
        (lambda: tf.zeros([4, 8], tf.float64), "feature 'f': gradient must be float32"),
    ],
)
def test_wrong_gradients(gradient, message):
    embedding = _embedding()
    _, csr = embedding({"f": tf.constant([1, 2, 3, 4])})
    with pytest.raises(ValueError, match="(?s)" + message):
        embedding.apply_gradients({"f": gradient()}, csr)
    with pytest.raises(ValueError, match="gradients must be structured as feature_config"):
        embedding.apply_gradients({"g": gradient()}, csr)


def test_a_missing_stack_is_a_key_error():
    embedding = _embedding()
    embedding({"f": tf.constant([1, 2, 3, 4])})
    with pytest.raises(KeyError, match="item"):
        embedding.apply_gradients({"f": tf.zeros([4, 8])}, {})
    with pytest.raises(KeyError, match="item"):
        embedding.dequeue({})


def test_an_unknown_table_has_no_logical_view():
    with pytest.raises(ValueError, match="table must be one of item, got 'itme'"):
        _embedding().logical_table("itme")


@pytest.mark.parametrize("dim", [3, 4, 5, 8])
def test_no_gradient_is_a_zero_gradient_of_any_width(dim):
    with models.eagerly():
        features = {"f": _feature(_table(dim=dim)), "g": _feature(_table("b", dim=dim))}
        embedding = _embedding(features, sc.SGD(1.0))
        ids = tf.constant([1, 2, 3, 4])
        _, csr = embedding({"f": ids, "g": ids})
        before = models.logical_tables(embedding)
        embedding.apply_gradients({"f": None, "g": tf.ones([4, dim])}, csr)
        after = models.logical_tables(embedding)
    assert np.array_equal(after["item"]["parameters"], before["item"]["parameters"])
    change = after["b"]["parameters"][1:5] - before["b"]["parameters"][1:5]
    np.testing.assert_allclose(change, -np.ones([4, dim]), rtol=1e-6)


def test_ragged_weights_are_weights():
    with models.eagerly():
        embedding = _embedding({"f": _feature(_table(initializer=tf.ones_initializer()))})
        ids = tf.ragged.constant([[1, 2], [], [3], [4, 4]])
        weights = tf.ragged.constant([[0.5, 2.0], [], [3.0], [1.0, 1.0]])
        activations, _ = embedding({"f": ids}, {"f": weights})
    assert activations["f"].numpy()[:, 0].tolist() == [2.5, 0.0, 3.0, 2.0]


def test_weights_are_clipped_after_an_update():
    with models.eagerly():
        optimizer = sc.SGD(1.0, clip_weight_min=-0.5, clip_weight_max=0.5)
        embedding = _embedding(optimizer=optimizer)
        _, csr = embedding({"f": tf.constant([1, 2, 3, 4])})
        embedding.apply_gradients({"f": tf.ones([4, 8]) * 9}, csr)
        rows = models.logical_tables(embedding)["item"]["parameters"]
    assert (rows[1:5] == -0.5).all()


def test_unnamed_tables_get_names_and_a_single_feature_needs_no_nest():
    embedding = sc.TPUEmbeddingV2(_feature(sc.TableConfig(16, 8)), sc.SGD(0.1), num_sc_per_chip=2)
    assert list(embedding.embedding_layouts) == ["table_0"]
    activations, _ = embedding(tf.constant([1, 2, 3, 4]))
    assert activations.shape == (4, 8)


def test_configurations_of_tensorflow_itself_are_taken_and_left_alone():
    library = tf.tpu.experimental.embedding
    table = library.TableConfig(10, 5, name="t")
    feature = library.FeatureConfig(table, output_shape=[4])
    embedding = sc.TPUEmbeddingV2([feature], library.SGD(0.1), num_sc_per_chip=2)
    assert embedding([tf.constant([1, 2, 3, 4])])[0][0].shape == (4, 5)
    assert (table.vocabulary_size, table.dim, table.optimizer) == (10, 5, None)


def test_shards_are_the_rows_of_each_replica():
    with models.eagerly():
        embedding = _embedding(num_replicas=2)
        (table,), (shards,) = (
            embedding.embedding_tables.values(),
            embedding.embedding_table_shards.values(),
        )
        assert [part.shape.as_list() for _, part in shards] == [[16, 8], [16, 8]]
        whole = np.concatenate([part.numpy() for _, part in shards])
        assert np.array_equal(whole, table.numpy())

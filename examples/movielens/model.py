"""Features, networks and settings of the example; tuned on the validation slice."""

import tensorflow as tf

import estimator_plugin as ep

DIM = 16
BATCH_SIZE = 512
MAX_STEPS = 700  # About 4.5 passes.
DENSE_LEARNING_RATE = 0.001
SPARSE_LEARNING_RATE = 0.02
INITIAL_ACCUMULATOR = 0.01
EMBEDDING_L2 = 0.02
STDDEV = 0.01
MLP = ep.model_fns.MlpConfig(hidden_units=(64, 32), dropout=0.4)
MODELS = ("deepfm", "wide_and_deep", "dcn_v2", "dlrm")


def _table(name, variable_rows):
    """A table; `variable_rows` is what has to be guessed for a `tf.Variable` in its place."""
    initializer = tf.compat.v1.truncated_normal_initializer(stddev=STDDEV)
    return ep.model_fns.TableSpec(name, DIM, initializer, variable_rows)


def make_features(max_age=None):
    """What the network reads. Movies share a table, be they rated now, liked or disliked before.

    `max_age` is how many seconds users and movies keep their rows after they were last seen.
    """
    categorical, numeric = ep.model_fns.CategoricalFeature, ep.model_fns.NumericFeature
    items = _table("item", 2000)
    return [
        categorical("user_id", _table("user", 1000), eviction_threshold=max_age),
        categorical("item_id", items, eviction_threshold=max_age),
        categorical("liked", items, combiner="mean", eviction_threshold=max_age),
        categorical("disliked", items, combiner="mean", eviction_threshold=max_age),
        categorical("genres", _table("genre", 200), combiner="mean", dtype=tf.string),
        categorical("year", _table("year", 2000)),
        categorical("age", _table("age", 20)),
        categorical("gender", _table("gender", 10), dtype=tf.string),
        categorical("occupation", _table("occupation", 200), dtype=tf.string),
        categorical("zip", _table("zip", 1000), dtype=tf.string),
        categorical("hour", _table("hour", 24)),
        numeric("user_stars", transform=_centred_stars),
        numeric("user_recent_stars", transform=_centred_stars),
        numeric("item_stars", transform=_centred_stars),
        numeric("item_recent_stars", transform=_centred_stars),
        numeric("user_events", transform=_squashed_count),
        numeric("item_events", transform=_squashed_count),
        numeric("genre_affinity", transform=lambda stars: 2.0 * stars),
    ]


def make_model_fn(model, embedding, max_age=None, sparse_core=None):
    """One of `MODELS` on embeddings of a kind of `ModelOptions`. For `max_age` see make_features.

    `sparse_core` is what "sparse_core" embeddings need: `SparseCoreOptions`.
    """
    options = ep.model_fns.ModelOptions(
        embedding=embedding,
        sparse_core=sparse_core,
        embedding_l2=EMBEDDING_L2,
        timestamp_feature=None if max_age is None else "timestamp",
        optimizers=ep.model_fns.Optimizers(
            dense=lambda: tf.compat.v1.train.AdamOptimizer(DENSE_LEARNING_RATE),
            sparse=lambda: ep.optimizers.adagrad.create_hash_optimizer(
                SPARSE_LEARNING_RATE, INITIAL_ACCUMULATOR
            ),
            variable=lambda: tf.compat.v1.train.AdagradOptimizer(
                SPARSE_LEARNING_RATE, INITIAL_ACCUMULATOR
            ),
            sparse_core=lambda: ep.sparse_core.Adagrad(SPARSE_LEARNING_RATE, INITIAL_ACCUMULATOR),
        ),
    )
    features = make_features(max_age)
    if model == "dlrm":
        return ep.model_fns.dlrm(features, top=MLP, options=options)
    return getattr(ep.model_fns, model)(features, mlp=MLP, options=options)


def _centred_stars(stars):
    return 2.0 * (stars - 3.5)


def _squashed_count(count):
    return tf.math.log1p(count) / 5.0

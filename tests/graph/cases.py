"""Datasets, id operations and models for the tests of graph modification."""

import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

v1 = tf.compat.v1
SAMPLES, BATCH = 24, 4


def example(i):
    """What element i of every dataset is made of."""
    return {
        "text": tf.strings.as_string(i % 7),
        "number": i * 5 % 11,
        "price": tf.cast(i, tf.float32) / 4,
        "tags": tf.strings.reduce_join(tf.strings.as_string(tf.range(i % 3)), separator=","),
        "label": tf.cast(i % 2, tf.float32),
    }


def examples():
    return tf.data.Dataset.range(SAMPLES).map(example)


FORMS = {
    "batch": lambda d: d.batch(BATCH),
    "map": lambda d: d.batch(BATCH).map(lambda e: dict(e, number=e["number"] + 1)),
    "prefetch": lambda d: d.batch(BATCH).prefetch(3),
    "repeat": lambda d: d.shuffle(9, seed=3).batch(BATCH).repeat(2),
    "shuffle": lambda d: d.batch(BATCH).shuffle(4, seed=5),
    "interleave": lambda d: d.batch(2).interleave(
        lambda e: tf.data.Dataset.from_tensors(e).repeat(2), cycle_length=2
    ),
    "take": lambda d: d.batch(BATCH).take(4),
    "dropped remainder": lambda d: d.batch(5, drop_remainder=True),
}


def _sparse(batch):
    return dict(batch, tags=tf.strings.split(batch["tags"], ",").to_sparse())


def _ragged(batch):
    return dict(batch, tags=tf.strings.split(batch["tags"], ","))


# How a dict batch is laid out, and how its parts are found again.
STRUCTURES = {
    "dict": (lambda b: b, lambda b: b),
    "features and label": (lambda b: (b, b["label"]), lambda e: e[0]),
    "tuple": (
        lambda b: (b["text"], b["number"], b["price"], b["tags"]),
        lambda e: dict(zip(("text", "number", "price", "tags"), e)),
    ),
    "nested": (
        lambda b: {"ids": (b["text"], {"n": b["number"]}), "more": (b["price"], b["tags"])},
        lambda e: {
            "text": e["ids"][0],
            "number": e["ids"][1]["n"],
            "price": e["more"][0],
            "tags": e["more"][1],
        },
    ),
    "single": (lambda b: b["number"], lambda e: {"number": e}),
    "sparse": (_sparse, lambda b: b),
    "ragged": (_ragged, lambda b: b),
}


def _hashed(values):
    return tf.strings.to_hash_bucket_fast(values, 1000)


def _hashed_sparse(sparse):
    return tf.SparseTensor(sparse.indices, _hashed(sparse.values), sparse.dense_shape)


def _tags(batch):
    tags = batch["tags"]
    if isinstance(tags, tf.SparseTensor):
        return _hashed_sparse(tags)
    if isinstance(tags, tf.RaggedTensor):
        return tags.with_values(_hashed(tags.values))
    return _hashed_sparse(tf.strings.split(tags, ",").to_sparse())


# Ids out of a batch, and the combiner of their lookup.
IDS = {
    "hashed": (lambda b: _hashed(b["text"]), None),
    "string to number": (lambda b: tf.strings.to_number(b["text"], tf.int64), None),
    "bucketized": (lambda b: tf.searchsorted([1.0, 2.5, 4.0], b["price"]), None),
    "split": (_tags, "mean"),
    "crossed": (
        lambda b: _hashed(
            tf.strings.join([b["text"], tf.strings.as_string(b["number"])], separator="x")
        ),
        None,
    ),
    "cast": (lambda b: tf.cast(tf.cast(b["number"], tf.int32), tf.int64), None),
    "reshaped": (
        lambda b: tf.reshape([b["number"], b["number"] + 1], [-1, 1, 2]),
        None,
    ),
}


def iterator_of(dataset, kind):
    """An initializable or a one-shot iterator."""
    if kind == "initializable":
        return v1.data.make_initializable_iterator(dataset)
    return v1.data.make_one_shot_iterator(dataset)


def model(batch, ids_of, is_train=True, config=None):
    """What to fetch in a step: the loss, a train op, an embedding, and a part of the batch."""
    table = support.table("user", initializer=v1.truncated_normal_initializer(seed=1))
    loss, shown = 0.0, {}
    for name, (make, combiner) in ids_of.items():
        embedding = ep.sparse_lookup(
            table,
            make(batch),
            is_train=is_train,
            combiner=combiner,
            modify_graph=True,
            access_and_evict_config=config,
        )
        shown["embedding of " + name] = embedding
        loss += tf.reduce_sum(tf.square(embedding)) + tf.reduce_mean(embedding) * tf.reduce_sum(
            tf.cast(batch["number"], tf.float32)
        )
    fetches = {"loss": loss, "embeddings": shown, "number": batch["number"]}
    if is_train:
        fetches["train"] = ep.optimizers.adagrad.create_hash_optimizer(0.1).minimize(loss)
        with tf.control_dependencies([fetches["train"]]):
            fetches["rows"] = table.size()
    return fetches


def steps(fetches, initializers=()):
    """What every step gives until the data end."""
    seen = []
    with support.ready_session() as session:
        session.run(list(initializers))
        while True:
            try:
                seen.append(session.run(fetches))
            except tf.errors.OutOfRangeError:
                return seen

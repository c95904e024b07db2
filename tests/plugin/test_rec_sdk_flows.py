"""Programs written for the Rec SDK: FeatureSpecs, automatic mode, a threshold that changes."""

import numpy as np
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import (
    FeatureSpec,
    create_table,
    get_asc_insert_func,
    import_host_pipeline_ops,
    init,
    sparse_lookup,
    start_asc_pipeline,
    terminate_config_initializer,
)
from estimator_plugin.constants import ASCEND_TIMESTAMP
from estimator_plugin.hooks import EvictHook
from estimator_plugin.optimizers.lazy_adam import create_hash_optimizer

v1 = tf.compat.v1
BATCH = 32
STEPS = 12
DAY = 86400


def batches():
    """Users 0 to 9 come every day, each batch brings ten new ones; a batch is a day."""
    for step in range(STEPS):
        random = np.random.RandomState(step)
        new = 1000 + 10 * step + np.arange(10)
        users = np.concatenate([np.arange(10), new, new, [-1, -1]])[:BATCH]
        yield {
            "user_ids": users.astype(np.int64)[:, None],
            "item_ids": random.randint(0, 50, [BATCH, 3]).astype(np.int64),
            "label_0": random.randint(0, 2, [BATCH]).astype(np.float32),
            "timestamp": np.int64(1700000000 + DAY * step),
        }


def make_dataset():
    types = {n: tf.int64 for n in ("user_ids", "item_ids", "timestamp")}
    shapes = {"user_ids": [BATCH, 1], "item_ids": [BATCH, 3], "label_0": [BATCH], "timestamp": []}
    return tf.data.Dataset.from_generator(batches, dict(types, label_0=tf.float32), shapes)


def make_tables():
    initializer = v1.truncated_normal_initializer(seed=1)
    user = create_table(
        key_dtype=tf.int64,
        dim=tf.TensorShape([8]),
        name="user_table",
        emb_initializer=initializer,
        device_vocabulary_size=1000,
        host_vocabulary_size=0,
    )
    item = create_table(
        key_dtype=tf.int64,
        dim=tf.TensorShape([8]),
        name="item_table",
        emb_initializer=initializer,
        device_vocabulary_size=1000,
        host_vocabulary_size=0,
    )
    return user, item


def make_loss(user_embeddings, item_embeddings, labels):
    user = tf.reduce_sum(user_embeddings, axis=1)
    item = tf.reduce_mean(item_embeddings, axis=1)
    logits = tf.reduce_sum(user * item, axis=1)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))


def model_fn(features, labels, mode, params):
    """The model of both flows; params["specs"] are FeatureSpecs, or None in automatic mode."""
    user, item = make_tables()
    is_train = mode == tf.estimator.ModeKeys.TRAIN
    if params["specs"] is not None:
        embeddings = [
            sparse_lookup(
                table, spec, send_count=60, is_train=is_train, batch=features, modify_graph=False
            )
            for table, spec in zip((user, item), params["specs"])
        ]
    else:
        if is_train:
            v1.add_to_collection(ASCEND_TIMESTAMP, features["timestamp"])
        configs = [
            dict(access_threshold=2, eviction_threshold=3 * DAY, faae_coefficient=1),
            dict(access_threshold=5, faae_coefficient=2),
        ]
        embeddings = [
            sparse_lookup(
                table,
                features[name],
                60,
                dim=None,
                is_train=is_train,
                access_and_evict_config=config,
                name=table.table_name + "_lookup",
                modify_graph=True,
                batch=features,
                serving_default_value=None,
            )
            for table, name, config in zip((user, item), ("user_ids", "item_ids"), configs)
        ]
    loss = make_loss(embeddings[0], embeddings[1], labels)
    if not is_train:
        rows = {t.name: v1.metrics.mean(tf.cast(t.size(), tf.float32)) for t in (user, item)}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=rows)
    train_op = create_hash_optimizer(learning_rate=0.01).minimize(
        loss, global_step=v1.train.get_or_create_global_step()
    )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def train_and_evaluate(model_dir, specs):
    """Trains with eviction every fifth step. Returns {table: {key: values}} and metrics."""
    estimator = tf.estimator.Estimator(
        model_fn,
        model_dir,
        tf.estimator.RunConfig(save_checkpoints_steps=6, save_summary_steps=None),
        params={"specs": specs},
    )

    def input_fn(is_training):
        dataset = make_dataset()
        if specs is not None:
            clock = FeatureSpec("timestamp", is_timestamp=True)
            dataset = dataset.map(
                get_asc_insert_func(tgt_key_specs=specs + [clock], is_training=is_training)
            )
        return dataset.map(lambda batch: (batch, batch["label_0"])).prefetch(100)

    hook = EvictHook(evict_enable=True, evict_time_interval=24 * 60 * 60, evict_step_interval=5)
    results, _ = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(lambda: input_fn(True), max_steps=STEPS, hooks=[hook]),
        tf.estimator.EvalSpec(lambda: input_fn(False), steps=5, throttle_secs=0),
    )
    path = estimator.latest_checkpoint()
    names = ep.checkpoint.table_names(path)
    tables = {n: counted_rows(ep.checkpoint.read_table(path, n)) for n in names}
    return tables, results


def counted_rows(rows):
    """{key: (count, last_seen, embedding)}"""
    values = zip(rows.counts.tolist(), rows.last_seen.tolist(), rows.embeddings.tolist())
    return dict(zip(rows.keys.tolist(), values))


def test_feature_specs_and_automatic_mode_give_the_same_numbers(tmp_path):
    init(max_steps=STEPS, train_steps=6, eval_steps=5, save_steps=6, use_dynamic_expansion=True)
    specs = [
        FeatureSpec(
            "user_ids", table_name="user_table", access_threshold=2, eviction_threshold=3 * DAY
        ),
        FeatureSpec("item_ids", table_name="item_table", access_threshold=5, faae_coefficient=2),
    ]
    by_spec, spec_results = train_and_evaluate(str(tmp_path / "spec"), specs)
    automatic, automatic_results = train_and_evaluate(str(tmp_path / "automatic"), None)
    assert by_spec == automatic
    assert spec_results == automatic_results
    # Evicted after steps 5 and 10, by days: on day 9 those last seen on day 6 or before leave.
    users = set(range(10)) | set(range(1070, 1120))
    assert set(by_spec["user_table"]) == users
    assert spec_results["user_table"] == len(users)
    # The first ten come once a day, others twice on theirs.
    assert {by_spec["user_table"][key][0] for key in range(10)} == {STEPS}
    assert {by_spec["user_table"][key][0] for key in range(1070, 1120)} == {2}
    terminate_config_initializer()


def test_a_session_that_changes_the_threshold():
    init(train_steps=-1, eval_steps=-1, save_steps=-1)
    specs = [
        FeatureSpec("user_ids", table_name="user_table", access_threshold=100),
        FeatureSpec("timestamp", is_timestamp=True),
    ]
    dataset = make_dataset().map(get_asc_insert_func(tgt_key_specs=specs, is_training=True))
    iterator = v1.data.make_initializable_iterator(dataset)
    batch = iterator.get_next()
    user, _ = make_tables()
    embeddings = sparse_lookup(user, specs[0], 60, is_train=True, batch=batch)
    train_op = create_hash_optimizer(0.01).minimize(tf.reduce_mean(embeddings))
    input_tensor = tf.constant([3], dtype=tf.int32)
    set_threshold_op = import_host_pipeline_ops().set_threshold(
        input_tensor, emb_name=user.table_name, ids_name=user.table_name + "_lookup"
    )
    start_asc_pipeline()
    with v1.Session() as sess:
        sess.run(iterator.initializer)
        sess.run([v1.global_variables_initializer(), ep.tables_initializer()])
        rows = []
        for step in range(6):
            if step == 4:
                sess.run(set_threshold_op)
            sess.run(train_op)
            rows.append(sess.run(user.size()))
    # Users 0 to 9 had been seen five times once the threshold was 3; the others twice.
    assert rows == [0, 0, 0, 0, 10, 10]
    terminate_config_initializer()

"""Programs written for the Rec SDK's automatic mode: one in a session, one with an Estimator."""

import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import (
    create_table,
    get_dense_and_sparse_variable,
    get_initializer,
    init,
    modify_graph_and_start_emb_cache,
    sparse_lookup,
    terminate_config_initializer,
)
from estimator_plugin.constants import (
    ASCEND_SPARSE_LOOKUP_ID_OFFSET,
    ASCEND_SPARSE_LOOKUP_LOCAL_EMB,
    ASCEND_TIMESTAMP,
)
from estimator_plugin.hooks import EvictHook, GraphModifierHook
from estimator_plugin.optimizers.lazy_adam import create_hash_optimizer
from estimator_plugin.optimizers.lazy_adam_by_addr import create_hash_optimizer_by_address

v1 = tf.compat.v1
TRAIN_STEPS, EVAL_STEPS = 4, 2


def make_dataset():
    def sample(i):
        return {
            "user": tf.strings.as_string(i % 13),
            "item": tf.stack([i % 5, i % 11]),
            "label": tf.cast(i % 2, tf.float32),
        }

    dataset = tf.data.Dataset.range(64).map(sample).batch(4, drop_remainder=True)
    return dataset.map(lambda b: dict(b, timestamp=tf.constant(1700000000, tf.int64))).prefetch(10)


def make_tables():
    return [
        create_table(
            key_dtype=tf.int64,
            dim=tf.TensorShape([8]),
            name=name,
            emb_initializer=v1.truncated_normal_initializer(seed=1),
            device_vocabulary_size=1000,
        )
        for name in ("user_table", "item_table")
    ]


def make_loss(batch, tables, is_train):
    if is_train:
        v1.add_to_collection(ASCEND_TIMESTAMP, batch["timestamp"])
    keys = [tf.strings.to_number(batch["user"], tf.int64), batch["item"]]
    embeddings = [
        sparse_lookup(
            table,
            ids,
            send_count=60,
            is_train=is_train,
            name=table.table_name + "_lookup",
            modify_graph=True,
            batch=batch,
            access_and_evict_config={"eviction_threshold": 1000} if is_train else None,
        )
        for table, ids in zip(tables, keys)
    ]
    pooled = tf.concat([embeddings[0], tf.reduce_sum(embeddings[1], axis=1)], axis=1)
    with v1.variable_scope("tower", reuse=v1.AUTO_REUSE):
        kernel = v1.get_variable("kernel", [16, 1], initializer=v1.ones_initializer())
    logits = tf.matmul(pooled, kernel)[:, 0]
    return tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(labels=batch["label"], logits=logits)
    )


def train_op_of(loss):
    """Dense variables first, then tables by address, as its programs do."""
    dense_variables, _ = get_dense_and_sparse_variable()
    dense = v1.train.AdamOptimizer(0.01)
    dense_op = dense.apply_gradients(dense.compute_gradients(loss, dense_variables))
    local = v1.get_collection(ASCEND_SPARSE_LOOKUP_LOCAL_EMB)
    addresses = v1.get_collection(ASCEND_SPARSE_LOOKUP_ID_OFFSET)
    sparse = create_hash_optimizer_by_address(learning_rate=0.01)
    sparse_op = sparse.apply_gradients(list(zip(tf.gradients(loss, local), addresses)))
    return tf.group(dense_op, sparse_op, v1.assign_add(v1.train.get_or_create_global_step(), 1))


def session_program(automatic):
    """The losses of training and evaluation in turn."""
    init(train_steps=TRAIN_STEPS, eval_steps=EVAL_STEPS, use_dynamic_expansion=True)
    iterators = [v1.data.make_initializable_iterator(make_dataset()) for _ in range(2)]
    v1.train.get_or_create_global_step()
    tables = make_tables()
    train_loss = make_loss(iterators[0].get_next(), tables, is_train=True)
    train_op = train_op_of(train_loss)
    eval_loss = make_loss(iterators[1].get_next(), tables, is_train=False)
    starts = [iterator.initializer for iterator in iterators]
    if automatic:
        modify_graph_and_start_emb_cache(dump_graph=True)
        starts = [get_initializer(True), get_initializer(False)]
    losses = []
    with v1.Session() as sess:
        sess.run(starts[0])
        sess.run([v1.global_variables_initializer(), ep.tables_initializer()])
        for step in range(1, 3 * TRAIN_STEPS + 1):
            losses.append(sess.run([train_loss, train_op])[0])
            if step % TRAIN_STEPS == 0:
                sess.run(starts[1])
                losses += [sess.run(eval_loss) for _ in range(EVAL_STEPS)]
    terminate_config_initializer()
    return losses


def test_a_session_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = []
    for automatic in (False, True):
        with tf.Graph().as_default():
            results.append(session_program(automatic))
    assert results[0] == results[1] and len(results[0]) == 3 * (TRAIN_STEPS + EVAL_STEPS)
    assert (tmp_path / "export_graph" / "new_graph.pbtxt").exists()


def model_fn(features, labels, mode, params):
    is_train = mode == tf.estimator.ModeKeys.TRAIN
    loss = make_loss(features, make_tables(), is_train)
    if not is_train:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    sparse = create_hash_optimizer(learning_rate=0.01).minimize(loss)
    step = v1.assign_add(v1.train.get_or_create_global_step(), 1)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(sparse, step))


def estimator_program(model_dir, modify_graph):
    """What an evaluation says after training and evaluation in turn."""
    init(max_steps=12, train_steps=6, eval_steps=EVAL_STEPS, save_steps=6)
    hooks = [GraphModifierHook(modify_graph=modify_graph)]
    estimator = tf.estimator.Estimator(
        model_fn,
        model_dir,
        tf.estimator.RunConfig(save_checkpoints_steps=6, save_summary_steps=None),
        params={},
    )
    evict = EvictHook(evict_enable=True, evict_step_interval=4)
    results, _ = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(make_dataset, max_steps=12, hooks=hooks + [evict]),
        tf.estimator.EvalSpec(make_dataset, steps=EVAL_STEPS, hooks=hooks, throttle_secs=0),
    )
    terminate_config_initializer()
    return results


def test_an_estimator_program(tmp_path):
    plain = estimator_program(str(tmp_path / "plain"), modify_graph=False)
    automatic = estimator_program(str(tmp_path / "automatic"), modify_graph=True)
    assert plain == automatic and plain["global_step"] == 12

"""A small model_dir with a chain of deltas, whose every row is known."""

import collections
import os

import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint.saver import StreamingSaver
from estimator_plugin.checkpoint.streaming import StreamingSaverBuilder
from estimator_plugin.ops import bundle_ops

v1 = tf.compat.v1

RATE = 0.01
DIM = 4
STEPS = collections.OrderedDict(  # Step -> (keys touched since the one before, keys removed).
    [
        (0, (list(range(20)), [])),
        (10, (list(range(10, 25)), [])),
        (20, (list(range(5)), [19, 24])),
        (30, ([24, 100], [])),
    ]
)


def expected(step):
    """Key -> value of each number of its embedding, as saved at `step`: 1 minus 0.01 a touch."""
    rows = {}
    for at, (touched, removed) in STEPS.items():
        if at <= step:
            rows.update({key: rows.get(key, 1.0) - RATE for key in touched})
            rows = {key: value for key, value in rows.items() if key not in removed}
    return rows


def build(directory, num_buckets=8):
    """Writes model.ckpt-0 (full), -10, -20 and -30 (deltas). Returns {step: prefix}."""
    os.makedirs(str(directory), exist_ok=True)
    prefixes = {}
    with tf.Graph().as_default(), v1.Session() as session:
        table = ep.create_table(
            tf.int64, DIM, "user", v1.ones_initializer(), num_buckets=num_buckets
        )
        ids = v1.placeholder(tf.int64, [None])
        bias = v1.get_variable("bias", [3], initializer=v1.zeros_initializer())
        loss = tf.reduce_sum(ep.sparse_lookup(table, ids))
        optimizer = ep.optimizers.momentum.create_hash_optimizer(RATE, momentum=0.0)
        train = tf.group(optimizer.minimize(loss), bias.assign_add([1.0, 0.0, 0.0]))
        remove = table.remove(ids)
        full = ep.checkpoint.saver(max_to_keep=0)
        delta = StreamingSaver(builder=StreamingSaverBuilder(delta=True), max_to_keep=0)
        saved = v1.placeholder(tf.string, [])
        commit = bundle_ops.commit_save(saved, [table.name], [table.handle])
        session.run([v1.global_variables_initializer(), ep.tables_initializer()])
        for step, (touched, removed) in STEPS.items():
            session.run(train, {ids: touched})
            session.run(remove, {ids: removed})
            saver = delta if step else full
            prefixes[step] = saver.save(
                session, os.path.join(str(directory), "model.ckpt"), global_step=step
            )
            assert session.run(commit, {saved: prefixes[step]}).all()
        full.release()
        delta.release()
    return prefixes

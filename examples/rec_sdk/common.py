"""What both programs share: settings, data, tables and the training operation."""

import argparse

import numpy as np
import tensorflow as tf
from mx_rec.constants.constants import (
    ASCEND_SPARSE_LOOKUP_ID_OFFSET,
    ASCEND_SPARSE_LOOKUP_LOCAL_EMB,
)
from mx_rec.core.asc.feature_spec import FeatureSpec
from mx_rec.core.asc.helper import get_asc_insert_func
from mx_rec.core.embedding import create_table, sparse_lookup
from mx_rec.optimizers import lazy_adam, lazy_adam_by_addr
from mx_rec.util.initialize import init
from mx_rec.util.variable import get_dense_and_sparse_variable
from rec_sdk_common.communication.hccl.hccl_info import get_rank_size
from rec_sdk_common.util.tf_adapter import hccl_ops

v1 = tf.compat.v1
BATCH = 128
USERS, ITEMS = 1000, 400
DIM = 8


def parser(description):
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--model_dir", default="/tmp/rec_sdk_model")
    made.add_argument("--steps", type=int, default=60)
    made.add_argument("--expansion", action="store_true", help="dynamic expansion of tables")
    made.add_argument("--feature_spec", action="store_true", help="not the automatic mode")
    made.add_argument("--legacy", action="store_true", help="the old tree's keywords")
    return made


def initialize(arguments, save_steps):
    """Calls init in one of its two keyword sets."""
    settings = {"max_steps": -1, "train_steps": -1, "eval_steps": -1, "save_steps": save_steps}
    settings["use_dynamic_expansion"] = arguments.expansion
    if arguments.legacy:
        del settings["max_steps"], settings["save_steps"]
        settings.update(use_mpi=True, train_interval=save_steps, prefetch_batch_number=2)
        settings.update(use_hot=True)
    else:
        settings.update(use_dynamic=True, bind_cpu=False)
    init(**settings)


def feature_specs(arguments):
    """The ids of the two lookups by FeatureSpec, None in the automatic mode."""
    if not arguments.feature_spec:
        return None
    return {
        name: FeatureSpec(name, table_name=name + "_table", batch_size=BATCH, access_threshold=1)
        for name in ("user", "items")
    }


def dataset(first, count, specs=None, is_training=True):
    """`count` batches: a user and three items, clicked when two of their numbers are both odd."""

    def generate():
        for number in range(first, first + count):
            random = np.random.RandomState(number)
            user = random.randint(0, USERS, [BATCH]).astype(np.int64)
            items = random.randint(0, ITEMS, [BATCH, 3]).astype(np.int64)
            clicked = ((user % 2 == 1) & (items[:, 0] % 2 == 1)).astype(np.float32)
            yield {"user": user, "items": items, "label": clicked}

    types = {"user": tf.int64, "items": tf.int64, "label": tf.float32}
    shapes = {"user": [BATCH], "items": [BATCH, 3], "label": [BATCH]}
    made = tf.data.Dataset.from_generator(generate, types, shapes)
    if specs is not None:
        insert = get_asc_insert_func(tgt_key_specs=list(specs.values()), is_training=is_training)
        made = made.map(insert)
    return made.prefetch(10)


def sparse_optimizer(expansion):
    if expansion:
        return lazy_adam_by_addr.create_hash_optimizer_by_address(learning_rate=0.02)
    return lazy_adam.create_hash_optimizer(learning_rate=0.02)


def tables(arguments, optimizer):
    """The two tables; the old tree wants to know their optimizers."""
    legacy = {"optimizer_list": [optimizer]} if arguments.legacy else {}
    return {
        name: create_table(
            key_dtype=tf.int64,
            dim=tf.TensorShape([DIM]),
            name=name + "_table",
            emb_initializer=v1.truncated_normal_initializer(stddev=0.05, seed=1),
            device_vocabulary_size=size,
            host_vocabulary_size=0,
            **legacy,
        )
        for name, size in (("user", USERS), ("items", ITEMS))
    }


def logits_of(by_name, batch, is_train, specs=None):
    """The network: pooled embeddings, one hidden layer, one number."""
    pooled = []
    for name, table in by_name.items():
        embeddings = sparse_lookup(
            table,
            batch[name] if specs is None else specs[name],
            send_count=BATCH * 3,
            is_train=is_train,
            name=name + "_lookup",
            modify_graph=specs is None,
            batch=batch,
        )
        pooled.append(tf.reduce_sum(tf.reshape(embeddings, [BATCH, -1, DIM]), axis=1))
    inputs = tf.concat(pooled + [pooled[0] * pooled[1]], axis=1)
    with v1.variable_scope("network", reuse=v1.AUTO_REUSE):
        hidden_weights = v1.get_variable("hidden", [inputs.shape[1], 16])
        output_weights = v1.get_variable("output", [16, 1])
    return tf.squeeze(tf.nn.relu(inputs @ hidden_weights) @ output_weights, axis=1)


def loss_of(logits, labels):
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))


def train_op(loss, optimizer, expansion):
    """Dense variables by Adam, then tables; one more global step."""
    dense_variables, sparse_variables = get_dense_and_sparse_variable()
    dense_optimizer = v1.train.AdamOptimizer(0.01)
    gradients = dense_optimizer.compute_gradients(loss, dense_variables)
    if get_rank_size() > 1:
        gradients = [(hccl_ops.allreduce(g, "sum"), variable) for g, variable in gradients]
    operations = [dense_optimizer.apply_gradients(gradients)]
    if expansion:
        embeddings = v1.get_collection(ASCEND_SPARSE_LOOKUP_LOCAL_EMB)
        targets = v1.get_collection(ASCEND_SPARSE_LOOKUP_ID_OFFSET)
        sparse_gradients = tf.gradients(loss, embeddings)
    else:
        targets = sparse_variables
        sparse_gradients = tf.gradients(loss, sparse_variables)
    operations.append(optimizer.apply_gradients(list(zip(sparse_gradients, targets))))
    with tf.control_dependencies(operations):
        return v1.assign_add(v1.train.get_or_create_global_step(), 1).op

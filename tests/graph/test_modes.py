"""Every dataset form, structure of elements and kind of ids, in every mode of an Estimator."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.hooks import GraphModifierHook
from tests.graph import cases
from tests.plugin import support

v1 = tf.compat.v1
# Each form, structure and kind of ids at least once.
CASES = [
    ("batch", "dict", ["hashed", "reshaped"]),
    ("map", "features and label", ["string to number", "split"]),
    ("prefetch", "tuple", ["bucketized", "crossed"]),
    ("repeat", "nested", ["cast", "crossed"]),
    ("shuffle", "single", ["reshaped"]),
    ("interleave", "sparse", ["split", "hashed"]),
    ("take", "ragged", ["split", "cast"]),
    ("dropped remainder", "dict", ["hashed", "bucketized"]),
]


def _estimator(model_dir, structure, id_names):
    def model_fn(features, labels, mode):
        is_train = mode == tf.estimator.ModeKeys.TRAIN
        batch = cases.STRUCTURES[structure][1](features)
        ids_of = {name: cases.IDS[name] for name in id_names}
        fetches = cases.model(batch, ids_of, is_train=is_train)
        if mode == tf.estimator.ModeKeys.PREDICT:
            # In an example of a prediction the first dimension is the batch's.
            embedding = fetches["embeddings"]["embedding of " + id_names[0]]
            total = tf.zeros_like(batch["number"], tf.float32) + tf.reduce_sum(embedding)
            return tf.estimator.EstimatorSpec(mode, {"number": batch["number"], "total": total})
        loss = fetches["loss"] + tf.reduce_sum(labels)
        train_op = None
        if is_train:
            with tf.control_dependencies([fetches["train"]]):
                train_op = v1.assign_add(v1.train.get_global_step(), 1).op
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    config = tf.estimator.RunConfig(
        str(model_dir), tf_random_seed=1, save_checkpoints_steps=3, save_summary_steps=None
    )
    return tf.estimator.Estimator(model_fn, config=config)


def _life(model_dir, form, structure, id_names, modifies):
    """What train_and_evaluate, train, evaluate and predict leave and give."""

    def input_fn():
        lay_out = cases.STRUCTURES[structure][0]
        dataset = cases.FORMS[form](cases.examples())
        return dataset.map(lambda batch: (lay_out(batch), batch["label"]))

    def hooks():
        return [GraphModifierHook()] if modifies else []

    model = _estimator(model_dir, structure, id_names)
    both, _ = tf.estimator.train_and_evaluate(
        model,
        tf.estimator.TrainSpec(input_fn, max_steps=3, hooks=hooks()),
        tf.estimator.EvalSpec(input_fn, steps=2, hooks=hooks(), throttle_secs=0),
    )
    model.train(input_fn, hooks=hooks())
    alone = model.evaluate(input_fn, hooks=hooks())
    predictions = list(model.predict(input_fn, hooks=hooks()))
    return [both, alone, predictions, support.checkpoint_content(model.latest_checkpoint())]


@pytest.mark.parametrize("form, structure, id_names", CASES)
def test_all_modes_give_what_they_give_without(form, structure, id_names, tmp_path):
    expected = _life(tmp_path / "plain", form, structure, id_names, False)
    found = _life(tmp_path / "modified", form, structure, id_names, True)
    assert expected[1]["global_step"] > 3 and len(expected[2]) > 3
    np.testing.assert_equal(found, expected)


def test_the_cases_have_all_there_is():
    forms, structures, ids = zip(*CASES)
    assert set(forms) == set(cases.FORMS)
    assert set(structures) == set(cases.STRUCTURES)
    assert set(sum(ids, [])) == set(cases.IDS)

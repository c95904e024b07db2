"""Estimators: train, resume, evaluate, predict, export, whichever Saver they use."""

import hashlib
import os

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support, trainer

v1 = tf.compat.v1
SAVERS = ["stock", "hook", "scaffold"]


@pytest.mark.parametrize("saver", SAVERS)
def test_stop_and_resume_is_bit_for_bit_one_run(saver, tmp_path):
    whole, parts = str(tmp_path / "whole"), str(tmp_path / "parts")
    trainer.train(whole, 12, saver=saver)
    for steps in (3, 4, 9, 12):
        trainer.train(parts, steps, save_every=2, saver=saver)
    assert support.checkpoint_content(whole) == support.checkpoint_content(parts)
    content = support.checkpoint_content(whole)
    assert content["dense"]["global_step"] == 12
    assert 0 < content["dense"]["LazyAdam/beta2_power"] < 1
    assert len(content["tables"]["user"]) > 500


def test_savers_can_take_turns(tmp_path):
    whole, parts = str(tmp_path / "whole"), str(tmp_path / "parts")
    trainer.train(whole, 6, saver="stock")
    for steps, saver in ((2, "hook"), (4, "stock"), (6, "scaffold")):
        trainer.train(parts, steps, saver=saver)
    assert support.checkpoint_content(whole) == support.checkpoint_content(parts)


@pytest.mark.parametrize("saver", SAVERS)
def test_checkpoints_are_kept_listed_and_deleted_as_usual(saver, tmp_path):
    trainer.train(str(tmp_path), 10, save_every=2, saver=saver)
    state = tf.train.get_checkpoint_state(str(tmp_path))
    kept = [os.path.basename(path) for path in state.all_model_checkpoint_paths]
    assert kept == ["model.ckpt-6", "model.ckpt-8", "model.ckpt-10"]
    stems = {name.split(".data")[0].split(".index")[0] for name in os.listdir(tmp_path)}
    assert {s for s in stems if s.startswith("model.ckpt") and not s.endswith("meta")} == set(kept)
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-10")
    assert ep.checkpoint.table_names(str(tmp_path)) == ["item", "user"]


@pytest.mark.parametrize("saver", SAVERS)
def test_tables_are_streamed_where_they_should_be(saver, tmp_path):
    trainer.train(str(tmp_path), 2, saver=saver)
    meta = v1.MetaGraphDef()
    with open(tf.train.latest_checkpoint(str(tmp_path)) + ".meta", "rb") as file:
        meta.ParseFromString(file.read())
    types = [node.op for node in meta.graph_def.node]
    streamed = saver != "stock"
    assert ("EpSaveTables" in types, "EpRestoreTables" in types) == (streamed, streamed)
    assert ("EpTableExport" in types) == (not streamed)


@pytest.mark.parametrize("saver", ["stock", "scaffold"])
def test_train_and_evaluate(saver, tmp_path):
    estimator = trainer.estimator(str(tmp_path), save_every=3, saver=saver)
    results, _ = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(lambda: trainer.batches(0, 9), max_steps=9),
        tf.estimator.EvalSpec(lambda: trainer.batches(0, 4), steps=4, throttle_secs=0),
    )
    assert results["global_step"] == 9
    rows = ep.checkpoint.read_table(str(tmp_path), "user").keys.size
    assert results["rows"] == rows


def files_of(directory):
    """{name: digest} of the checkpoints in a directory."""
    return {
        name: hashlib.sha256(open(os.path.join(directory, name), "rb").read()).hexdigest()
        for name in os.listdir(directory)
        if name.startswith(("model.ckpt", "checkpoint"))
    }


def test_evaluation_reads_only(tmp_path):
    trainer.train(str(tmp_path), 4, save_every=2)
    before = files_of(str(tmp_path))
    estimator = trainer.estimator(str(tmp_path))
    older = [
        estimator.evaluate(
            lambda: trainer.batches(100, 102), checkpoint_path=str(tmp_path / "model.ckpt-2")
        )
        for _ in range(2)
    ]
    assert older[0] == older[1] and older[0]["global_step"] == 2
    rows = ep.checkpoint.read_table(str(tmp_path / "model.ckpt-2"), "user").keys.size
    assert older[0]["rows"] == rows  # Ids of other batches were looked up and not added.
    assert files_of(str(tmp_path)) == before


def receiver():
    """What an exported model is fed."""
    features = {
        "user": v1.placeholder(tf.int64, [None], name="user_ids"),
        "items": v1.placeholder(tf.int64, [None, 3], name="item_ids"),
    }
    return tf.estimator.export.ServingInputReceiver(features, features)


@pytest.mark.parametrize("saver", ["stock", "scaffold"])
def test_predict_and_exported_model_agree(saver, tmp_path):
    trainer.train(str(tmp_path / "model"), 5)
    estimator = trainer.estimator(str(tmp_path / "model"), saver=saver)
    predicted = [x["click"] for x in estimator.predict(lambda: trainer.batches(50, 51))]

    path = estimator.export_saved_model(str(tmp_path / "export"), receiver).decode()
    variables = sorted(os.listdir(os.path.join(path, "variables")))
    assert [x for x in variables if not x.startswith("variables.")] == []
    with v1.Session() as session:
        features = session.run(
            v1.data.make_one_shot_iterator(trainer.batches(50, 51)).get_next()[0]
        )
    served = support.serve(path, features)["click"]
    np.testing.assert_array_equal(served, np.array(predicted, np.float32))
    assert len(np.unique(served)) > 100


def test_serving_in_a_new_process_needs_only_the_op_library(tmp_path):
    trainer.train(str(tmp_path / "model"), 2)

    estimator = trainer.estimator(str(tmp_path / "model"))
    path = estimator.export_saved_model(str(tmp_path / "export"), receiver).decode()
    program = (
        "import tensorflow as tf\n"
        "from estimator_plugin.ops import library\n"
        "library.load()\n"
        "model = tf.saved_model.load(%r)\n"
        "out = model.signatures['serving_default'](\n"
        "    user=tf.constant([1, 2], tf.int64), items=tf.zeros([2, 3], tf.int64)\n"
        ")\n"
        "print(out['click'].shape)\n" % path
    )
    assert support.run_program(program).strip() == "(2,)"


def test_resuming_with_a_table_the_checkpoint_lacks_names_it(tmp_path):
    trainer.train(str(tmp_path), 2)
    estimator = tf.estimator.Estimator(
        _model_with_another_table, model_dir=str(tmp_path), params={"saver": "stock"}
    )
    with pytest.raises((tf.errors.NotFoundError, ValueError), match="new"):
        estimator.train(lambda: trainer.batches(2, 3), max_steps=3)


def _model_with_another_table(features, labels, mode, params):
    support.table("new")
    return trainer.model_fn(features, labels, mode, params)

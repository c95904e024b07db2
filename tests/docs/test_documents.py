"""What the documents say is so: their code runs, their files exist, their numbers are right."""

import os
import re

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.docs import code_blocks
from tests.model_fns import synthetic

DOCUMENTS = ["README.md"] + sorted(
    os.path.join("docs", name)
    for name in os.listdir(os.path.join(code_blocks.ROOT, "docs"))
    if name.endswith(".md")
)

# Facts whose values in the document are one example's.
OF_THE_EXAMPLE = ("seed", "initializer_arguments", "save_id", "parent", "parent_id")


def read(document):
    with open(os.path.join(code_blocks.ROOT, document), encoding="utf-8") as file:
        return file.read()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document):
    folder = os.path.dirname(os.path.join(code_blocks.ROOT, document))
    targets = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", read(document))
    missing = [
        target
        for target in targets
        if "://" not in target and not os.path.exists(os.path.join(folder, target))
    ]
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS)
def test_named_files_exist(document):
    """Paths in backquotes that begin with a folder of the repository."""
    folders = "(?:estimator_plugin|hooks|model_fns|ops|tests|docs|examples|benchmarks)"
    paths = re.findall(r"`(%s/[\w./*]+)`" % folders, read(document))
    missing = [
        path
        for path in paths
        if "*" not in path
        and not path.startswith("estimator_plugin/ops")
        and not os.path.exists(os.path.join(code_blocks.ROOT, path))
    ]
    assert not missing


def test_the_model_of_extending_md_trains(tmp_path):
    (block,) = code_blocks.python_blocks("docs/extending.md")
    model = code_blocks.run([block])["factorization_machine"]
    features = [
        feature
        for feature in synthetic.features()
        if isinstance(feature, ep.model_fns.CategoricalFeature)
    ]
    estimator = synthetic.estimator(model(features), tmp_path)
    estimator.train(synthetic.input_fn(), steps=100)
    assert estimator.evaluate(synthetic.input_fn(epochs=1))["auc"] > 0.6


def test_checkpoint_format_md(tmp_path):
    """A table of the document's example has the tensors, shapes and facts it says."""
    text = read("docs/checkpoint_format.md")
    start = tf.compat.v1.truncated_normal_initializer(stddev=0.05)
    table = ep.create_table(tf.int64, 16, "item", start)
    embeddings = ep.sparse_lookup(table, tf.constant(np.arange(1000)))
    optimizer = ep.optimizers.adagrad.create_hash_optimizer(0.05, 0.1)
    train_op = optimizer.minimize(tf.reduce_sum(embeddings))
    saver = ep.checkpoint.saver()
    with tf.compat.v1.Session() as session:
        session.run([tf.compat.v1.global_variables_initializer(), ep.tables_initializer()])
        session.run(train_op)
        path = saver.save(session, str(tmp_path / "model.ckpt"))
    reader = tf.train.load_checkpoint(path)
    documented = re.findall(r"^\| `(item/[^`]+)` \| (\w+) \|", text, re.MULTILINE)
    dtypes = {
        re.sub(r"bucket-\d+", "bucket-<b>", name): dtype.name
        for name, dtype in reader.get_variable_to_dtype_map().items()
        if name.startswith("item/")
    }
    documented = dict(documented)
    del documented["item/bucket-<b>/removed"]  # In a delta only.
    for array in ep.checkpoint.names.WAITING_ARRAYS:  # With an access threshold only.
        del documented["item/bucket-<b>/" + array]
    assert documented == dtypes
    facts = dict(line.split("=") for line in reader.get_tensor("item/meta").decode().splitlines())
    example = dict(re.findall(r"^    (\w+)=(.*)$", text, re.MULTILINE))
    assert list(example) == list(facts)
    for name in facts:
        if name not in OF_THE_EXAMPLE:
            assert example[name] == facts[name], name
    shapes = reader.get_variable_to_shape_map()
    assert all(shapes["item/bucket-%d/rows" % b][1] == 32 for b in range(64))
    (block,) = code_blocks.python_blocks("docs/checkpoint_format.md")
    names = code_blocks.run([block], model_dir=str(tmp_path))
    assert sorted(names["embedding_of"]) == list(range(1000))


def test_the_model_of_the_readme_trains(tmp_path):
    (block,) = code_blocks.python_blocks("README.md")

    def input_fn():
        features, labels = synthetic.arrays()
        features = {name: features[name] for name in ("user", "item")}
        features["seen"] = synthetic.arrays()[0]["history"]
        features["price"] = np.arange(synthetic.EXAMPLES, dtype=np.float32)
        return tf.data.Dataset.from_tensor_slices((features, labels)).repeat(20).batch(100)

    names = code_blocks.run(
        [block],
        model_dir=str(tmp_path / "model"),
        export_dir=str(tmp_path / "export"),
        input_fn=input_fn,
        eval_input_fn=lambda: input_fn().take(20),
    )
    assert names["estimator"].get_variable_value("global_step") == 200
    assert names["estimator"].evaluate(input_fn, steps=20)["auc"] > 0.8
    assert len(list((tmp_path / "export").glob("*/saved_model.pb"))) == 1


def test_the_model_of_models_md_trains_and_evaluates(tmp_path):
    (block,) = code_blocks.python_blocks("docs/models.md")
    model_fn = code_blocks.run([block])["model_fn"]

    def input_fn():
        def weigh(features, labels):
            return dict(features, weight=tf.ones_like(labels)), labels

        return synthetic.input_fn(epochs=20)().map(weigh)

    estimator = synthetic.estimator(model_fn, tmp_path)
    estimator.train(input_fn)
    metrics = estimator.evaluate(input_fn, steps=10)
    assert metrics["auc"] > 0.9
    documented = re.search(r"\*\*evaluate\*\*: ([^;]*);", read("docs/models.md")).group(1)
    assert set(re.findall(r"`(\w+)`", documented)) == set(metrics) - {"loss", "global_step"}

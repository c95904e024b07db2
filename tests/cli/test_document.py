"""docs/checkpoints.md says what is so: its commands are commands, its Python runs."""

import os
import re

import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.cli import main
from tests.cli import model_dir
from tests.conventions import source_tree
from tests.warm_start import models

TEXT = source_tree.text(os.path.join("docs", "checkpoints.md"))


def test_commands_are_understood():
    commands = re.findall(r"^    \$ python -m estimator_plugin (.+)$", TEXT, re.MULTILINE)
    assert {command.split()[0] for command in commands} == set(main.COMMANDS)
    for command in commands:
        assert main.parser().parse_args(command.split()).command == command.split()[0]


def test_python_runs(tmp_path):
    user = models.write(tmp_path / "old", {"user": 1.0, "item": 1.0, "brand": 1.0})
    newer = models.write(tmp_path / "newer", {"user": 2.0, "item": 2.0})
    build = models.model_fn(["user", "item", "brand"])
    names = {
        "ep": ep,
        "tf": tf,
        "model_dir": os.path.dirname(user),
        "old_dir": os.path.dirname(user),
        "newer_dir": os.path.dirname(newer),
        "model_fn": build,
        "input_fn": models.input_fn,
    }
    reading, estimator, hook = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(reading, names)
    assert sorted(names["embedding_of"]) == models.KEYS["user"]
    for i, block in enumerate((estimator, hook)):
        names["model_dir"] = str(tmp_path / str(i))
        exec(block, names)
        model = models.Model(os.path.join(names["model_dir"], "model.ckpt-0"))
        assert model.rows("user") == models.rows_of("user", 2.0)
        assert model.rows("brand") == models.rows_of("brand", 1.0)
        ep.terminate_config_initializer()


def test_log_lines_are_those_of_the_document(tmp_path, caplog):
    old = model_dir.build(tmp_path / "old")[20]
    ep.create_table(tf.int64, model_dir.DIM, "user", tf.compat.v1.zeros_initializer())
    tf.compat.v1.get_variable("bias", [3])
    with caplog.at_level("INFO", logger="tensorflow"):
        ep.warm_start.warm_start(old)
    documented = re.findall(r"^    INFO:tensorflow:(.+)$", TEXT, re.MULTILINE)
    said = [record.getMessage().replace(old, "old/model.ckpt-20") for record in caplog.records]
    assert [line for line in said if line.startswith("Warm-start")] == [
        documented[0],
        "Warm-starting variables only in TRAINABLE_VARIABLES.",
    ] + documented[1:]

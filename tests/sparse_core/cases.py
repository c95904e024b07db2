"""The cases in data/: produced by TensorFlow 2.19's own TPUEmbeddingV2 and its stacker."""

import json
import os

import numpy as np

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def load(name):
    with open(os.path.join(DATA, name), encoding="utf-8") as file:
        return json.load(file)


def checkpoint(name):
    """The prefix of a genuine checkpoint, and what it holds: table -> slot -> array."""
    expected = load(os.path.join("ckpt", "expected.json"))[name]
    tables = {
        table: {slot: np.array(values, np.float32) for slot, values in slots.items()}
        for table, slots in expected.items()
        if not table.startswith("_")
    }
    return os.path.join(DATA, "ckpt", name, "ckpt-1"), tables

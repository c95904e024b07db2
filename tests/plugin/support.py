"""What the tests of the Python API share."""

import contextlib
import os
import subprocess
import sys
import threading

import tensorflow as tf

import estimator_plugin as ep

v1 = tf.compat.v1
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def table(name="user", dim=4, initializer=None, **kwargs):
    """A table whose rows start as ones unless `initializer` says otherwise."""
    initializer = initializer if initializer is not None else v1.ones_initializer()
    return ep.create_table(tf.int64, dim, name, initializer, **kwargs)


def initialize(session):
    """Initializes all variables and tables of the default graph."""
    session.run([v1.global_variables_initializer(), ep.tables_initializer()])


@contextlib.contextmanager
def ready_session(config=None):
    """A session in which all variables and tables of the default graph are initialized."""
    with v1.Session(config=config) as session:
        initialize(session)
        yield session


def rows_by_key(rows):
    """{key: (embedding, slots ...)} of a TableRows, for comparing tables."""
    parts = [rows.embeddings] + list(rows.slots.values())
    return {key: [part[i].tolist() for part in parts] for i, key in enumerate(rows.keys.tolist())}


def checkpoint_content(path):
    """All a checkpoint holds: {"dense": {name: value}, "tables": {name: rows_by_key}}."""
    tables = ep.checkpoint.table_names(path)
    reader = tf.train.load_checkpoint(path)
    return {
        "dense": {
            name: reader.get_tensor(name).tolist()
            for name, _ in tf.train.list_variables(path)
            if name.split("/")[0] not in tables
        },
        "tables": {name: rows_by_key(ep.checkpoint.read_table(path, name)) for name in tables},
    }


def serve(path, features):
    """What a SavedModel's default signature answers, loaded eagerly in a thread of its own."""
    answers = []

    def call():
        signature = tf.saved_model.load(path).signatures["serving_default"]
        outputs = signature(**{name: tf.constant(value) for name, value in features.items()})
        answers.append({name: value.numpy() for name, value in outputs.items()})

    thread = threading.Thread(target=call)  # Eager execution is on in a thread without a graph.
    thread.start()
    thread.join()
    return answers[0]


def run_program(text):
    """The standard output of a Python program, run in a process of its own."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p) or ".")
    return subprocess.run(
        [sys.executable, "-c", text],
        env=environment,
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout

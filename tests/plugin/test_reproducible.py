"""One thread or two, the same bits; initial embeddings follow from the key alone."""

import subprocess
import sys

import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

v1 = tf.compat.v1
STEPS = 12


def train(model_dir, *arguments):
    """Runs the trainer in a process of its own: TensorFlow makes its threads once a process."""
    command = [sys.executable, "-m", "tests.plugin.trainer", str(model_dir), str(STEPS)]
    subprocess.run(command + list(arguments), cwd=support.ROOT, check=True)
    return support.checkpoint_content(str(model_dir))


def test_one_and_two_threads_give_the_same_bits(tmp_path):
    one = train(tmp_path / "one", "--threads", "1")
    two = train(tmp_path / "two", "--threads", "2")
    assert one == two
    assert len(one["tables"]["user"]) > 1000


def test_initial_embeddings_do_not_depend_on_the_order_of_arrival(tmp_path):
    starts = []
    for order in (1, -1):
        with tf.Graph().as_default():
            table = support.table(initializer=v1.truncated_normal_initializer())
            keys = v1.placeholder(tf.int64, [None])
            lookup = ep.sparse_lookup(table, keys)
            saver = ep.checkpoint.saver()
            with support.ready_session() as session:
                for begin in range(0, 3000, 500)[::order]:
                    session.run(lookup, {keys: range(begin, begin + 500)[::order]})
                prefix = saver.save(session, str(tmp_path / "model"))
            starts.append(support.rows_by_key(ep.checkpoint.read_table(prefix, "user")))
    assert starts[0] == starts[1] and len(starts[0]) == 3000

"""Fills a table, then evicts half of it and fills it again some times; prints the resident bytes.

    python -m tests.plugin.evict_and_refill ROWS DIM REFILLS

The first number is the full table's, by `table_memory`; the others are the whole process's, when
the table was first full and after each refill.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import estimator_plugin as ep  # noqa: E402
from estimator_plugin.ops import table_ops, usage_ops  # noqa: E402
from tests.plugin import support  # noqa: E402

v1 = tf.compat.v1
CHUNK = 1 << 14  # Ids of a step.
MAX_AGE = 10


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(rows, dim, refills):
    v1.disable_eager_execution()
    table = support.table("user", dim=dim)
    ids, now = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.int64, [])
    v1.add_to_collection(ep.constants.ASCEND_TIMESTAMP, now)
    found = ep.sparse_lookup(table, ids, access_and_evict_config={"eviction_threshold": MAX_AGE})
    optimizer = ep.optimizers.adagrad.create_hash_optimizer(0.1)
    train = optimizer.minimize(tf.reduce_sum(found))
    evict = usage_ops.table_evict(table.handle, "older_than", MAX_AGE)
    memory, size = table_ops.table_memory(table.handle), table_ops.table_size(table.handle)
    half = rows // 2
    with support.ready_session() as session:

        def fill(number):
            """Rows for half the table, of ids that never were before, at a time of their own."""
            for first in range(number * half, (number + 1) * half, CHUNK):
                session.run(train, {ids: np.arange(first, first + CHUNK), now: (1 + number) * 6})

        fill(0)
        fill(1)
        print(session.run(memory))
        print(resident_bytes())
        for number in range(2, 2 + refills):
            time = (1 + number) * 6  # The older half was last seen twice six seconds ago.
            session.run(train, {ids: [], now: time})
            assert session.run(evict) == half
            fill(number)
            assert session.run(size) == rows
            print(resident_bytes())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

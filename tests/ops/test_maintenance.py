"""Removing rows, emptying a table, and what it reports of itself."""

import numpy as np

from estimator_plugin.ops import lookup_ops, table_ops, update_ops


def test_remove_counts_rows_and_keys_start_anew(session, new_table):
    handle = new_table()
    lookup = lookup_ops.table_lookup(handle, [1, 2, 3], 4, True)
    before, _ = session.run(lookup)
    session.run(
        update_ops.table_apply_gradients(handle, [1.0, 0.0], lookup[1], np.ones([3, 4]), "sgd")
    )
    assert session.run(table_ops.table_remove(handle, [[2, 2], [99, -1]])) == 1
    assert session.run(table_ops.table_size(handle)) == 2
    assert session.run(lookup_ops.table_find(handle, [2])) == [-1]
    after, _ = session.run(lookup)
    np.testing.assert_array_equal(after[1], before[1])
    np.testing.assert_array_equal(after[0], before[0] - 1)


def test_remove_nothing(session, new_table):
    handle = new_table()
    assert session.run(table_ops.table_remove(handle, [])) == 0
    assert session.run(table_ops.table_remove(handle, [-1, 2**63 - 1, -(2**63)])) == 0


def test_removed_rows_are_reused(session, new_table):
    handle = new_table()
    keys = np.arange(20000)
    session.run(lookup_ops.table_find(handle, keys, insert=True))
    memory = session.run(table_ops.table_memory(handle))
    for start in range(20000, 100000, 20000):
        assert session.run(table_ops.table_remove(handle, keys)) == 20000
        keys = np.arange(start, start + 20000)
        session.run(lookup_ops.table_find(handle, keys, insert=True))
    assert session.run(table_ops.table_size(handle)) == 20000
    assert session.run(table_ops.table_memory(handle)) < 1.2 * memory


def test_clear_empties_a_table_and_leaves_it_ready(session, new_table):
    handle = new_table()
    session.run(lookup_ops.table_find(handle, np.arange(5000), insert=True))
    full = session.run(table_ops.table_memory(handle))
    session.run(table_ops.table_clear(handle))
    assert session.run(table_ops.table_size(handle)) == 0
    assert session.run(table_ops.table_memory(handle)) < full / 10
    assert session.run(table_ops.table_is_initialized(handle))
    assert session.run(lookup_ops.table_lookup(handle, [1], 4, True)[1]) >= 0


def test_statistics(session, new_table):
    handle = new_table()
    session.run(lookup_ops.table_lookup(handle, [1, 2, 2, -1], 4, True))
    addresses = session.run(lookup_ops.table_find(handle, [1, 2, 3]))
    session.run(
        update_ops.table_apply_gradients(handle, [1.0, 0.0], addresses, np.ones([3, 4]), "sgd")
    )
    session.run(table_ops.table_remove(handle, [1]))
    statistics = dict(zip(table_ops.STATISTICS, session.run(table_ops.table_statistics(handle))))
    assert statistics.pop("bytes") == session.run(table_ops.table_memory(handle)) > 0
    expected = dict.fromkeys(statistics, 0)
    expected.update(rows=1, keys_looked_up=6, rows_inserted=2, rows_removed=1, rows_updated=2)
    expected.update(keys_found=2)  # The second 2 of the first lookup was new as well.
    expected.update(clock=-1, access_threshold=-1)
    assert statistics == expected

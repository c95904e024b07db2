"""EpServeLookup of tracked tables, sent requests that chance has damaged.

Whatever a wire makes of a request, it is either one that says something, and then it counts what it
says, or it is refused by name and changes nothing.
"""

import re

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import exchange_ops, transfer_ops

v1 = tf.compat.v1
_DIMS = {"user": 2, "item": 1}
_TRACKED = {
    0: {"access_threshold": 3, "faae_coefficient": 2},
    1: {"access_threshold": 2, "time_unit": "steps"},
}
_REQUESTS = 400
_ODD = [0, 1, -1, -2, 2, 3, 7, 2**31, -(2**31), 2**62, -(2**63), 2**63 - 1]
_INT32 = 2**31


def _part(random):
    """(head, words) of one table's part: keys, and for most their occurrences."""
    keys = random.randint(-1, 20, random.randint(0, 5)).tolist()
    if random.rand() < 0.3:
        return 2 * len(keys), keys
    occurrences = np.zeros(len(keys) + len(keys) % 2, np.int32)
    occurrences[: len(keys)] = random.randint(0, 4, len(keys))
    return 2 * len(keys) + 1, keys + occurrences.view(np.int64).tolist()


def _request(random):
    """A good request, one in three of them."""
    parts = [_part(random) for _ in _DIMS]
    words = [random.randint(1, 1000)] + [head for head, _ in parts]
    for _, part in parts:
        words += part
    for _ in range(random.randint(0, 3)):
        at, kind = random.randint(len(words)) if words else 0, random.randint(4)
        odd = _ODD[random.randint(len(_ODD))]
        if kind == 0:
            words[at : at + 1] = [odd]
        elif kind == 1:
            words[at:at] = [odd]
        elif kind == 2:
            del words[at:]
        else:
            del words[at : at + 1]
    return words


def _read(words):
    """[(keys, occurrences), ...] by table of a request, None for one that says nothing.

    By docs/distributed.md: the time, a head for each table, which is twice its keys and 1 more
    where occurrences follow, two in a word; then keys and occurrences, table by table.
    """
    tables = len(_DIMS)
    if len(words) < 1 + tables or words[0] < 1:
        return None
    at, found = 1 + tables, []
    for head in words[1 : 1 + tables]:
        count, counted = head >> 1, head & 1
        size = count + (count + 1) // 2 * counted
        if count < 0 or size > len(words) - at:
            return None
        keys = words[at : at + count]
        occurrences = [1] * count
        if counted:
            packed = np.array(words[at + count : at + size], np.int64).view(np.int32)
            occurrences = packed[:count].tolist()
        if min(occurrences, default=0) < 0:
            return None
        found.append((keys, occurrences))
        at += size
    return found if at == len(words) else None


class _Model:
    """What the tables hold: {table: {key: count}}."""

    def __init__(self):
        self.counts = [{} for _ in _DIMS]

    def count(self, tables):
        for table, (keys, occurrences) in enumerate(tables):
            factor = _TRACKED[table].get("faae_coefficient", 1)
            counts = self.counts[table]
            for key, times in zip(keys, occurrences):
                if key != -1:
                    counts[key] = min(counts.get(key, 0) + factor * times, _INT32 - 1)

    def split(self, table):
        """(rows, waiting) as {key: count}."""
        least = _TRACKED[table]["access_threshold"]
        counts = self.counts[table]
        rows = {k: c for k, c in counts.items() if c >= least}
        return rows, {k: c for k, c in counts.items() if c < least}


def _contents(handles):
    return [
        (transfer_ops.table_export(handle, 4), transfer_ops.table_export_waiting(handle, 4))
        for handle in handles
    ]


def _split(content):
    """(rows, waiting) of a table as {key: count}."""
    rows, waiting = content
    return tuple(
        dict(zip(np.concatenate(keys).tolist(), np.concatenate(counts).tolist()))
        for keys, counts in ((rows.keys, rows.counts), (waiting.keys, waiting.counts))
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_a_damaged_request_is_refused_or_counted(session, new_table, seed):
    random = np.random.RandomState(seed)
    handles = [new_table(name, dim=dim) for name, dim in _DIMS.items()]
    request = v1.placeholder(tf.int64, [None])
    served = exchange_ops.serve_lookup(handles, request, True, _TRACKED)
    contents = _contents(handles)
    model, refused = _Model(), 0
    for _ in range(_REQUESTS):
        words = _request(random)
        tables = _read(words)
        try:
            _, addresses, _ = session.run(served, {request: np.array(words, np.int64)})
        except tf.errors.InvalidArgumentError as error:
            assert tables is None, (words, error.message)
            assert re.search("EpServeLookup: |table '(user|item)': ", error.message)
            refused += 1
        else:
            assert tables is not None, words
            model.count(tables)
            rows = [model.split(table)[0] for table in range(len(_DIMS))]
            assert [address >= 0 for address in addresses] == [
                key in rows[table] for table, (keys, _) in enumerate(tables) for key in keys
            ]
    for table, content in enumerate(session.run(contents)):
        assert _split(content) == model.split(table)
    assert _REQUESTS / 4 < refused < _REQUESTS * 3 / 4

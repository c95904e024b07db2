"""Many threads on one session: lookups, updates, removals, exports and saves at once."""

from concurrent import futures

import numpy as np
import tensorflow as tf

from estimator_plugin.ops import bundle_ops, lookup_ops, table_ops, transfer_ops, update_ops

tf1 = tf.compat.v1

DIM = 4
KEYS = 4000
ROUNDS = 200


def _run_at_once(*functions):
    """Calls each function with 0, 1, ... ROUNDS - 1 in a thread of its own."""

    def work(function):
        for number in range(ROUNDS):
            function(number)

    with futures.ThreadPoolExecutor(len(functions)) as pool:
        for job in [pool.submit(work, function) for function in functions]:
            job.result()


def test_updates_of_many_threads_all_count(session, new_table):
    handle = new_table(dim=DIM, initializer_kind="constant", initializer_arguments=[0.0])
    ids = tf1.placeholder(tf.int64, [None])
    _, addresses = lookup_ops.table_lookup(handle, ids, DIM, True)
    update = update_ops.table_apply_gradients(
        handle, [1.0, 0.0], addresses, -tf.ones([tf.size(ids), DIM]), "sgd"
    )

    def step(number):
        session.run(update, {ids: np.random.RandomState(number).randint(0, KEYS, 5000)})

    _run_at_once(step, step, step, step)
    rows = session.run(lookup_ops.table_lookup(handle, np.arange(KEYS), DIM, False)[0])
    assert rows[:, 0].sum() == 4 * ROUNDS * 5000
    assert (rows == rows[:, :1]).all()


class _Mixed:
    """What threads do to one table. All values of a row are one number: a mix-up would show."""

    def __init__(self, session, handle, directory):
        self._run = session.run
        self._directory = directory
        self._ids = tf1.placeholder(tf.int64, [None])
        self._values = tf1.placeholder(tf.float32, [None])
        self._prefix = tf1.placeholder(tf.string, [])
        self._lookup = lookup_ops.table_lookup(handle, self._ids, DIM, True)
        self._read = lookup_ops.table_lookup(handle, self._ids, DIM, False)
        gradients = tf.tile(self._values[:, tf.newaxis], [1, DIM])
        self._update = update_ops.table_apply_gradients_by_key(
            handle, [1.0, 0.0], self._ids, gradients, "sgd"
        )
        self._remove = table_ops.table_remove(handle, self._ids)
        self._export = transfer_ops.table_export(handle, 4)
        self._statistics = table_ops.table_statistics(handle)
        self._save = bundle_ops.save_tables(self._prefix, ["user"], [handle])
        restored = table_ops.table_handle("user", DIM, num_buckets=4)
        self._restore = bundle_ops.restore_tables(self._prefix, ["user"], [restored])
        self._restored = transfer_ops.table_export(restored, 4)

    @staticmethod
    def _keys(number, first=0):
        return np.random.RandomState(number).randint(first, first + KEYS, 3000)

    @staticmethod
    def _check(content):
        for keys, rows in zip(content.keys, content.rows):
            assert len(set(keys)) == len(keys)
            assert rows.shape == (len(keys), DIM)
            assert ((keys >= 0) & (keys < 2 * KEYS)).all()

    def lookup(self, number):
        rows, addresses = self._run(self._lookup, {self._ids: self._keys(number, KEYS // 2)})
        assert (rows == rows[:, :1]).all()
        assert (addresses >= 0).all()

    def read(self, number):
        rows, addresses = self._run(self._read, {self._ids: self._keys(number)})
        assert (rows == rows[:, :1]).all()
        assert not rows[addresses == -1].any()

    def update(self, number):
        values = np.random.RandomState(number).randint(1, 9, 3000)
        self._run(self._update, {self._ids: self._keys(number), self._values: values})

    def remove(self, number):
        # Keys that nobody updates: an update looks its rows up first.
        self._run(self._remove, {self._ids: self._keys(number, KEYS)})

    def export(self, _):
        self._check(self._run(self._export))
        self._run(self._statistics)

    def save_and_restore(self, number):
        if number % 10 == 0:
            path = str(self._directory / ("part-%d" % number))
            self._run(self._save, {self._prefix: path})
            self._run(self._restore, {self._prefix: path})
            self._check(self._run(self._restored))


def test_lookups_updates_inserts_removals_exports_and_saves_at_once(session, new_table, tmp_path):
    handle = new_table(dim=DIM, initializer_kind="constant", initializer_arguments=[0.0])
    mixed = _Mixed(session, handle, tmp_path)
    _run_at_once(
        mixed.lookup,
        mixed.read,
        mixed.update,
        mixed.update,
        mixed.remove,
        mixed.export,
        mixed.save_and_restore,
    )


def test_initializing_while_others_read(session, new_table):
    bank = np.ones([3, DIM], np.float32)
    handle = new_table(dim=DIM, bank=bank, initializer_kind="bank", initializer_arguments=[])
    banks = tf1.placeholder(tf.float32, [None, DIM])
    initialize = table_ops.table_initialize(handle, banks)
    lookup = lookup_ops.table_lookup(handle, np.arange(2000), DIM, True)[0]

    def check(_):
        rows = session.run(lookup)
        assert (rows == rows[:, :1]).all()
        assert ((rows >= 1) & (rows <= ROUNDS + 1)).all()

    def initialize_again(number):
        bank = np.full([number % 5 + 1, DIM], number + 1, np.float32)
        session.run(initialize, {banks: bank})

    _run_at_once(check, check, initialize_again)


def test_a_lookup_during_a_restore_is_aborted_or_sees_all_of_it(session, new_table, tmp_path):
    handle = new_table(dim=DIM, initializer_kind="constant", initializer_arguments=[1.0])
    keys = np.arange(KEYS)
    lookup = lookup_ops.table_lookup(handle, keys, DIM, False)[0]
    prefix = str(tmp_path / "saved")
    session.run(lookup_ops.table_lookup(handle, keys, DIM, True))
    session.run(bundle_ops.save_tables(prefix, ["t"], [handle]))
    restore = bundle_ops.restore_tables(prefix, ["t"], [handle])

    def read(_):
        try:
            assert (session.run(lookup) == 1).all()
        except tf.errors.AbortedError as error:  # What a MonitoredSession recovers from.
            assert "is being restored" in error.message

    _run_at_once(read, read, lambda _: session.run(restore))

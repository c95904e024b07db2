"""Eviction: which rows leave, and what their keys find when they come back."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import eviction
from tests.plugin import support
from tests.plugin.admitting import MODES, Training

v1 = tf.compat.v1


@pytest.mark.parametrize("mode", MODES)
def test_rows_and_waiting_keys_leave_by_age(mode):
    batches = [[1, 1, 2], [3, 3], [4, 1], [5, 5]]
    training = Training(
        mode, batches, times=[100, 150, 160, 200], access_threshold=2, eviction_threshold=50
    )
    evict = eviction.evict(training.table, eviction.OlderThan(50))
    with training.running():
        for _ in batches:
            training.step()
        # At 200: 3 was last seen 50 ago and leaves, 1 was seen 40 ago; of those waiting 2 leaves.
        assert training.statistics()["waiting"] == 2
        assert training.session.run(evict) == 1
        assert set(training.rows()) == {1, 5}
        statistics = training.statistics()
        assert (statistics["rows_evicted"], statistics["waiting_evicted"]) == (1, 1)
        assert training.session.run(evict) == 0


def test_a_row_that_left_is_admitted_anew():
    training = Training(
        "config", [[1, 1], [2], [1], [1]], times=[1, 90, 91, 92], access_threshold=2,
        eviction_threshold=50,
    )  # fmt: skip
    evict = eviction.evict(training.table, eviction.OlderThan(50))
    with training.running():
        assert training.step() == [[True, True]]
        training.step()
        assert training.session.run(evict) == 1
        assert training.step() == [[False]]
        assert training.step() == [[True]]
        assert training.rows() == {1: (2, 92)}


def test_rows_leave_by_steps():
    training = Training("config", [[1], [2], [3], [4]], eviction_threshold=2)
    evict = eviction.evict(training.table, eviction.OlderThan(2))
    with training.running():
        for _ in range(4):
            training.step()
        # Seen at steps 0, 1, 2, 3; it is step 3 now.
        assert training.session.run(evict) == 2
        assert set(training.rows()) == {3, 4}


@pytest.mark.parametrize(
    "policy, left",
    [
        # Seen last at 40, 20, 30, 40, and 1, 3, 2, 1 times.
        (eviction.RowBudget(3), {1, 3, 4}),
        (eviction.RowBudget(1), {4}),
        (eviction.RowBudget(2, keep="frequent"), {2, 3}),
        (eviction.RowBudget(3, keep="frequent"), {2, 3, 4}),
        (eviction.RowBudget(4), {1, 2, 3, 4}),
        (eviction.SmallNorm(2.1), set()),
        (eviction.SmallNorm(1.9), {1, 2, 3, 4}),
        (eviction.OlderThan(20), {1, 3, 4}),
    ],
)
def test_policies_of_a_table(policy, left):
    batches, times = [[2, 2], [2], [3, 3], [1, 4]], [10, 20, 30, 40]
    training = Training("config", batches, times, table={"dim": 4, "eviction": policy})
    assert eviction.policies_of(training.table, ep.thresholds.NONE) == (policy,)
    evict = eviction.evict(training.table, policy)
    with training.running():
        for _ in batches:
            training.step()
        assert training.session.run(evict) == 4 - len(left)
        assert set(training.rows()) == left


def test_policies_are_applied_in_order():
    training = Training("config", [[1], [2], [3], [4]], times=[10, 20, 30, 40], access_threshold=0)
    evict = eviction.evict(training.table, [eviction.OlderThan(30), eviction.RowBudget(1)])
    with training.running():
        for _ in range(4):
            training.step()
        assert training.session.run(evict) == 3
        assert set(training.rows()) == {4}


@pytest.mark.parametrize("optimizer", ["adagrad", "lazy_adam", "ftrl"])
def test_reused_rows_start_fresh_with_fresh_slots(optimizer, tmp_path):
    """Rows that take the memory of others train as if those had never been."""
    step = v1.train.create_global_step()
    table = support.table(initializer=v1.truncated_normal_initializer(seed=3), num_buckets=1)
    ids = v1.placeholder(tf.int64, [None])
    found = ep.sparse_lookup(table, ids, access_and_evict_config={"eviction_threshold": 1})
    make = getattr(ep.optimizers, optimizer).create_hash_optimizer
    train = make(0.1).minimize(tf.reduce_sum(tf.square(found - 0.5)), step)
    evict, size = eviction.evict(table, eviction.OlderThan(1)), table.size()
    saver = ep.checkpoint.saver()

    def rows_after(first):
        """The rows of keys 250 to 749, trained after others were trained and had left."""
        with support.ready_session() as session:
            for _ in range(3):
                session.run(train, {ids: first})
            session.run(found, {ids: [10**6]})
            assert session.run(evict) == 500
            for _ in range(3):
                session.run(train, {ids: np.arange(250, 750)})
            assert session.run(size) == 501
            path = saver.save(session, str(tmp_path / "model.ckpt"))
        return support.rows_by_key(ep.checkpoint.read_table(path, "user"))

    again = rows_after(np.arange(500))
    assert again == rows_after(np.arange(10000, 10500))
    assert len({tuple(row[0]) for row in again.values()}) == 501


@pytest.mark.parametrize(
    "make, wanted",
    [
        (lambda: eviction.OlderThan(0), "OlderThan: age must be an int from 1"),
        (lambda: eviction.OlderThan(1.5), "OlderThan: age must be an int"),
        (lambda: eviction.SmallNorm(0), "SmallNorm: norm must be a number above 0"),
        (lambda: eviction.SmallNorm("1"), "SmallNorm: norm must be a number"),
        (lambda: eviction.RowBudget(0), "RowBudget: rows must be an int from 1"),
        (lambda: eviction.RowBudget(5, keep="old"), "keep must be one of 'frequent', 'recent'"),
        (lambda: support.table(eviction="old"), "table 'user': eviction must be None, a policy"),
        (lambda: support.table(eviction=[3]), "table 'user': eviction must be a policy"),
        (lambda: eviction.evict(support.table(), []), "policies must be at least one policy"),
    ],
)
def test_wrong_arguments(make, wanted):
    with pytest.raises(ValueError, match=wanted):
        make()


def test_resident_memory_does_not_grow_as_rows_come_and_go():
    """But for buckets: ids fall into them by chance, and each keeps room for the most it has had.

    Of `rows` ids a bucket gets rows / 64, give or take sqrt(rows / 64).
    """
    rows, dim, refills = 1 << 20, 16, 4
    said = support.run_program(
        "from tests.plugin import evict_and_refill as program\n"
        "program.main(%d, %d, %d)" % (rows, dim, refills)
    )
    of_table, first, *later = map(int, said.split())
    chance = 64 * 5 * (rows / 64) ** 0.5 * of_table / rows
    assert chance < 0.05 * of_table and len(later) == refills
    assert max(later) - first < chance

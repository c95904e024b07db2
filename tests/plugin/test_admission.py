"""Admission: which keys get a row when, worked out by hand."""

import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support
from tests.plugin.admitting import MODES, Training, dataset

v1 = tf.compat.v1
NO = -1

# Keys 1, 2 and 3 in three batches; after them they were seen 3, 2 and 3 times.
BATCHES = [[1, 1, 2], [1, 2, 3], [3, 3, NO]]
ALL = [[True, True, True], [True, True, True], [True, True, False]]

# (access, eviction, coefficient): which ids of each batch have a row, and counts of the rows.
BY_HAND = [
    # Off: everybody gets a row and nobody counts.
    ((None, None, 1), ALL, None),
    ((-1, None, 1), ALL, None),
    ((-1, -1, 1), ALL, None),
    ((-1, 0, 1), ALL, None),
    # 0: everybody gets a row; counts stand still.
    ((0, None, 1), ALL, {1: 0, 2: 0, 3: 0}),
    ((0, -1, 1), ALL, {1: 0, 2: 0, 3: 0}),
    ((0, 100, 1), ALL, {1: 0, 2: 0, 3: 0}),
    # Eviction alone: everybody gets a row, and counts.
    ((None, 100, 1), ALL, {1: 3, 2: 2, 3: 3}),
    ((-1, 100, 1), ALL, {1: 3, 2: 2, 3: 3}),
    # A count of the batch itself is enough.
    ((1, None, 1), ALL, {1: 3, 2: 2, 3: 3}),
    ((2, None, 1), [[True, True, False], [True, True, False], [True, True, False]],
     {1: 3, 2: 2, 3: 3}),
    # 1 reaches 3 in the second batch, 3 in the third, 2 never.
    ((3, None, 1), [[False] * 3, [True, False, False], [True, True, False]], {1: 3, 3: 3}),
    ((3, 0, 1), [[False] * 3, [True, False, False], [True, True, False]], {1: 3, 3: 3}),
    ((3, -1, 1), [[False] * 3, [True, False, False], [True, True, False]], {1: 3, 3: 3}),
    ((3, 100, 1), [[False] * 3, [True, False, False], [True, True, False]], {1: 3, 3: 3}),
    ((4, None, 1), [[False] * 3] * 3, {}),
    # Each occurrence counts 2: 1 has 4 at once; 2 has 2, then 4; 3 has 2, then 6.
    ((3, None, 2), [[True, True, False], [True, True, False], [True, True, False]],
     {1: 6, 2: 4, 3: 6}),
    ((5, None, 2), [[False] * 3, [True, False, False], [True, True, False]], {1: 6, 3: 6}),
    ((7, None, 2), [[False] * 3] * 3, {}),
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("thresholds, found, counts", BY_HAND)
def test_by_hand(mode, thresholds, found, counts):
    access, eviction, coefficient = thresholds
    training = Training(
        mode,
        BATCHES,
        access_threshold=access,
        eviction_threshold=eviction,
        faae_coefficient=coefficient,
    )
    with training.running():
        assert [training.step()[0] for _ in BATCHES] == found
        rows = training.rows()
        assert set(rows) == (set(counts) if counts is not None else {1, 2, 3})
        if counts is not None:
            assert {key: row.count for key, row in rows.items()} == counts
        waiting = 3 - len(rows)
        assert training.statistics()["waiting"] == waiting


@pytest.mark.parametrize("mode", MODES)
def test_counts_go_on_after_admission_and_times_are_kept(mode):
    training = Training(
        mode, [[5, 5], [5], [6]], times=[100, 250, 300], access_threshold=2, eviction_threshold=60
    )
    with training.running():
        for _ in range(3):
            training.step()
        assert training.rows() == {5: (3, 250)}
        statistics = training.statistics()
        assert (statistics["rows_admitted"], statistics["waiting"]) == (1, 1)
        assert (statistics["keys_refused"], statistics["clock"]) == (1, 300)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("coefficient", [1, 2])
def test_lookups_of_a_batch_count_together(mode, coefficient):
    batches = [([1, 2], [1, 3, 3], [NO]), ([1, 2], [4], [4]), ([], [5], [3, 6])]
    training = Training(
        mode,
        batches,
        names=("first", "second", "third"),
        access_threshold=2 * coefficient,
        faae_coefficient=coefficient,
    )
    with training.running():
        # 1 stands once in each of two lookups, 3 twice in one; 2 has to wait.
        assert training.step() == [[True, False], [True, True, True], [False]]
        assert training.step() == [[True, True], [True], [True]]
        assert training.step() == [[], [False], [True, False]]
        counts = {key: row.count // coefficient for key, row in training.rows().items()}
        assert counts == {1: 3, 2: 2, 3: 3, 4: 2}
        assert training.statistics()["waiting"] == 2


def test_lookups_of_other_batches_count_by_themselves():
    table = support.table()
    batches = [v1.data.make_one_shot_iterator(dataset([[1], [1]])).get_next() for _ in range(2)]
    config = {"access_threshold": 2}
    found = [
        ep.sparse_lookup(table, batch["ids"], access_and_evict_config=config) for batch in batches
    ]
    with support.ready_session() as session:
        # Only the one that runs takes a batch and counts it.
        assert not session.run(found[1]).any()
        assert session.run(found[1]).all()
        assert session.run(found[0]).all()


def test_a_lookup_of_what_another_one_found_counts_by_itself():
    table = support.table(initializer=v1.constant_initializer(3.0))
    ids = v1.placeholder(tf.int64, [None])
    config = {"access_threshold": 2}
    first = ep.sparse_lookup(table, ids, access_and_evict_config=config)
    found = tf.cast(first[:, 0], tf.int64)
    second = ep.sparse_lookup(table, found, access_and_evict_config=config)
    with support.ready_session() as session:
        assert not session.run(second, {ids: [7]}).any()  # 7 waits, and 0 was looked up.
        assert not session.run(second, {ids: [7]}).any()  # 3 was, once.
        assert session.run(second, {ids: [7]}).all()


def test_evaluation_neither_counts_nor_inserts_nor_touches():
    training = Training("config", [[1], [1]], times=[10, 20], access_threshold=2)
    evaluation = ep.sparse_lookup(
        training.table,
        [1, 1, 2, 2],
        is_train=False,
        access_and_evict_config={"access_threshold": 2},
        serving_default_value=-3.0,
    )
    with training.running():
        training.step()
        before = training.session.run(evaluation)
        assert (before == -3).all()
        assert (training.statistics()["waiting"], training.rows()) == (1, {})
        assert training.step() == [[True]]
        after = training.session.run(evaluation)
        assert after[:, 0].tolist() == [1, 1, -3, -3]
        assert training.rows() == {1: (2, 20)}


def test_a_key_that_is_not_admitted_reads_the_default_and_takes_no_gradient():
    table = support.table(dim=2)
    ids = v1.placeholder(tf.int64, [None])
    embeddings = ep.sparse_lookup(
        table, ids, serving_default_value=7.0, access_and_evict_config={"access_threshold": 2}
    )
    optimizer = ep.optimizers.gradient_descent.create_hash_optimizer(0.5)
    train = optimizer.minimize(tf.reduce_sum(embeddings))
    again = ep.sparse_lookup(table, [1, 2], is_train=False)
    with support.ready_session() as session:
        found, _ = session.run([embeddings, train], {ids: [1, 2, 2]})
        assert found.tolist() == [[7, 7], [1, 1], [1, 1]]
        # Key 2 has a gradient of 1 from each of its two occurrences.
        assert session.run(again).tolist() == [[0, 0], [0, 0]]
        assert session.run(table.size()) == 1
        assert session.run([embeddings, train], {ids: [1]})[0].tolist() == [[1, 1]]
        assert session.run(again).tolist() == [[0.5, 0.5], [0, 0]]


@pytest.mark.parametrize("combined", [False, True])
def test_counts_of_tables_alone_and_combined(combined, monkeypatch):
    monkeypatch.setenv("USE_COMBINE_FAAE", "1" if combined else "0")
    tables = [support.table("combined_%s_%d" % (combined, i)) for i in range(2)]
    ids = v1.placeholder(tf.int64, [None])
    found = [
        ep.sparse_lookup(table, ids, access_and_evict_config={"access_threshold": threshold})
        for table, threshold in zip(tables, (2, 3))
    ]
    with support.ready_session() as session:
        for embeddings in found:
            assert not session.run(embeddings, {ids: [7]}).any()
        # Combined, 7 was seen twice, and this is the third time for either table.
        assert session.run(found[1], {ids: [7]}).any() == combined
        assert session.run(found[0], {ids: [7]}).any()


@pytest.mark.parametrize("value", ["", "2", "true", "yes"])
def test_the_variable_is_0_or_1(value, monkeypatch):
    monkeypatch.setenv("USE_COMBINE_FAAE", value)
    with pytest.raises(
        ValueError, match="USE_COMBINE_FAAE must be one of '0', '1', got '%s'" % value
    ):
        ep.sparse_lookup(support.table(), [1], access_and_evict_config={"access_threshold": 1})


def test_a_sketch_counts_in_memory_of_a_fixed_size():
    sketch = ep.admission.CountingSketch(max_bytes=1 << 16)
    training = Training(
        "config", [[1, 1, 2], [1, 2]], table={"admission": sketch}, access_threshold=3
    )
    with training.running():
        assert training.step() == [[False, False, False]]
        assert training.step() == [[True, False]]
        assert training.rows()[1].count == 3


def test_a_sketch_cannot_be_combined(monkeypatch):
    monkeypatch.setenv("USE_COMBINE_FAAE", "1")
    table = support.table(admission=ep.admission.CountingSketch())
    with pytest.raises(ValueError, match="table 'user': .*CountingSketch.*USE_COMBINE_FAAE"):
        ep.sparse_lookup(table, [1], access_and_evict_config={"access_threshold": 2})


@pytest.mark.parametrize("key", ["access_threshold", "eviction_threshold"])
@pytest.mark.parametrize("value", [-2, 1.5, "3", True, 2**31])
def test_thresholds_out_of_range(key, value):
    with pytest.raises(ValueError, match="table 'user': %s must be None or an int from -1" % key):
        ep.sparse_lookup(support.table(), [1], access_and_evict_config={key: value})


@pytest.mark.parametrize("value", [0, -1, 1.5])
def test_coefficients_out_of_range(value):
    with pytest.raises(ValueError, match="table 'user': faae_coefficient must be .*from 1"):
        ep.sparse_lookup(support.table(), [1], access_and_evict_config={"faae_coefficient": value})


def test_a_table_has_one_pair_of_thresholds():
    table = support.table()
    ep.sparse_lookup(table, [1], access_and_evict_config={"access_threshold": 2})
    ep.sparse_lookup(table, [1])  # It takes those of the table.
    with pytest.raises(ValueError, match="'user': thresholds must be the same.*=3.*after.*=2"):
        ep.sparse_lookup(table, [1], access_and_evict_config={"access_threshold": 3})
    config = {"access_threshold": 2, "faae_coefficient": 2}
    with pytest.raises(ValueError, match="faae_coefficient=2 after .*faae_coefficient=1"):
        ep.sparse_lookup(table, [1], access_and_evict_config=config)
    other = support.table("item")
    ep.sparse_lookup(other, [1])
    with pytest.raises(ValueError, match="'item': its first training lookup has no thresholds"):
        ep.sparse_lookup(other, [1], access_and_evict_config={"access_threshold": 3})


@pytest.mark.parametrize("value", ["exact", ep.admission.CountingSketch, 3])
def test_filters_are_objects(value):
    with pytest.raises(ValueError, match="table 'user': admission must be .*got"):
        support.table(admission=value)


@pytest.mark.parametrize("value", [0, 1.5, True, "1M"])
def test_sizes_of_sketches(value):
    with pytest.raises(ValueError, match="CountingSketch: max_bytes must be an int from"):
        ep.admission.CountingSketch(value)

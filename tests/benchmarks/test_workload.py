"""The ids that benchmarks feed: reproducible, distributed as said, disjoint where they must be."""

import numpy as np
import pytest

from benchmarks.workload import FEATURES, Workload, ids_of_ranks, splitmix64, zipf_ranks

SMALL = Workload(rows=1000, samples=8, batches=4)


def test_splitmix64_gives_the_published_values():
    # The first outputs of SplitMix64 seeded with 0: the mix of 0, golden, 2 golden.
    golden = 0x9E3779B97F4A7C15
    states = np.array([0, golden, (2 * golden) % 2**64], np.uint64)
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [int(x) for x in splitmix64(states)] == expected


def test_ids_are_distinct_and_not_negative():
    ids = ids_of_ranks(np.arange(100000))
    assert ids.dtype == np.int64
    assert ids.min() >= 0
    assert len(np.unique(ids)) == len(ids)


def test_ranks_follow_the_zipf_law():
    ranks = zipf_ranks(1000, [200000], seed=1)
    counts = np.bincount(ranks, minlength=1000) / float(len(ranks))
    weights = np.arange(1, 1001, dtype=np.float64) ** -1.05
    expected = weights / weights.sum()
    np.testing.assert_allclose(counts[:10], expected[:10], rtol=0.1)
    assert ranks.min() == 0
    assert ranks.max() < 1000


def test_warm_ids_all_have_a_row():
    resident = np.concatenate(SMALL.resident())
    assert len(np.unique(resident)) == SMALL.rows
    assert np.isin(SMALL.warm(), resident).all()


def test_row_numbers_name_the_same_ranks_as_ids():
    row_of_id = dict(zip(ids_of_ranks(np.arange(SMALL.rows)), SMALL._scattered_ranks()))
    rows = [row_of_id[i] for i in SMALL.warm()[0]]
    assert rows == list(SMALL.warm_row_numbers()[0])


@pytest.mark.parametrize("rows", [1000, 208, 30])
def test_resident_batches_are_whole_samples(rows):
    for batch in SMALL._replace(rows=rows).resident():
        assert len(batch) % FEATURES == 0


def test_fresh_ids_are_new_every_step():
    steps = [SMALL.fresh(step) for step in range(SMALL.fresh_steps())]
    ids = np.concatenate(steps + [SMALL.stream().reshape(-1)])
    fresh = np.concatenate(steps)
    assert len(fresh) >= SMALL.rows
    assert len(np.unique(ids)) == len(fresh) + len(np.unique(SMALL.stream()))


def test_features_share_no_id():
    ids = SMALL.by_feature()
    assert ids.shape == (4, 8, FEATURES)
    columns = [set(ids[:, :, feature].reshape(-1)) for feature in range(FEATURES)]
    assert sum(len(column) for column in columns) == len(set.union(*columns))


def test_the_cache_gives_what_was_drawn(tmp_path):
    cached = SMALL._replace(cache=str(tmp_path))
    np.testing.assert_array_equal(cached.warm(), SMALL.warm())  # Draws and keeps.
    np.testing.assert_array_equal(cached.warm(), SMALL.warm())  # Reads back.
    assert [path.suffix for path in tmp_path.iterdir()] == [".npy"]

"""The ids that every benchmark feeds.

One step is a batch of samples with 26 categorical features, one id each: 4096 x 26 = 106,496 ids.
Ids follow a Zipf law of exponent 1.05 over ranks 0, 1, 2, ...; the id of a rank is its 64-bit mix,
so popular ids are neither small nor neighbours. Three streams:

  warm    ids of the `rows` most popular ranks, every one of which has a row beforehand
  stream  ids of 10 million ranks, for a table that starts empty
  fresh   ids that no earlier step has used: a table that only grows

Rates count raw ids, repeated ones included.
"""

import os
from typing import NamedTuple

import numpy as np

FEATURES = 26
ID_SPACE = 10 * 1000 * 1000
EXPONENT = 1.05
_FIRST_FRESH_RANK = 2 * ID_SPACE  # Past every rank that a Zipf stream can draw.


def splitmix64(values):
    """The splitmix64 mix of each value: uint64 in, uint64 out, one to one."""
    with np.errstate(over="ignore"):
        x = np.asarray(values).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def ids_of_ranks(ranks):
    """The id of each rank: a non-negative int64, the same in every process."""
    return (splitmix64(ranks) >> np.uint64(1)).astype(np.int64)


def zipf_ranks(ranks, shape, seed):
    """Draws ranks below `ranks` by the Zipf law: int64 of `shape`."""
    weights = np.arange(1, ranks + 1, dtype=np.float64) ** -EXPONENT
    cumulative = np.cumsum(weights)
    uniform = np.random.RandomState(seed).random_sample(shape) * cumulative[-1]
    return np.searchsorted(cumulative, uniform).astype(np.int64)


class Workload(NamedTuple):
    """Batches of one size over a table of one size.

    >>> Workload(rows=1000, samples=8, batches=4).warm().shape
    (4, 208)
    """

    rows: int
    samples: int = 4096
    batches: int = 16
    cache: str = ""  # A folder that keeps drawn arrays between processes; empty for none.

    @property
    def ids_per_step(self):
        return self.samples * FEATURES

    def _cached(self, name, make):
        if not self.cache:
            return make()
        path = os.path.join(self.cache, name + ".npy")
        if not os.path.exists(path):
            os.makedirs(self.cache, exist_ok=True)
            # Several processes may draw the same array; whoever renames last leaves equal bytes.
            temporary = "%s.%d.npy" % (path, os.getpid())
            np.save(temporary, make())
            os.replace(temporary, path)
        return np.load(path)

    def _ranks(self, space, seed):
        shape = (self.batches, self.ids_per_step)
        name = "zipf-%d-%dx%d-seed%d" % ((space,) + shape + (seed,))
        return self._cached(name, lambda: zipf_ranks(space, shape, seed))

    def _scattered_ranks(self):
        """Row number of each rank: popular rows must not lie side by side in memory."""
        name = "permutation-%d" % self.rows
        return self._cached(name, lambda: np.random.RandomState(5).permutation(self.rows))

    def warm(self):
        """Ids of resident rows: int64 [batches, ids_per_step]."""
        return ids_of_ranks(self._ranks(self.rows, seed=1))

    def uniform(self):
        """As `warm`, every id as likely as any other: few of a step occur twice."""
        shape = (self.batches, self.ids_per_step)
        return ids_of_ranks(np.random.RandomState(7).randint(0, self.rows, shape))

    def warm_row_numbers(self):
        """`warm` for a system that has row numbers, not ids: the same ranks, below `rows`."""
        return self._scattered_ranks()[self._ranks(self.rows, seed=1)]

    def stream(self):
        """Ids drawn from all 10 million: int64 [batches, ids_per_step]."""
        return ids_of_ranks(self._ranks(ID_SPACE, seed=2))

    def resident(self):
        """Batches of ids that together hold every id of `warm`; the last batch overlaps another."""
        ids = ids_of_ranks(self._scattered_ranks())
        size = min(self.ids_per_step, self.rows - self.rows % FEATURES)
        starts = list(range(0, self.rows - size, size)) + [self.rows - size]
        return [ids[start : start + size] for start in starts]

    def fresh(self, step):
        """Ids of step number `step`, none of which another step or stream uses."""
        first = _FIRST_FRESH_RANK + step * self.ids_per_step
        return ids_of_ranks(np.arange(first, first + self.ids_per_step))

    def fresh_steps(self):
        """How many steps of fresh ids fill a table of `rows` rows."""
        return -(-self.rows // self.ids_per_step)

    def by_feature(self):
        """Ids for a model with a table a feature: int64 [batches, samples, 26].

        Each feature has rows // 26 ids of its own, each Zipf-distributed.
        """
        space = self.rows // FEATURES
        ranks = self._ranks(space, seed=4).reshape(self.batches, self.samples, FEATURES)
        return ids_of_ranks(ranks * FEATURES + np.arange(FEATURES))

"""Ids that are not spread: how a training step on two servers fares with them.

    python -m benchmarks.skew [--rounds N]

    even         ids drawn evenly from 32,000 keys
    hot          30 % of all ids are one key, the others drawn as in even
    one bucket   ids drawn evenly from 32,000 keys of one bucket, all on one server

The three take turns, 4096 samples of 26 ids a step, dim 16, Adagrad. What is printed is the median
step, and that of the rounds' ratios to even.
"""

import argparse
import itertools
import os
import statistics

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from benchmarks.resources import time_steps  # noqa: E402
from benchmarks.scenarios.servers import Servers  # noqa: E402
from benchmarks.system import system_class  # noqa: E402
from benchmarks.workload import Workload  # noqa: E402
from estimator_plugin.hashing import bucket_of_key  # noqa: E402

_DIM = 16
_KEYS = 32000
_BUCKETS, _BUCKET = 64, 5
_HOT_SHARE = 0.3
_SECONDS = 0.5  # Of each, in each round.


class SkewedWorkload(Workload):
    """Batches by name; see the module's text."""

    def __new__(cls):
        return super().__new__(cls, rows=2 * _KEYS, batches=4)

    def keys(self):
        """(keys of all buckets, as many keys of one bucket)."""
        candidates = np.arange(2 * _BUCKETS * _KEYS)
        inside = bucket_of_key(candidates, _BUCKETS) == _BUCKET
        return candidates[~inside][:_KEYS], candidates[inside][:_KEYS]

    def shapes(self):
        random = np.random.RandomState(6)
        size = (self.batches, self.ids_per_step)
        spread, gathered = self.keys()
        even = random.choice(spread, size)
        hot = np.where(random.random_sample(size) < _HOT_SHARE, spread[0], even)
        return {"even": even, "hot": hot, "one bucket": random.choice(gathered, size)}

    def resident(self):
        return [np.concatenate(self.keys())]

    def warm(self):
        return np.concatenate(list(self.shapes().values()))


class Skew(Servers):
    """Steps of one shape at a time."""

    def measure_shape(self, batches, seconds):
        self._batches = itertools.cycle(batches)
        return statistics.median(time_steps(lambda: self._run("train/raw"), seconds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    tf.compat.v1.disable_eager_execution()
    workload = SkewedWorkload()
    shapes = workload.shapes()
    scenario = Skew(system_class("ours")(_DIM, "adagrad"), workload)
    times = {name: [] for name in shapes}
    for i in range(rounds):
        for name in sorted(shapes, reverse=i % 2 == 1):
            times[name].append(scenario.measure_shape(shapes[name], _SECONDS))
    scenario.close()
    print("| ids | distinct in a step | ms a step | of even |\n|---|---|---|---|")
    for name, found in times.items():
        distinct = np.mean([len(np.unique(batch)) for batch in shapes[name]])
        ratio = statistics.median(a / b for a, b in zip(found, times["even"]))
        print(
            "| %s | %d | %.1f | %.2f |" % (name, distinct, 1000 * statistics.median(found), ratio)
        )


if __name__ == "__main__":
    main()

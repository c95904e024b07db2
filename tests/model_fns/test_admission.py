"""Models whose tables admit and evict, on the numbers of their input."""

import collections

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.model_fns import synthetic

fns = ep.model_fns
HOUR = 3600


def input_fn(steps, timestamp="time"):
    """A batch an hour: ids 0 to 4 in each, and 10 times the hour plus 0 to 4, twice each."""

    def generate():
        for step in range(steps):
            ids = np.concatenate([np.arange(5), np.repeat(10 * (step + 1) + np.arange(5), 2)])
            features = {"id": ids, timestamp: np.int64(HOUR * (step + 1))}
            yield features, (ids % 2).astype(np.float32)

    types = {"id": tf.int64, timestamp: tf.int64}
    shapes = {"id": [15], timestamp: []}
    return lambda: tf.data.Dataset.from_generator(generate, (types, tf.float32), (shapes, [15]))


def keys_of(model_dir, table):
    return set(ep.checkpoint.read_table(str(model_dir), table).keys.tolist())


def train(model_dir, steps, options=None, table=None, **thresholds):
    table = table or fns.TableSpec("id", 4)
    feature = fns.CategoricalFeature("id", table, **thresholds)
    options = options or fns.ModelOptions(timestamp_feature="time")
    estimator = synthetic.estimator(fns.wide_and_deep([feature], options=options), model_dir)
    hook = ep.hooks.EvictHook(evict_enable=True, evict_step_interval=steps)
    estimator.train(input_fn(steps), hooks=[hook])
    return estimator


@pytest.mark.parametrize("table", ["id", "id_linear"])
def test_ids_come_and_go_by_timestamp(table, tmp_path):
    estimator = train(tmp_path, 6, access_threshold=2, eviction_threshold=2 * HOUR)
    # At hour 6 those last seen at hour 4 and before have left.
    lately = {10 * step + i for step in (5, 6) for i in range(5)}
    assert keys_of(tmp_path, table) == set(range(5)) | lately
    counts = ep.checkpoint.read_table(str(tmp_path), table)
    by_key = dict(zip(counts.keys.tolist(), counts.counts.tolist()))
    assert collections.Counter(by_key.values()) == {6: 5, 2: 10}
    assert estimator.evaluate(input_fn(2))["global_step"] == 6


def test_without_a_timestamp_by_steps(tmp_path):
    train(tmp_path, 6, options=fns.ModelOptions(), eviction_threshold=2)
    # The last step looks up at step 5, and those of step 3 leave.
    lately = {10 * step + i for step in (5, 6) for i in range(5)}
    assert keys_of(tmp_path, "id") == set(range(5)) | lately


def test_a_budget_and_a_sketch(tmp_path):
    table = fns.TableSpec(
        "id",
        4,
        admission=ep.admission.CountingSketch(1 << 16),
        eviction=ep.eviction.RowBudget(5, keep="frequent"),
    )
    train(tmp_path, 4, table=table, access_threshold=3)
    assert keys_of(tmp_path, "id") == set(range(5))


def test_variables_have_no_use_for_thresholds(tmp_path):
    options = fns.ModelOptions(embedding="variable", timestamp_feature="time")
    feature = fns.CategoricalFeature("id", fns.TableSpec("id", 4), access_threshold=2)
    estimator = synthetic.estimator(fns.wide_and_deep([feature], options=options), tmp_path)
    estimator.train(input_fn(2))
    assert estimator.evaluate(input_fn(1))["global_step"] == 2


def test_a_timestamp_that_is_not_in_the_input(tmp_path):
    with pytest.raises(ValueError, match="feature 'when' is missing from the input"):
        train(tmp_path, 2, options=fns.ModelOptions(timestamp_feature="when"))

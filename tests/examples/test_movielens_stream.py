"""Training in order of time: what leaves, and what is drawn."""

import collections
import xml.etree.ElementTree

import numpy as np
import pytest
import tensorflow as tf

from examples.movielens import chart, inputs, stream

DAYS = 1
MAX_AGE = DAYS * stream.SECONDS_PER_DAY


@pytest.fixture(scope="module")
def beginning(slices):
    """The slices, each cut down to its first events."""
    return slices._replace(
        **{
            name: ({n: values[:2560] for n, values in features.items()}, labels[:2560])
            for name, (features, labels) in slices._asdict().items()
        }
    )


def test_batches_are_in_order_and_have_one_time():
    features = {"timestamp": np.arange(7), "n": np.arange(7)}
    input_fn = inputs.streaming_input_fn(features, np.zeros(7, np.float32), 3)
    batch, _ = tf.compat.v1.data.make_one_shot_iterator(input_fn()).get_next()
    assert batch["timestamp"].shape.rank == 0
    with tf.compat.v1.Session() as session:
        found = [session.run(batch) for _ in range(3)]
    assert [b["n"].tolist() for b in found] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [int(b["timestamp"]) for b in found] == [2, 5, 6]


def test_ids_seen_lately():
    batch = stream.BATCH_SIZE
    features = {
        "timestamp": np.arange(3 * batch),
        "a": np.repeat([[1, 2], [1, 3], [4, -1]], batch, axis=0),
    }
    # Batches end at 127, 255 and 383: at the third, what was seen by the second is 128 old.
    assert stream.seen_lately(features, ["a"], max_age=129) == [2, 3, 3]
    assert stream.seen_lately(features, ["a"], max_age=128) == [2, 2, 1]


def test_tables_follow_the_ids_in_use(beginning, tmp_path):
    kept = stream.train(beginning, str(tmp_path / "kept"))
    evicted = stream.train(beginning, str(tmp_path / "evicted"), MAX_AGE)
    features = beginning.train[0]
    for table, names in stream.TABLES.items():
        lately = stream.seen_lately(features, names, MAX_AGE)
        rows = evicted.rows[table]
        assert len(rows) == 2560 // stream.BATCH_SIZE
        every = stream.STEPS_BETWEEN_EVICTIONS
        assert rows[every - 1 :: every] == lately[every - 1 :: every]  # Right after an eviction.
        assert kept.rows[table] == stream.seen_lately(features, names, float("inf"))
        assert rows[-1] < kept.rows[table][-1]
    path = str(tmp_path / "chart.svg")
    stream.draw(beginning, {"kept": kept, "evicted": evicted}, DAYS, path)
    root = xml.etree.ElementTree.parse(path).getroot()
    assert len([e for e in root.iter() if e.tag.endswith("polyline")]) == 6


def test_a_line_is_where_its_values_are():
    lines = collections.OrderedDict([("a < b", [0, 5, 10])])
    text = chart.svg([chart.Panel("t", [0, 1, 2], lines)], "x")
    root = xml.etree.ElementTree.fromstring(text)
    (line,) = [e for e in root.iter() if e.tag.endswith("polyline")]
    points = [tuple(map(float, p.split(","))) for p in line.get("points").split()]
    left, right = chart.LEFT, chart.WIDTH - chart.RIGHT
    top, bottom = chart.TOP, chart.HEIGHT - chart.BOTTOM
    assert points == [(left, bottom), ((left + right) / 2, (top + bottom) / 2), (right, top)]
    assert "a < b" in [e.text for e in root.iter()]

"""The stream of events: nothing of the future, nothing lost."""

import numpy as np
import pytest

from examples.movielens import download, events, history, inputs


def test_the_slices_follow_each_other_in_time(slices):
    times = [features["timestamp"] for features, _ in slices]
    for part in times:
        assert (np.diff(part) >= 0).all()
    assert times[0][-1] < times[1][0] and times[1][-1] < times[2][0]
    assert [len(part) for part in times] == [80003, 9998, 9999]


def test_every_rating_is_one_event(slices, tables):
    rated = sorted((int(u), int(i), int(t)) for u, i, _, t in tables["inter"][1:])
    found = sorted(
        event
        for features, _ in slices
        for event in zip(features["user_id"], features["item_id"], features["timestamp"])
    )
    assert found == rated
    clicks = sum(int(stars) >= 4 for _, _, stars, _ in tables["inter"][1:])
    assert sum(labels.sum() for _, labels in slices) == clicks


def test_features_do_not_change_when_the_future_does(tables):
    """Ratings after a moment leave no trace in what was known until then."""
    rows = sorted(tables["inter"][1:], key=lambda row: int(row[3]))[:3000]
    middle = int(rows[2000][3])
    other = [r if int(r[3]) < middle else [r[0], r[1], str(6 - int(r[2])), r[3]] for r in rows]
    before = _all_features(tables, rows)
    after = _all_features(tables, other)
    past = before["timestamp"] <= middle  # At that second itself, nothing of it is known yet.
    assert 1000 < past.sum() < 2900
    for name in before:
        np.testing.assert_equal(before[name][past], after[name][past], err_msg=name)
    assert (before["item_stars"] != after["item_stars"]).any()


def _all_features(tables, rows):
    slices = events.make_slices(dict(tables, inter=[tables["inter"][0]] + rows))
    return {
        name: np.concatenate([features[name] for features, _ in slices]) for name in slices.train[0]
    }


def test_split_points_never_cut_a_second():
    times = np.repeat(np.arange(10), 10)
    first, second = events.split_points(times)
    assert (first, second) == (90, 100)
    assert times[first - 1] < times[first]


def test_histories_know_earlier_seconds_only():
    seen = [(1, 10, ["a"], 5), (1, 11, ["b"], 2), (1, 12, ["a"], 4), (2, 10, ["a"], 3)]
    liked, disliked, numbers = history.histories(seen, [100, 100, 101, 102])
    assert liked == [[], [], [10], []]
    assert disliked == [[], [], [11], []]
    known = {name: numbers[:, n] for n, name in enumerate(history.NUMBERS)}
    np.testing.assert_equal(known["user_events"], [0, 0, 2, 0])
    np.testing.assert_equal(known["item_events"], [0, 0, 0, 1])
    guess = history.FIRST_GUESS
    overall = (5 + 2 + 5 * guess) / 7
    np.testing.assert_allclose(known["user_stars"][:2], guess)
    np.testing.assert_allclose(known["user_stars"][2], (5 + 2 + 5 * overall) / 7, rtol=1e-6)
    assert known["genre_affinity"][2] > 0 and known["genre_affinity"][0] == 0


def test_history_keeps_the_latest():
    events_of_one = [(1, item, ["a"], 5) for item in range(history.HISTORY + 5)]
    liked, _, _ = history.histories(events_of_one + [(1, 99, ["a"], 1)], range(history.HISTORY + 6))
    assert liked[-1] == list(range(5, history.HISTORY + 5))


def test_absent_ids_are_padding(slices):
    features, _ = slices.train
    assert features["liked"].min() == -1 and features["liked"].shape[1] == history.HISTORY
    assert (features["genres"][:, 0] != b"").all() and (features["genres"] == b"").any()


def test_a_training_epoch_has_every_event_once():
    features = {"n": np.arange(10)}
    found = _batches(inputs.training_input_fn(features, np.zeros(10, np.float32), 5, seed=1), 4)
    assert sorted(np.concatenate(found[:2])) == sorted(np.concatenate(found[2:])) == list(range(10))
    assert list(found[0]) + list(found[1]) != list(range(10))
    again = _batches(inputs.training_input_fn(features, np.zeros(10, np.float32), 5, seed=1), 4)
    np.testing.assert_equal(found, again)


def test_an_evaluation_has_every_event_in_order():
    features = {"n": np.arange(7)}
    found = _batches(inputs.evaluation_input_fn(features, np.zeros(7, np.float32), 3), 3)
    assert [list(batch) for batch in found] == [[0, 1, 2], [3, 4, 5], [6]]


def _batches(input_fn, count):
    import tensorflow as tf

    batch, _ = tf.compat.v1.data.make_one_shot_iterator(input_fn()).get_next()
    with tf.compat.v1.Session() as session:
        return [session.run(batch)["n"] for _ in range(count)]


def test_a_wheel_of_another_checksum_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(download.CACHE_VARIABLE, str(tmp_path))
    (tmp_path / download.WHEEL).write_bytes(b"not a wheel")
    with pytest.raises(download.DownloadError, match="expected %s" % download.SHA256):
        download.read_tables()


def test_offline_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv(download.CACHE_VARIABLE, str(tmp_path / "new"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(download.DownloadError) as error:
        download.fetch_wheel()
    message = str(error.value)
    assert "pip download --no-deps recbole==" in message
    assert str(tmp_path / "new" / download.WHEEL) in message
    assert list((tmp_path / "new").iterdir()) == []

"""MovieLens-100K as a stream of events, cut into three slices that follow each other in time."""

import collections

import numpy as np

from . import history

GENRES = 6  # No movie has more.
TRAIN_SHARE, VALIDATION_SHARE = 0.8, 0.1
SECONDS_PER_HOUR, HOURS_PER_DAY = 3600, 24
YEARS_PER_AGE_GROUP = 5
ZIP_DIGITS = 2  # A region of the United States.

Slices = collections.namedtuple("Slices", ["train", "validation", "test"])
EventLog = collections.namedtuple("EventLog", ["users", "items", "stars", "times"])


def make_slices(tables):
    """(features, labels) of each slice, from `download.read_tables()`.

    Returns:
      `Slices`, each a pair: a dict of arrays whose first dimension counts events, oldest first; and
      float32 labels `[events]`, 1 for a click. Absent ids in 2-d features are -1 or "".
    """
    log = _event_log(tables["inter"])
    users = {int(row[0]): row[1:] for row in tables["user"][1:]}
    items = {int(row[0]): row[1:] for row in tables["item"][1:]}
    features = _user_features(log, users)
    features.update(_item_features(log, items))
    features.update(_history_features(log, items))
    labels = (log.stars >= history.LIKED).astype(np.float32)
    first, second = split_points(log.times)
    ranges = (slice(0, first), slice(first, second), slice(second, None))
    return Slices(*[({n: v[r] for n, v in features.items()}, labels[r]) for r in ranges])


def split_points(times):
    """Where validation and test begin; moved on so that no second lies in two slices."""
    points = []
    for share in (TRAIN_SHARE, TRAIN_SHARE + VALIDATION_SHARE):
        cut = times[int(len(times) * share)]
        points.append(int(np.searchsorted(times, cut, side="right")))
    return points


def _event_log(rows):
    """The ratings by time; within a second by user and movie."""
    users, items, stars, times = np.array([[int(v) for v in row] for row in rows[1:]], np.int64).T
    order = np.lexsort((items, users, times))
    return EventLog(users[order], items[order], stars[order], times[order])


def _user_features(log, users):
    who = [users[user] for user in log.users]
    return {
        "user_id": log.users,
        "age": np.array([int(user[0]) // YEARS_PER_AGE_GROUP for user in who], np.int64),
        "gender": _text([user[1] for user in who]),
        "occupation": _text([user[2] for user in who]),
        "zip": _text([user[3][:ZIP_DIGITS] for user in who]),
        "hour": log.times // SECONDS_PER_HOUR % HOURS_PER_DAY,
        "timestamp": log.times,
    }


def _item_features(log, items):
    what = [items[item] for item in log.items]
    return {
        "item_id": log.items,
        "year": np.array([_year(item[1]) for item in what], np.int64),
        "genres": _text(_padded([_genres(item) for item in what], GENRES, "")),
    }


def _history_features(log, items):
    genres = {number: _genres(item) for number, item in items.items()}
    seen = [(u, i, genres[i], s) for u, i, s in zip(log.users, log.items, log.stars)]
    liked, disliked, numbers = history.histories(seen, log.times)
    features = {
        "liked": _padded(liked, history.HISTORY, -1).astype(np.int64),
        "disliked": _padded(disliked, history.HISTORY, -1).astype(np.int64),
    }
    features.update(zip(history.NUMBERS, numbers.T))
    return features


def _genres(item):
    return item[2].split(" ")


def _year(text):
    """The release year; one movie has none and one has its column shifted: 0 for both."""
    return int(text) if text.isdigit() else 0


def _padded(lists, width, filler):
    return np.array([(values + [filler] * width)[:width] for values in lists])


def _text(strings):
    return np.char.encode(np.array(strings), "utf-8").astype(object)

"""What was known about a user and a movie just before they met.

Events come in the order of time. An event sees those of earlier seconds only: users rate several
movies within one second, and a server would not know the answers to those either.
"""

import collections

import numpy as np

LIKED = 4  # A rating of 4 or 5 stars is a click.
HISTORY = 10  # Movies remembered per user, liked and disliked each.
RECENT = 10  # Ratings in a recent average.
PRIOR_COUNT = 5.0  # Averages start as if this many typical ratings had been seen.
FIRST_GUESS = 3.5  # Stars, until there is a rating.

NUMBERS = (
    "user_stars",
    "user_recent_stars",
    "user_events",
    "item_stars",
    "item_recent_stars",
    "item_events",
    "genre_affinity",
)


class Average:
    """A running average that starts at `prior` and leaves it as values arrive."""

    def __init__(self):
        self.count = 0
        self._total = 0.0
        self._recent = collections.deque(maxlen=RECENT)

    def add(self, value):
        self.count += 1
        self._total += value
        self._recent.append(value)

    def value(self, prior):
        return (self._total + PRIOR_COUNT * prior) / (self.count + PRIOR_COUNT)

    def recent(self, prior):
        return (sum(self._recent) + PRIOR_COUNT * prior) / (len(self._recent) + PRIOR_COUNT)


class Past:
    """Everything learnt from the events so far."""

    def __init__(self):
        self._all = Average()
        self._users = collections.defaultdict(Average)
        self._items = collections.defaultdict(Average)
        self._affinities = collections.defaultdict(Average)
        self._liked = collections.defaultdict(lambda: collections.deque(maxlen=HISTORY))
        self._disliked = collections.defaultdict(lambda: collections.deque(maxlen=HISTORY))

    def liked(self, user):
        """Up to `HISTORY` movies the user liked last, oldest first."""
        return list(self._liked[user])

    def disliked(self, user):
        """Up to `HISTORY` movies the user did not like, oldest first."""
        return list(self._disliked[user])

    def numbers(self, user, item, genres):
        """The values of `NUMBERS`. Affinity: stars given to these genres above the movies' own."""
        overall = self._all.value(FIRST_GUESS)
        who, what = self._users[user], self._items[item]
        user_stars, item_stars = who.value(overall), what.value(overall)
        affinity = sum(self._affinities[user, genre].value(0.0) for genre in genres) / len(genres)
        recent = who.recent(user_stars), what.recent(item_stars)
        return (user_stars, recent[0], who.count, item_stars, recent[1], what.count, affinity)

    def add(self, user, item, genres, stars):
        """Learns one event."""
        item_stars = self._items[item].value(self._all.value(FIRST_GUESS))
        for genre in genres:
            self._affinities[user, genre].add(stars - item_stars)
        for average in (self._all, self._users[user], self._items[item]):
            average.add(stars)
        (self._liked if stars >= LIKED else self._disliked)[user].append(item)


def histories(events, times):
    """Replays events in order and collects what was known before the second of each.

    Args:
      events: sequence of (user, item, genres, stars), oldest first.
      times: their timestamps, in the same order.

    Returns:
      A list of liked lists, a list of disliked lists, and a float32 array `[events, len(NUMBERS)]`.
    """
    past = Past()
    waiting, waiting_time = [], None
    liked, disliked, numbers = [], [], []
    for event, time in zip(events, times):
        if time != waiting_time:
            for known in waiting:
                past.add(*known)
            waiting, waiting_time = [], time
        user, item, genres, _ = event
        liked.append(past.liked(user))
        disliked.append(past.disliked(user))
        numbers.append(past.numbers(user, item, genres))
        waiting.append(event)
    return liked, disliked, np.array(numbers, np.float32)

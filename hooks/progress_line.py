"""A line of text that is rewritten in place where that works, and the speed that it shows."""

import collections

CLEAR_TO_END_OF_LINE = "\x1b[K"
WINDOW = 10  # Readings that the speed looks back over.


class ProgressLine:
    """Writes texts over each other on a terminal, below each other elsewhere."""

    def __init__(self, stream):
        self._stream = stream
        self._open = False
        self.is_terminal = bool(getattr(stream, "isatty", lambda: False)())

    def write(self, text):
        """Shows `text`, in place of the last one where the stream is a terminal."""
        if self.is_terminal:
            self._stream.write("\r" + text + CLEAR_TO_END_OF_LINE)
            self._open = True
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def finish(self):
        """Leaves the last text standing; what is written next begins below it."""
        if self._open:
            self._stream.write("\n")
            self._stream.flush()
            self._open = False


class Speed:
    """Steps per second over the last few readings."""

    def __init__(self):
        self._readings = collections.deque(maxlen=WINDOW)

    def update(self, step, seconds):
        """Takes one reading: the step reached at a time."""
        self._readings.append((step, seconds))

    def steps_per_second(self):
        """The speed, or None while it is unknown."""
        if len(self._readings) < 2:
            return None
        (first_step, first_time), (last_step, last_time) = self._readings[0], self._readings[-1]
        if last_time <= first_time:
            return None
        return (last_step - first_step) / (last_time - first_time)


def clock_text(seconds):
    """Seconds as 0:05, 12:34 or 1:02:03."""
    minutes, seconds = divmod(int(round(max(seconds, 0))), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return "%d:%02d:%02d" % (hours, minutes, seconds)
    return "%d:%02d" % (minutes, seconds)

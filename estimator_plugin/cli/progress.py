"""A progress bar on standard error, where that is a terminal."""

import sys
import time

_WIDTH = 30
_SECONDS = 0.2  # Least time between two looks of the bar; work shorter than that shows none.


class Progress:
    """Shows how far a loop has come.

        for bucket in Progress().track(range(64), 64, "user"):
            ...

    Args:
      stream: text stream; None is standard error. Nothing is written unless it is a terminal.
      clock: function that returns seconds.
    """

    def __init__(self, stream=None, clock=time.time):
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._shows = bool(getattr(self._stream, "isatty", lambda: False)())

    def track(self, items, total, what):
        """Yields `items`, of which there are `total`; `what` is the text before the bar."""
        shown, last = False, self._clock()
        try:
            for done, item in enumerate(items):
                if self._shows and self._clock() - last >= _SECONDS:
                    self._write(what, done, total)
                    shown, last = True, self._clock()
                yield item
        finally:
            if shown:
                self._stream.write("\r\x1b[K")
                self._stream.flush()

    def _write(self, what, done, total):
        filled = _WIDTH * done // max(total, 1)
        bar = "#" * filled + "." * (_WIDTH - filled)
        self._stream.write("\r%s [%s] %d/%d\x1b[K" % (what, bar, done, total))
        self._stream.flush()

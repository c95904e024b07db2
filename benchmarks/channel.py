"""How the runner talks to a measuring process: requests on its stdin, answers on its stdout.

A request is a line `<measure> <seconds>`; an answer is a line of JSON. The first answer comes
unasked, when the process is ready, and lists its `measures`. End of input means stop. limit.cc
speaks the same.
"""

import json
import os
import sys


class Channel:
    """The measuring process's end. Whatever else the process prints goes to stderr."""

    def __init__(self):
        self._answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def ready(self, facts):
        self.answer(facts)

    def answer(self, values):
        self._answers.write(json.dumps(values) + "\n")
        self._answers.flush()

    def next_request(self):
        """(measure, seconds), or None when the runner has no more."""
        line = sys.stdin.readline()
        if not line.strip():
            return None
        measure, seconds = line.split()
        return measure, float(seconds)

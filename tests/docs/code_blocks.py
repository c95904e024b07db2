"""The Python in a document, to be run as a reader would."""

import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def python_blocks(document):
    """The ```python blocks of a document, in order."""
    with open(os.path.join(ROOT, document), encoding="utf-8") as file:
        return re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)


def run(blocks, **names):
    """Runs blocks one after the other in one namespace, which begins with `names`."""
    for block in blocks:
        exec(compile(block, "<document>", "exec"), names)
    return names

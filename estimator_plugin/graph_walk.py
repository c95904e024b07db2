"""Walks through a graph, against the direction of its data."""

_SOURCES = ("IteratorGetNext", "IteratorGetNextSync", "Placeholder", "PlaceholderWithDefault")


def ops_above(tensor):
    """The operations that `tensor` is computed by, as a set; `sources` of it end the walk."""
    seen, waiting = set(), [tensor.op]
    while waiting:
        op = waiting.pop()
        if op not in seen:
            seen.add(op)
            if op.type not in _SOURCES:
                waiting.extend(value.op for value in op.inputs)
    return seen


def sources(operations):
    """Those of `operations` that bring data from outside: of iterators, and placeholders."""
    return {op for op in operations if op.type in _SOURCES}

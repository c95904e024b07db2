"""Walks through a graph, against the direction of its data."""

_ITERATOR_OPS = ("IteratorGetNext", "IteratorGetNextSync")


def iterators_above(tensor):
    """The operations that took from an iterator what `tensor` is computed from, as a set."""
    found, seen, waiting = set(), set(), [tensor.op]
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.type in _ITERATOR_OPS:
            found.add(op)
        else:
            waiting.extend(value.op for value in op.inputs)
    return found

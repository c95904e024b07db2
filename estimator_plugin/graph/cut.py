"""The part of a graph that moves: operations, as a function of a batch."""

import tensorflow as tf

from . import survey

_READERS_KNOWN = 2


class Cut:
    """What moves behind one IteratorGetNext.

    Attributes:
      get_next: the IteratorGetNext operation.
      moved: dict of the operations that leave the training step, inputs first.
      outputs: list of tensors of `moved` that stay-behinds read.
      readers: dict from an operation of `moved` to the names of lookups that it works for: one, or
        two if there are more.
    """

    def __init__(self, get_next, moved, constants):
        self.get_next = get_next
        self.moved = moved
        self._constants = constants  # Copied into the function; those outside stay.
        self.readers = {}
        self.outputs = [
            tensor
            for op in moved
            for tensor in op.outputs
            if any(consumer not in moved for consumer in tensor.consumers())
        ]

    def graph_def(self):
        """The operations as a GraphDef; it reads the batch by the names of get_next's outputs.

        The names of operations say which lookups they work for, since an error shows them.
        """
        renamed = {op.name: self._name(op) for op in self.moved}
        graph_def = tf.compat.v1.GraphDef()
        graph_def.versions.CopyFrom(self.get_next.graph.graph_def_versions)
        for op in list(self._constants) + list(self.moved):
            node = graph_def.node.add()
            node.CopyFrom(op.node_def)
            node.name = renamed.get(op.name, op.name)
            node.device = ""
            node.attr.pop("_class", None)  # Colocation with what is not in the function.
            inputs = [name for name in node.input if name != "^" + self.get_next.name]
            del node.input[:]
            # The batch is there before the function runs.
            node.input.extend(_with_names(name, renamed) for name in inputs)
        return graph_def

    def apply(self, *batch):
        """`batch`, get_next's outputs in order, and then `outputs` of it."""
        read = {t.name for op in self.moved for t in op.inputs if t.op is self.get_next}
        names = [tensor.name for tensor in self.get_next.outputs]
        computed = tf.import_graph_def(
            self.graph_def(),
            input_map={name: part for name, part in zip(names, batch) if name in read},
            return_elements=["%s:%d" % (self._name(t.op), t.value_index) for t in self.outputs],
            name="",
        )
        return tuple(batch) + tuple(computed)

    def _name(self, op):
        readers = self.readers.get(op, ())
        if not readers:
            return op.name
        return "%s_for_%s%s" % (op.name, readers[0], "_and_more" if len(readers) > 1 else "")


def cuts(tensors, verdicts, orphans=(), adopter=None):
    """The Cuts that compute as much of `tensors` as can move, in order of first use.

    Args:
      tensors: iterable of tensors.
      verdicts: Survey.
      orphans: iterable of constant tensors that are to move as well.
      adopter: the IteratorGetNext operation that orphans move behind.
    """
    moved, constants = {}, {}
    for op in _ops_above(tensors, verdicts):
        verdict = verdicts.verdict(op)
        if verdict.blocker is None:
            (source,) = verdict.sources or (None,)
            target = constants if source is None else moved.setdefault(source, {})
            target[op] = True
    for op in _ops_above(orphans, verdicts):
        moved.setdefault(adopter, {})[op] = True
    found = [Cut(source, ops, _constants_of(ops, constants)) for source, ops in moved.items()]
    return [cut for cut in found if cut.outputs]


def say_readers(found, names):
    """Tells the Cuts `found` which lookups their operations work for.

    Args:
      names: dict from the name of a tensor to that of a lookup that wants it moved.
    """
    for part in found:
        for op in reversed(list(part.moved)):  # Those that read it come before it.
            readers = [names[t.name] for t in op.outputs if t.name in names]
            for tensor in op.outputs:
                for consumer in tensor.consumers():
                    readers += part.readers.get(consumer, ())
            part.readers[op] = sorted(set(readers))[:_READERS_KNOWN]


def _with_names(name, renamed):
    """The input `name` of a node, where operations are called as `renamed` says."""
    mark = "^" if name.startswith("^") else ""
    op, colon, index = name[len(mark) :].partition(":")
    return mark + renamed.get(op, op) + colon + index


def _ops_above(tensors, verdicts):
    """The operations that compute `tensors`, inputs first; the walk ends at what cannot move."""
    found, seen = [], set()
    waiting = [(tensor.op, False) for tensor in reversed(list(tensors))]
    while waiting:
        op, has_inputs = waiting.pop()
        if has_inputs:
            found.append(op)
        elif op not in seen and op.type not in survey.GET_NEXT:
            seen.add(op)
            waiting.append((op, True))
            if verdicts.verdict(op).blocker is not op:
                waiting += [(before, False) for before in survey.ops_before(op)]
    return found


def _constants_of(moved, constants):
    """Those of `constants` that `moved` are computed with."""
    found, waiting = {}, list(moved)
    while waiting:
        for op in survey.ops_before(waiting.pop()):
            if op in constants and op not in moved and op not in found:
                found[op] = True
                waiting.append(op)
    return found

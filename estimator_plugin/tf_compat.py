"""The only module that imports `tensorflow.python`: what has no public name in TensorFlow."""

from tensorflow.python.framework import op_def_registry, ops
from tensorflow.python.ops import resources
from tensorflow.python.training import saver as _saver
from tensorflow.python.training import warm_starting_util
from tensorflow.python.util import nest

try:
    from tensorflow.python.trackable import base as _trackable
except ImportError:  # Before TensorFlow 2.9.
    from tensorflow.python.training.tracking import base as _trackable

SaveableObject = _saver.BaseSaverBuilder.SaveableObject
SaveSpec = _saver.BaseSaverBuilder.SaveSpec
BulkSaverBuilder = _saver.BulkSaverBuilder

Trackable = _trackable.Trackable
VARIABLE_VALUE = _trackable.VARIABLE_VALUE_KEY

# TensorFlow 1.15 has it, without a public name.
executing_eagerly_outside_functions = ops.executing_eagerly_outside_functions

register_resource = resources.register_resource
shared_resources = resources.shared_resources
local_resources = resources.local_resources

warm_start = warm_starting_util.warm_start  # As it is before `patches` replaces it there.


def replace_create_op(handle, create_op):
    """Makes `create_op` what creates the resource that `register_resource` knows by `handle`."""
    for key in (ops.GraphKeys.RESOURCES, ops.GraphKeys.LOCAL_RESOURCES):
        registered = handle.graph.get_collection_ref(key)
        for i, resource in enumerate(registered):
            if resource.handle is handle:
                registered[i] = resource._replace(create=create_op)


def replace_initial_value(variable, value):
    """Makes `variable`, a resource variable of a graph, start from the tensor `value`."""
    variable._initial_value = value
    variable._initializer_op = variable.assign(value, read_value=False)


def saver_arguments(saver):
    """The keyword arguments that make a `tf.compat.v1.train.Saver` like `saver`."""
    return {
        "var_list": saver._var_list,
        "reshape": saver._reshape,
        "sharded": saver._sharded,
        "max_to_keep": saver._max_to_keep,
        "keep_checkpoint_every_n_hours": saver._keep_checkpoint_every_n_hours,
        "name": saver._name,
        "restore_sequentially": saver._restore_sequentially,
        "allow_empty": saver._allow_empty,
        "write_version": saver._write_version,
        "pad_step_number": saver._pad_step_number,
        "save_relative_paths": saver._save_relative_paths,
        "filename": saver._filename,
    }


def is_built(saver):
    """True when `saver` has added its ops to the graph."""
    return saver._is_built


def update_input(op, index, tensor):
    """Makes `tensor` input `index` of the operation `op`, which no session has run yet."""
    op._update_input(index, tensor)


def is_inside_control_flow(graph):
    """True in a function body of `graph`, and in a conditional or loop of it."""
    current = ops.get_default_graph()
    return current is not graph or current._get_control_flow_context() is not None


def repoint(old, new, but=()):
    """Makes what reads the tensor `old` read `new`, except for the operations `but`."""
    for consumer in old.consumers():
        if consumer not in but:
            for index, tensor in enumerate(consumer.inputs):
                if tensor is old:
                    update_input(consumer, index, new)


def any_depends_on(tensors, operations):
    """Whether a tensor is, or depends on, an output of one of `operations`, a set."""
    pending = [tensor.op for tensor in tensors]
    seen = set(pending)
    while pending:
        op = pending.pop()
        if op in operations:
            return True
        for before in [tensor.op for tensor in op.inputs] + op.control_inputs:
            if before not in seen:
                seen.add(before)
                pending.append(before)
    return False


def ops_after(operations):
    """The set of operations that wait, in whatever way, for one of `operations`."""
    seen, pending = set(), list(operations)
    while pending:
        op = pending.pop()
        for after in [x for out in op.outputs for x in out.consumers()] + op._control_outputs:
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return seen


def runs_where_ops_are_made(op):
    """True when a new operation of the default graph runs whenever `op` does: both are in the same
    graph and in the same branch of its tf.cond and tf.while_loop."""
    graph = ops.get_default_graph()
    here = graph._get_control_flow_context()
    return op.graph is graph and op._get_control_flow_context() is here


def add_control_input(op, before):
    """Makes the operation `op`, which no session has run yet, run after the operation `before`."""
    op._add_control_input(before)


def in_control_flow(op):
    """True when `op` is in a branch of a tf.cond or in the body of a tf.while_loop."""
    return op._get_control_flow_context() is not None


def calls_functions(op):
    """True when `op` runs a function: it has one as an attribute, or is a call of one."""
    if any(attr.type in ("func", "list(func)") for attr in op.op_def.attr):
        return True
    get = getattr(op_def_registry, "get", None) or op_def_registry.get_registered_ops().get
    return get(op.type) is None


def flatten_with_joined_string_paths(structure):
    """[("a/b", leaf), ...] of a nest, in the order of `tf.nest.flatten`."""
    return nest.flatten_with_joined_string_paths(structure)

"""Lookups and updates of tables that are spread over servers: one round trip a server and step.

The keys of all lookups that join an exchange go to the servers that own them, each key once; each
server answers with its rows, once; and the summed gradients go back the same way:

    worker   route_keys      keys of L lookups -> a request for each of S servers, and positions
    server   serve_lookup    request -> response; addresses and versions stay there
    worker   unpack_rows     all responses and one lookup's positions -> its embeddings
    worker   pack_gradients  gradients by position -> their sums, for each server
    server   serve_update    one optimizer update per row

Synchronous training has serve_accumulate and serve_apply_accumulated in place of serve_update.

A **position** is the place of a key among the distinct keys of its table in this exchange, those of
server 0 first; key -1 has position -1. Server s of S owns the buckets from s * num_buckets // S up
to (s + 1) * num_buckets // S of each table. The T tables of an exchange are numbered from 0; `dims`
and lists like it have one entry for each.
"""

import tensorflow as tf

from .library import load
from .op_inputs import int64_ids, row_or_zeros
from .usage_ops import tracking_attrs


def route_keys(now, keys, table_of, num_buckets, counted, num_servers, name=None):
    """Makes the requests to the servers.

    Args:
      now: scalar int64 tensor, the time of the step as the tables count it; 0 where nobody asks.
      keys: list of L int64 or int32 tensors of any shape.
      table_of: list of L ints, the table of each.
      num_buckets: list of T ints.
      counted: list of T bools, whether the server is told how often each key occurs.
      num_servers: int, S.
      name: optional name of the operation.

    Returns:
      (requests, positions): lists of S int64 vectors, and of L int64 tensors of the keys' shapes.
      The distinct keys of a request are in order of first appearance.

    Raises:
      TypeError: keys are of another dtype.
      ValueError: the lists do not fit each other, or a table has fewer buckets than there are
        servers.

    >>> requests, positions = route_keys(0, [[7, 9, 7]], [0], [64], [False], num_servers=1)
    >>> session.run(positions[0])
    array([0, 1, 0])
    """
    return load().ep_route_keys(
        tf.cast(now, tf.int64),
        [int64_ids(tensor, "keys") for tensor in keys],
        S=num_servers,
        table_of=table_of,
        num_buckets=num_buckets,
        counted=counted,
        name=name,
    )


def serve_lookup(handles, request, insert, tracked=None, name=None):
    """The rows of the keys of a request. Runs on the server that has the tables.

    Args:
      handles: list of T scalar resource tensors, the partitions of the tables on this server.
      request: int64 vector, from `route_keys`.
      insert: bool. Whether a key without a row gets one.
      tracked: None, or a dict from the number of a table to a dict of keyword arguments of
        `table_tracked_lookup`, from faae_coefficient on. Keys of these tables are counted, and have
        no row before they are admitted; time and occurrences are those of the request.
      name: optional name of the operation.

    Returns:
      (response, addresses, versions): float32 vector for `unpack_rows`; int64, the address of each
      key of the request, -1 for one without a row; int64 [T], numbers that go up with each
      `serve_apply_accumulated` on the table, and when its content is replaced.

    Raises:
      ValueError: tracked has an argument out of range.
      tf.errors.InvalidArgumentError: when run, the request is malformed, asks to insert a key of
        another server, or has a time or occurrences that `table_tracked_lookup` refuses.
      tf.errors.FailedPreconditionError: when run, a table is uninitialized.

    >>> response, addresses, versions = serve_lookup([handle], requests[0], insert=True)
    """
    tables = sorted(tracked or ())
    attrs = [tracking_attrs(**tracked[table]) for table in tables]
    return load().ep_serve_lookup(
        handles,
        request,
        insert=insert,
        tracked=tables,
        name=name,
        **{key: [each[key] for each in attrs] for key in tracking_attrs()},
    )


def unpack_rows(responses, requests, positions, default_row, anchor, table, dims, name=None):
    """The embeddings of one lookup.

    Args:
      responses: list of S float32 vectors, from `serve_lookup`.
      requests: list of S int64 vectors, what they answer.
      positions: int64 tensor of any shape, of the lookup, from `route_keys`.
      default_row: float32 vector of `dims[table]` values for keys that have no row; None: zeros.
      anchor: scalar float32 tensor that stands for the table: the gradient of the embeddings with
        respect to it is a tf.IndexedSlices over positions.
      table: int, the lookup's table.
      dims: list of T ints.
      name: optional name of the operation.

    Returns:
      float32 tensor of shape positions.shape + [dims[table]].

    Raises:
      ValueError: an argument does not fit the others.
      tf.errors.InvalidArgumentError: when run, a response or request is malformed, or a position is
        out of range.

    >>> embeddings = unpack_rows([response], requests, positions[0], None, anchor, 0, [2])
    """
    return load().ep_unpack_rows(
        responses,
        requests,
        positions,
        row_or_zeros(default_row),
        anchor,
        table=table,
        dims=dims,
        name=name,
    )


def pack_gradients(
    requests,
    positions,
    gradients,
    table_of,
    dims,
    table_names,
    on_non_finite="reject",
    name=None,
):
    """Sums the gradients of each key, and makes what goes to each server.

    The sums have the same bits as those that `table_apply_gradients` makes of the same segments.

    Args:
      requests: list of S int64 vectors, from `route_keys`.
      positions: list of M int64 tensors of any shape; -1 takes no update.
      gradients: list of M float32 tensors, positions.shape + [dim of its table].
      table_of: list of M ints, the table of each.
      dims: list of T ints.
      table_names: list of T strings, for error messages.
      on_non_finite: "reject" (default): a NaN or infinite gradient fails the op, so that no server
        gets any. "skip": they are sent; see `serve_update`.
      name: optional name of the operation.

    Returns:
      List of S float32 vectors, the sums of the keys that have gradients.

    Raises:
      ValueError: the lists do not fit each other, or gradients do not fit their positions.
      tf.errors.InvalidArgumentError: when run, a request is malformed, a position is out of range,
        or a gradient is not finite.

    >>> packed = pack_gradients(requests, positions, [tf.ones([3, 2])], [0], [2], ["user"])
    """
    return load().ep_pack_gradients(
        requests,
        positions,
        gradients,
        table_of=table_of,
        dims=dims,
        table_names=table_names,
        on_non_finite=on_non_finite,
        name=name,
    )


def serve_update(
    handles,
    hyperparameters,
    request,
    addresses,
    packed,
    rule,
    tables=None,
    on_non_finite="reject",
    name=None,
):
    """One optimizer update for each row that has a gradient. Runs on the server.

    Args:
      handles, request: as for `serve_lookup`.
      hyperparameters: float64 vector, in the rule's order; see `estimator_plugin.ops.update_ops`.
      addresses: int64 vector, from `serve_lookup` of the request. A key without a row (-1) drops
        its gradient.
      packed: float32 vector, from `pack_gradients`.
      rule: str, one of those of `estimator_plugin.ops.update_ops`.
      tables: list of ints, the tables that this update is for; None: all. Each gets the rule's
        slots, whether keys of it are here or not.
      on_non_finite: "reject" or "skip", as for `table_apply_gradients`.
      name: optional name of the operation.

    Returns:
      The operation.

    Raises:
      tf.errors.InvalidArgumentError: when run, an input is malformed or has gradients of other
        tables, or as `table_apply_gradients`.
      tf.errors.FailedPreconditionError: when run, a table is uninitialized.

    >>> session.run(serve_update([handle], [0.1, 0.0], requests[0], addresses, packed[0], "sgd"))
    """
    return load().ep_serve_update(
        handles,
        hyperparameters,
        request,
        addresses,
        packed,
        rule=rule,
        tables=_all_unless(tables, handles),
        on_non_finite=on_non_finite,
        name=name,
    )


def serve_accumulate(
    handles, request, addresses, versions, packed, tables=None, completes=None, name=None
):
    """Keeps one replica's sums until `serve_apply_accumulated` takes them. Runs on the server.

    Args:
      handles, request, addresses, packed, tables: as for `serve_update`.
      versions: int64 [T], from the `serve_lookup` that the gradients belong to. For a table that
        has been updated since, the sums are stale and dropped.
      completes: list of ints, the tables for which these are the replica's last sums of the step;
        None: all of `tables`. Of several exchanges that have gradients for a table the last does.
      name: optional name of the operation.

    Returns:
      bool tensor [number of `tables`]: whether the gradients count.

    Raises:
      As `serve_update`.

    >>> session.run(serve_accumulate([handle], requests[0], addresses, versions, packed[0]))
    """
    tables = _all_unless(tables, handles)
    return load().ep_serve_accumulate(
        handles,
        request,
        addresses,
        versions,
        packed,
        tables=tables,
        completes=tables if completes is None else completes,
        name=name,
    )


def serve_apply_accumulated(
    handles, hyperparameters, num_required, rule, on_non_finite="reject", name=None
):
    """Waits for the sums of enough replicas, then updates each row once by their mean.

    Args:
      handles: list of scalar resource tensors, tables or partitions on one server.
      hyperparameters, rule, on_non_finite: as for `serve_update`.
      num_required: scalar int64 tensor, at least 1: the replicas to wait for. All whose sums are in
        when the update begins count for the mean.
      name: optional name of the operation.

    Returns:
      The operation. It holds no thread while it waits.

    Raises:
      tf.errors.InvalidArgumentError: when run, num_required is less than 1, or as `serve_update`.
      tf.errors.CancelledError: the step was cancelled while it waited.
      tf.errors.AbortedError: a table's content was replaced while it waited, or another
        `serve_apply_accumulated` came to wait for its gradients.
      tf.errors.FailedPreconditionError: when run, a table is uninitialized.

    >>> session.run(serve_apply_accumulated([handle], [0.1, 0.0], 1, "sgd"))
    """
    return load().ep_serve_apply_accumulated(
        handles,
        hyperparameters,
        tf.cast(num_required, tf.int64),
        rule=rule,
        on_non_finite=on_non_finite,
        name=name,
    )


def _all_unless(tables, handles):
    return list(range(len(handles))) if tables is None else tables

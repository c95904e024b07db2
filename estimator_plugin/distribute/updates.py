"""Gradients on their way to tables on parameter servers: one message per server and exchange.

The worker sums the gradients of each key over all lookups and sends each server the sums of its
keys; a server knows the rows from the lookup of the same step, so no keys travel again.
"""

import collections

import tensorflow as tf

from ..ops import exchange_ops
from . import exchange

Push = collections.namedtuple(
    "Push",
    [
        "route",  # exchange.Route, whose requests the sums belong to.
        "tables",  # List of int, the tables among the route's that have gradients.
        "packed",  # List of float vectors, the sums for each server.
    ],
)


def pack(by_table, on_non_finite):
    """The sums of gradients of tables on parameter servers, ready to be sent.

    Args:
      by_table: dict from EmbeddingTable to a non-empty list of (addresses, gradients), as
        `segments_by_table` gives it.
      on_non_finite: "reject" or "skip"; a sum that is rejected fails before anything is sent.

    Returns:
      A list of Push.
    """
    groups = collections.OrderedDict()  # Exchanges of a table -> tables.
    for table in by_table:
        groups.setdefault(tuple(exchange.exchanges_of(table)), []).append(table)
    pushes = []
    for exchanges, tables in groups.items():
        for each in exchanges:
            each.is_open = False
        source = _Single(exchanges[0]) if len(exchanges) == 1 else _Merged(exchanges, tables)
        pushes.append(_pack(source, tables, by_table, on_non_finite))
    return pushes


def apply(pushes, hyperparameters, optimizer):
    """The operations that update the tables, each row once.

    Args:
      pushes: what `pack` gave.
      hyperparameters: float64 vector.
      optimizer: HashOptimizer.
    """
    sums = [tensor for push in pushes for tensor in push.packed]
    updates = []
    with tf.control_dependencies(sums if len(pushes) > 1 else []):  # All rows or none.
        for push in pushes:
            for i, server in enumerate(push.route.servers):
                with tf.device(server):
                    updates.append(
                        exchange_ops.serve_update(
                            push.route.handles(i),
                            hyperparameters,
                            push.route.requests[i],
                            push.route.served[i].addresses,
                            push.packed[i],
                            rule=optimizer.rule,
                            tables=push.tables,
                            on_non_finite=optimizer.on_non_finite,
                        )
                    )
    return updates


def accumulate(pushes):
    """The operations that add the sums to what the servers collect, in synchronous training."""
    made = []
    sums = [tensor for push in pushes for tensor in push.packed]
    with tf.control_dependencies(sums if len(pushes) > 1 else []):
        for push in pushes:
            for i, server in enumerate(push.route.servers):
                with tf.device(server):
                    served = push.route.served[i]
                    made.append(
                        exchange_ops.serve_accumulate(
                            push.route.handles(i),
                            push.route.requests[i],
                            served.addresses,
                            served.versions,
                            push.packed[i],
                            tables=push.tables,
                        )
                    )
    return made


def apply_accumulated(tables, hyperparameters, optimizer, num_required):
    """The operations that wait for `num_required` pushes and update `tables` by their mean."""
    by_servers = collections.OrderedDict()
    for table in tables:
        servers = tuple(partition.device for partition in table.partitions)
        by_servers.setdefault(servers, []).append(table)
    made = []
    for servers, group in by_servers.items():
        for i, server in enumerate(servers):
            with tf.device(server):
                made.append(
                    exchange_ops.serve_apply_accumulated(
                        [table.partitions[i].handle for table in group],
                        hyperparameters,
                        tf.constant(num_required, tf.int64),
                        rule=optimizer.rule,
                        on_non_finite=optimizer.on_non_finite,
                    )
                )
    return made


def _pack(source, tables, by_table, on_non_finite):
    route = source.route
    table_of, positions, gradients = [], [], []
    for table in tables:
        for addresses, values in by_table[table]:
            own = source.positions_of(table, addresses)
            table_of.append(route.tables.index(table))
            positions.append(_without_padding(table, own, source.padded_lookups(table)))
            gradients.append(values)
    with tf.device(tables[0].handle.device):
        packed = exchange_ops.pack_gradients(
            route.requests,
            positions,
            gradients,
            table_of=table_of,
            dims=route.dims(),
            table_names=[table.name for table in route.tables],
            on_non_finite=on_non_finite,
        )
    return Push(route, sorted(set(table_of)), packed)


class _Single:
    """Positions in the one exchange that some tables take part in."""

    def __init__(self, own):
        self.route = own.route
        self._exchange = own

    def padded_lookups(self, table):
        return [(keys, positions) for keys, positions, _ in self._exchange.lookups_of(table)]

    def positions_of(self, table, addresses):
        """The positions of what a user calls addresses."""
        for _, positions, known in self._exchange.lookups_of(table):
            if known is addresses:
                return positions
        # The addresses of exchange 0 are its positions.
        number = self._exchange.number
        return addresses if number == 0 else exchange.decode(addresses, number)


class _Merged:
    """Positions in a route made for the update of tables that take part in several exchanges.

    A key that was looked up in two of them gets one update of the sum, as in one process.
    """

    def __init__(self, exchanges, tables):
        self._exchanges = exchanges
        self._lookups = [
            (table, own, keys, positions, addresses)
            for own in exchanges
            for table in tables
            for keys, positions, addresses in own.lookups_of(table)
        ]
        answers = [served.response for own in exchanges for served in own.route.served]
        with tf.control_dependencies(answers), tf.device(tables[0].handle.device):
            # The lookups have given every key its row by now.
            keys = [(x[0], tf.identity(x[2])) for x in self._lookups]
            self.route = exchange.Route(keys, exchanges[0].servers, insert=False)
        self.route.served = [self._as_first_read(i) for i in range(len(self.route.servers))]

    def _as_first_read(self, server):
        """What the server found, with the versions that the rows had in the earliest lookup."""
        found = [(own.route.served[server].versions, own.route.tables) for own in self._exchanges]
        with tf.device(self.route.servers[server]):
            versions = tf.stack(
                [
                    tf.reduce_min([versions[tables.index(table)] for versions, tables in found])
                    for table in self.route.tables
                ]
            )
        return self.route.served[server]._replace(versions=versions)

    def padded_lookups(self, table):
        routed = zip(self._lookups, self.route.positions)
        return [(x[2], positions) for x, positions in routed if x[0] is table]

    def positions_of(self, table, addresses):
        """The positions of what a user calls addresses, of whichever exchange."""
        for x, routed in zip(self._lookups, self.route.positions):
            if x[4] is addresses:
                return routed
        parts = []
        for own in self._exchanges:
            there = [
                (x[3], routed)
                for x, routed in zip(self._lookups, self.route.positions)
                if x[0] is table and x[1] is own
            ]
            parts.append(_translate(exchange.decode(addresses, own.number), there))
        return tf.reduce_max(tf.stack(parts), axis=0)


def _translate(positions, pairs):
    """Positions of one route as those of another; `pairs` are tensors of both, in step."""
    old = tf.concat([tf.reshape(a, [-1]) for a, _ in pairs], axis=0)
    new = tf.concat([tf.reshape(b, [-1]) for _, b in pairs], axis=0)
    count = tf.reduce_max(tf.concat([old, [-1]], axis=0)) + 1
    # Entry 0 stands for -1; the others are moved up by one.
    new_of_old = tf.math.unsorted_segment_max(
        tf.concat([[tf.constant(-1, tf.int64)], new], axis=0),
        tf.concat([[tf.constant(0, tf.int64)], old + 1], axis=0),
        count + 1,
    )
    return tf.gather(new_of_old, positions + 1)


def _without_padding(table, positions, lookups):
    """`positions` with those of the table's padding keys struck out: they take no update."""
    if not table.padding_keys:
        return positions
    padding_keys = tf.constant(table.padding_keys, tf.int64)
    found = []
    for keys, own in lookups:
        is_padding = tf.reduce_any(tf.equal(tf.expand_dims(keys, -1), padding_keys), axis=-1)
        found.append(tf.boolean_mask(own, is_padding))
    padding = tf.unique(tf.concat(found, axis=0)).y
    is_padding = tf.reduce_any(tf.equal(tf.expand_dims(positions, -1), padding), axis=-1)
    return tf.where(is_padding, -tf.ones_like(positions), positions)

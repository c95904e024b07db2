"""One round trip per server and step for all lookups that can share it.

A lookup of a table on parameter servers makes ids unique and routes them on the worker
(`route_keys`), lets each server find its rows (`serve_lookup`), and takes the embeddings out of the
answers (`unpack_rows`). Whatever lookups do not depend on each other's results share these: joining
rebuilds the exchange with one lookup more and points the older lookups' outputs at it. What was
replaced is never run. A step that fetches one of the lookups looks all of them up.

    ids of lookup 0 --+              +-- server 0 --+              +--> embeddings of lookup 0
                      +-- route keys-+              +-- unpack ----+
    ids of lookup 1 --+              +-- server 1 --+              +--> embeddings of lookup 1

A *position* is the place of an id's key among the distinct keys of its table, -1 for key -1. It
takes the place that a row's address has in a table of this process. So that positions of several
exchanges can be told apart where gradients bring them together, a lookup's addresses carry the
number of its exchange in their upper half.
"""

import collections

import tensorflow as tf

from .. import constants, graph_state, tf_compat
from ..ops import exchange_ops, op_inputs

_ANCHOR_GRADIENT = "EstimatorPluginExchangeAnchor"
_POSITION_BITS = 32
_SAME_VALUE = ("Cast", "Identity", "ReadVariableOp")

Served = collections.namedtuple("Served", ["response", "addresses", "versions"])


class _Member:
    """A lookup that has joined: its inputs, and outputs that stay when the ops behind them go."""

    def __init__(self, table, keys, default_row, tracked):
        self.table = table
        self.keys = keys
        self.default_row = default_row
        self.rules = dict(tracked or {})
        self.now = self.rules.pop("now", None)
        self.embeddings = None  # float [n, dim], for the user.
        self.addresses = None  # int64 [n], for the user.
        self._positions = None

    def inputs(self):
        """The tensors that it needs before it can run."""
        return [self.keys, self.default_row] + ([] if self.now is None else [self.now])

    def point_at(self, positions, embeddings, number):
        """Makes the user's outputs those of new ops."""
        if self.embeddings is None:
            self.embeddings = tf.identity(embeddings, name="embeddings")
            self._positions = tf.identity(positions, name="positions")
            self.addresses = _encode(self._positions, number)
        else:
            tf_compat.update_input(self.embeddings.op, 0, embeddings)
            tf_compat.update_input(self._positions.op, 0, positions)


class Route:
    """Where the keys of some lookups go, and what the servers answer.

    Attributes:
      servers: tuple of device strings.
      tables: list of EmbeddingTables, in the order of the requests.
      routed: list of int64 vectors, one for each server: requests that do not know the time.
      requests: the same, with the time of the step.
      served: list of Served, one for each server.
      positions: list of int64 [n], one for each lookup.
    """

    def __init__(self, lookups, servers, insert, now=None, rules=None):
        """`lookups` are pairs of a table and int64 keys. Tables in the dict `rules` are tracked by
        them, at the time `now`."""
        self.servers = servers
        self.tables = []
        for table, _ in lookups:
            if table not in self.tables:
                self.tables.append(table)
        rules = rules or {}
        self.routed, self.positions = exchange_ops.route_keys(
            tf.zeros([], tf.int64),  # Routing is a function of the keys, and can move with them.
            [keys for _, keys in lookups],
            table_of=[self.tables.index(table) for table, _ in lookups],
            num_buckets=[table.num_buckets for table in self.tables],
            counted=[table in rules for table in self.tables],
            num_servers=len(servers),
        )
        self.requests = self.routed if now is None else [_stamped(r, now) for r in self.routed]
        tracked = {self.tables.index(table): of_table for table, of_table in rules.items()}
        self.served = []
        for i, server in enumerate(servers):
            with tf.device(server):
                served = exchange_ops.serve_lookup(
                    self.handles(i), self.requests[i], insert, tracked
                )
                self.served.append(Served(*served))

    def handles(self, server):
        """The resources of the tables on a server."""
        return [table.partitions[server].handle for table in self.tables]

    def dims(self):
        return [table.dim for table in self.tables]


class Exchange:
    """Lookups of tables on the same servers that are looked up together.

    Attributes:
      number: int, among the graph's exchanges.
      insert: bool, whether keys without a row get one.
      servers: tuple of device strings.
      is_open: bool, whether a lookup may join.
      now: int64 scalar, the time of all lookups that count their keys; None while none does.
      route: the Route of all lookups so far.
    """

    def __init__(self, number, insert, servers):
        self.number = number
        self.insert = insert
        self.servers = servers
        self.is_open = True
        self.now = None
        self.route = None
        self._members = []
        self._anchor_of = {}  # Table -> tensor that stands for it here; see `_anchor`.

    def join(self, member):
        """Rebuilds the exchange with one lookup more."""
        self._members.append(member)
        self.now = member.now if self.now is None else self.now
        if member.table not in self._anchor_of:
            self._anchor_of[member.table] = _anchor(member.table, self)
        rules = {m.table: m.rules for m in self._members if m.rules}
        lookups = [(m.table, m.keys) for m in self._members]
        route = Route(lookups, self.servers, self.insert, self.now, rules)
        for each, positions in zip(self._members, route.positions):
            embeddings = exchange_ops.unpack_rows(
                [served.response for served in route.served],
                route.requests,
                positions,
                each.default_row,
                self._anchor_of[each.table],
                table=route.tables.index(each.table),
                dims=route.dims(),
            )
            each.point_at(positions, embeddings, self.number)
        self.route = route

    def has_time_of(self, member):
        """Whether a request of this exchange can say what time it is for `member`."""
        if None in (self.now, member.now):
            return True
        return _origin(self.now) == _origin(member.now)

    def feeds(self, tensors):
        """Whether any of `tensors` depends on a result of this exchange."""
        return tf_compat.any_depends_on(tensors, {self.route.positions[0].op})

    def has_lookup(self, lookup):
        """Whether `lookup`, of lookup_registry, is one of this exchange."""
        return any(member.addresses is lookup.addresses for member in self._members)

    def has_anchor(self, op):
        """Whether `op` makes an anchor of this exchange."""
        return any(anchor.op is op for anchor in self._anchor_of.values())

    def lookups_of(self, table):
        """The lookups of a table: (keys, positions, addresses), all int64 [n]."""
        return [
            (member.keys, positions, member.addresses)
            for member, positions in zip(self._members, self.route.positions)
            if member.table is table
        ]


def look_up(table, keys, default_row, insert, tracked=None):
    """A lookup of a table on parameter servers.

    Args:
      table: EmbeddingTable that is distributed.
      keys: int64 vector of n keys.
      default_row: float32 [dim] for keys without a row, or None for zeros.
      insert: bool, whether a key without a row gets one.
      tracked: None, or what `tracking.arguments` gives: keys are counted, all lookups of the
        exchange together, and get their row when they are admitted.

    Returns:
      (embeddings, addresses): float32 [n, dim] and int64 [n].

    Raises:
      ValueError: it is inside a function body or a control-flow context.
    """
    if tf_compat.is_inside_control_flow(table.graph):
        raise ValueError(
            "table %r lives on parameter servers: a lookup inside a function body or a "
            "conditional (tf.map_fn, tf.cond, tf.function) is not possible; look the ids up "
            "outside" % table.name
        )
    # What the lookup has to wait for joins its ids, since the ops are made outside of it all.
    keys = tf.identity(keys, name="ids")
    default_row = op_inputs.row_or_zeros(default_row)
    member = _Member(table, keys, default_row, tracked)
    with tf.control_dependencies(None), tf.device(table.handle.device):
        _exchange_for(member, insert).join(member)
    return member.embeddings, member.addresses


def exchanges_of(table):
    """The exchanges that `table` takes part in, oldest first."""
    return [e for e in graph_state.of(table.graph).exchanges if table in e.route.tables]


def _exchange_for(member, insert):
    """The open exchange, or a new one where the lookup's inputs depend on its results."""
    known = graph_state.of(member.table.graph).exchanges
    servers = tuple(partition.device for partition in member.table.partitions)
    for exchange in known:
        if exchange.is_open and (exchange.insert, exchange.servers) == (insert, servers):
            if exchange.feeds(member.inputs()):
                exchange.is_open = False
            elif exchange.has_time_of(member):
                return exchange
    known.append(Exchange(len(known), insert, servers))
    return known[-1]


def _stamped(request, now):
    """`request` with `now` in its first word, where the time is."""
    return tf.concat([tf.reshape(tf.cast(now, tf.int64), [1]), request[1:]], axis=0)


def _origin(now):
    """What tells two times apart: their value if it is known, else the tensor or variable that they
    are taken from."""
    value = tf.get_static_value(now)
    if value is not None:
        return int(value)
    while now.op.type in _SAME_VALUE:
        now = now.op.inputs[0]
    return now.op.name, now.value_index


def _anchor(table, exchange):
    """The table's handle as `exchange` sees it.

    Gradients with respect to the handle pass through here on their way, and learn which exchange
    their positions are of. Nobody may join it any more: the positions would be others.
    """
    graph = table.graph
    with graph.gradient_override_map({"Identity": _ANCHOR_GRADIENT}):
        return tf.identity(table.handle, name="exchange_%d" % exchange.number)


@tf.RegisterGradient(_ANCHOR_GRADIENT)
def _anchor_gradient(op, gradient):
    exchange = next(e for e in graph_state.of(op.graph).exchanges if e.has_anchor(op))
    exchange.is_open = False
    return tf.IndexedSlices(gradient.values, _encode(gradient.indices, exchange.number))


def _encode(positions, number):
    """Positions with the number of their exchange in the upper half; -1 stays."""
    if number == 0:
        return tf.identity(positions, name="addresses")
    shifted = positions + tf.constant(number << _POSITION_BITS, tf.int64)
    absent = tf.equal(positions, constants.NO_ADDRESS)
    return tf.where(absent, positions, shifted, name="addresses")


def decode(addresses, number):
    """The positions in exchange `number` that `addresses` name; -1 for those of another one."""
    high = tf.bitwise.right_shift(addresses, tf.constant(_POSITION_BITS, tf.int64))
    low = tf.bitwise.bitwise_and(addresses, tf.constant((1 << _POSITION_BITS) - 1, tf.int64))
    return tf.where(tf.equal(high, number), low, -tf.ones_like(low))

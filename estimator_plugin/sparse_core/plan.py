"""The plan of an embedding: its stacks, with their tables and features, all known before any op."""

import collections

from .. import validate
from . import layout as layouts
from . import stacking
from .features import collected, tables_of
from .optimizers import rule_of


class Topology(collections.namedtuple("Topology", ["num_replicas", "num_sc_per_chip"])):
    """R replicas of C cores each: N = R * C shards.

    Raises:
      ValueError: a number is no int >= 1, or N is no power of two.
    """

    __slots__ = ()

    def __new__(cls, num_replicas, num_sc_per_chip):
        owner = "topology"
        replicas = validate.integer(owner, "num_replicas", num_replicas, 1, 1 << 20)
        cores = validate.integer(owner, "num_sc_per_chip", num_sc_per_chip, 1, 1 << 10)
        if replicas * cores & (replicas * cores - 1):
            validate.fail(
                owner,
                "num_replicas * num_sc_per_chip",
                replicas * cores,
                "a power of two (num_replicas is %d, num_sc_per_chip is %d)" % (replicas, cores),
            )
        return super().__new__(cls, replicas, cores)

    @property
    def num_shards(self):
        return self.num_replicas * self.num_sc_per_chip


# A feature in its stack: where its samples begin among the stack's, on one replica.
StackedFeature = collections.namedtuple("StackedFeature", ["feature", "sample_offset"])

# A table in its stack: a features.Table, its SparseCoreTableLayout, and its Placement.
StackedTable = collections.namedtuple("StackedTable", ["table", "layout", "placement"])


class Stack:
    """Tables that share a variable.

    Attributes:
      name: str.
      tables: list of StackedTable, by row offset.
      features: list of StackedFeature, in the order of the configuration.
      width, rows: ints, of the variable.
      sample_count: int, samples of all its features on one replica.
      optimizer: the optimizer of its tables.
      rule: its optimizers.Rule.
      quantization: (num_buckets, lower, upper) or None.
    """

    def __init__(self, name, tables, features):
        self.name = name
        self.tables = sorted(tables, key=lambda stacked: stacked.placement.row_offset)
        self.features = []
        offset = 0
        for feature in features:
            self.features.append(StackedFeature(feature, offset))
            offset += feature.samples
        self.sample_count = offset
        first = self.tables[0]
        self.width = first.placement.width
        self.rows = first.placement.num_shards * first.placement.shard_rows
        self.optimizer = first.table.optimizer
        self.rule = rule_of(first.table.owner, self.optimizer)
        config = first.table.quantization_config
        self.quantization = None
        if config is not None:
            self.quantization = (config.num_buckets, config.lower, config.upper)

    def table_of(self, name):
        """The StackedTable of a table's name."""
        return next(stacked for stacked in self.tables if stacked.table.name == name)


class Plan:
    """All of an embedding but its variables.

    Attributes:
      topology: Topology.
      features: list of features.Feature, in the order of `tf.nest.flatten`.
      stacks: OrderedDict stack name -> Stack.
      layouts: OrderedDict table name -> SparseCoreTableLayout.
    """

    def __init__(self, feature_config, optimizer, topology, disable_stacking):
        self.topology = topology
        self.features = collected(feature_config, optimizer, topology.num_sc_per_chip)
        tables = tables_of(self.features)
        for table in tables:
            rule_of(table.owner, table.optimizer)
        self.layouts = self._given(tables)
        self._given_tables = set(self.layouts)
        self._given_stacks = {layout.stacked_table_name for layout in self.layouts.values()}
        for layout in self._stacked(tables, disable_stacking):
            self.layouts[layout.table_name] = layout
        self._check_names()
        self.stacks = self._made(tables)

    def stack_of(self, table_name):
        """The Stack of a table.

        Raises:
          ValueError: there is no such table.
        """
        if table_name not in self.layouts:
            wanted = "one of " + ", ".join(sorted(self.layouts))
            validate.fail("embedding", "table", table_name, wanted)
        return self.stacks[self.layouts[table_name].stacked_table_name]

    def _given(self, tables):
        by_name = sorted(tables, key=lambda table: table.name)
        given = [table.layout for table in by_name if table.layout is not None]
        stacks = collections.OrderedDict()
        for layout in given:
            stacks.setdefault(layout.stacked_table_name, []).append(layout)
        for stack in stacks.values():
            layouts.check_stack(stack, self.topology.num_shards)
        return collections.OrderedDict((layout.table_name, layout) for layout in given)

    def _stacked(self, tables, disable_stacking):
        samples = collections.Counter()
        for feature in self.features:
            samples[feature.table.name] += feature.samples
        groups = []  # Optimizers, each equal to none before it.
        requests = []
        for table in sorted(tables, key=lambda table: table.name):
            if table.layout is None:
                if table.optimizer not in groups:
                    groups.append(table.optimizer)
                group = (groups.index(table.optimizer), repr(table.quantization_config))
                requests.append(
                    stacking.TableRequest(
                        table.name, table.vocabulary_size, table.dim, group, samples[table.name]
                    )
                )
        limits = stacking.limits_from_environment()
        if disable_stacking:
            limits = limits._replace(disable_stacking=True)
        replicas, cores = self.topology
        return stacking.stacked(requests, replicas, cores, limits)

    def _check_names(self):
        """`a` and `b` stack as `a_b`, which may be the name of a table, too."""
        members = collections.OrderedDict()
        for layout in self.layouts.values():
            members.setdefault(layout.stacked_table_name, []).append(layout.table_name)
        for stack_name, names in members.items():
            given = stack_name in self._given_stacks
            stacked = [name for name in names if name not in self._given_tables]
            if stacked and (given or "_".join(stacked) != stack_name):
                raise ValueError(
                    "feature_config: two stacks would be named %r, of the tables %s; rename one"
                    % (stack_name, ", ".join(sorted(names)))
                )

    def _made(self, tables):
        table_of_name = {table.name: table for table in tables}
        tables_of_stack = collections.OrderedDict()
        for name, layout in self.layouts.items():
            stacked = StackedTable(table_of_name[name], layout, layouts.placement_of(layout))
            tables_of_stack.setdefault(layout.stacked_table_name, []).append(stacked)
        stacks = collections.OrderedDict()
        for name, stacked in tables_of_stack.items():
            members = {id(s.table) for s in stacked}
            features = [f for f in self.features if id(f.table) in members]
            _check_alike(name, [s.table for s in stacked])
            stacks[name] = Stack(name, stacked, features)
        return stacks


def _check_alike(stack_name, tables):
    """Given layouts may put tables together that cannot be updated together."""
    for table in tables[1:]:
        for argument in ("optimizer", "quantization_config"):
            first, value = getattr(tables[0], argument), getattr(table, argument)
            if first != value and repr(first) != repr(value):
                wanted = "as of table %r, whose stack %r it shares" % (tables[0].name, stack_name)
                validate.fail(table.owner, argument, value, wanted)

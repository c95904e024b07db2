"""The plan alone: names in, names out."""

import pytest

from estimator_plugin.warm_start import plan, settings

GRAPH = plan.GraphNames(
    tables=["user", "user_linear", "item"],
    trainable=["user_tower/kernel:0", "bias:0"],
    variables=["global_step:0", "user_tower/kernel:0", "bias:0", "bias/Adam:0", "norm/mean:0"],
    trains=True,
)
CHECKPOINT = plan.CheckpointNames(
    prefix="/old/model.ckpt-1",
    tables=["user", "item", "member"],
    tensors=["user_tower/kernel", "bias", "bias/Adam", "norm/mean", "global_step"],
)


def planned(variables, previous=None, graph=GRAPH):
    (source,) = settings.sources_of("/old", variables, None, previous)
    patterns = [variables] if isinstance(variables, str) else variables
    return plan.plan_patterns(patterns, source, graph, CHECKPOINT)


@pytest.mark.parametrize(
    "variables, tables, names",
    [
        (".*", ["user", "item"], ["user_tower/kernel:0", "bias:0"]),
        ([".*"], ["user", "item"], list(GRAPH.variables)),
        ("user", ["user"], []),
        ("user.*", ["user"], ["user_tower/kernel:0"]),
        ("use", ["user"], ["user_tower/kernel:0"]),
        ("ser", None, None),
        (["item", "bias"], ["item"], ["bias:0", "bias/Adam:0"]),
        (["norm/mean"], [], ["norm/mean:0"]),
        ("norm/mean", None, None),
        (["user", "user", "us.r$"], ["user"], []),
        ("item|user$", ["user", "item"], []),
    ],
)
def test_what_a_pattern_means(variables, tables, names):
    if tables is None:
        with pytest.raises(ValueError, match="matches nothing"):
            planned(variables)
        return
    made = planned(variables)
    assert dict(made.tables) == {table: table for table in tables}
    assert made.variables == names


def test_tables_that_the_checkpoint_lacks_are_noted():
    assert planned(".*").notes == [
        "table 'user_linear' starts fresh: /old/model.ckpt-1 has no table of that name"
    ]


def test_previous_names_are_divided():
    made = planned(".*", {"user": "member", "bias": "old_bias"})
    assert made.tables["user"] == "member"
    assert made.previous_names == {"bias": "old_bias"}


def test_a_graph_that_does_not_train_may_lack_what_a_pattern_names():
    graph = GRAPH._replace(variables=["bias:0"], trains=False)
    made = planned(["bias", "norm/mean"], graph=graph)
    assert made.variables == ["bias:0"] and made.notes == ["'norm/mean' is nothing in this graph"]
    with pytest.raises(ValueError, match="'nothing' matches nothing"):
        planned(["bias", "nothing"], graph=graph)


def test_sources_of_lists():
    without = settings.WithoutSlots("b")
    sources = settings.sources_of(("a", without), ["user", ("x", "y")], None, [{}, {"x": "z"}])
    assert [s.path for s in sources] == ["a", "b"]
    assert [s.with_slots for s in sources] == [True, False]
    assert [s.variables for s in sources] == ["user", ["x", "y"]]
    assert [s.previous_names for s in sources] == [{}, {"x": "z"}]


def test_what_is_not_given_holds_for_each_path():
    sources = settings.sources_of(["a", "b"])
    assert [s.variables for s in sources] == [".*", ".*"]

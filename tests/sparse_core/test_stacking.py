"""Which tables share a variable and where they lie, against TensorFlow's own stacker."""

import pytest

from estimator_plugin.sparse_core import layout, stacking
from tests.sparse_core import cases

_CASES = cases.load("layout_cases.json")["cases"]


def _limits(case):
    names = {"act": "activation_bytes", "var": "shard_bytes"}
    given = {field: case[key] for key, field in names.items() if case.get(key) is not None}
    return stacking.DEFAULT_LIMITS._replace(**given)


def _fields(made):
    # The cases leave zeros out, as the wire does.
    return {
        field.name: list(value)
        if isinstance(value, (list, tuple)) or "shape" in field.name
        else value
        for field, value in made.ListFields()
    }


def _request(table):
    name, rows, columns, group, samples = table
    return stacking.TableRequest(name, rows, columns, group, samples)


@pytest.mark.parametrize("case", _CASES, ids=[str(i) for i in range(len(_CASES))])
def test_layouts_are_those_of_the_genuine_stacker(case):
    requests = [_request(table) for table in case["tables"]]
    made = stacking.stacked(requests, case["P"], case["S"], _limits(case))
    wanted = [{k: v for k, v in each.items() if v != 0} for each in case["layouts"]]
    assert [_fields(each) for each in made] == wanted


def test_every_table_gets_a_stack_of_its_own_when_stacking_is_off():
    limits = stacking.DEFAULT_LIMITS._replace(disable_stacking=True)
    requests = [_request(["table1", 100, 6, "g", 10]), _request(["table2", 50, 5, "g", 10])]
    made = stacking.stacked(requests, 2, 4, limits)
    assert [each.stacked_table_name for each in made] == ["table1", "table2"]
    assert [each.total_rows_per_sparse_core_shard for each in made] == [16, 8]
    assert [each.sparse_core_shard_row_offset for each in made] == [0, 0]
    assert [each.sparse_core_shard_rotation for each in made] == [0, 0]


def test_tables_stack_in_the_order_given():
    made = stacking.stacked(
        [_request(["z", 10, 8, "g", 16]), _request(["a", 20, 8, "g", 16])], 2, 4
    )
    placed = [
        (each.table_name, each.sparse_core_shard_row_offset, each.sparse_core_shard_rotation)
        for each in made
    ]
    assert placed == [("z", 0, 0), ("a", 8, 4)]


def test_three_chips_are_for_the_topology_to_refuse():
    made = stacking.stacked(
        [_request(["a", 100, 8, "g", 16]), _request(["b", 100, 8, "g", 16])], 3, 4
    )
    assert [each.sparse_core_shard_row_offset for each in made] == [0, 16]
    assert [list(each.unsharded_padded_shape) for each in made] == [[192, 8], [192, 8]]


def test_activation_memory_must_stay_below_the_limit():
    def stacks(samples_of_b):
        requests = [
            _request(["a", 32, 128, "g", 8192]),
            _request(["b", 32, 128, "g", samples_of_b]),
        ]
        return [each.stacked_table_name for each in stacking.stacked(requests, 1, 4)]

    assert stacks(8188) == ["a_b", "a_b"]
    assert stacks(8192) == ["a", "b"]


def test_limits_of_the_environment(monkeypatch):
    monkeypatch.setenv(
        "TF_XLA_FLAGS",
        "--tf_xla_sparse_core_stacking_mem_limit_bytes=7 --tf_xla_auto_jit=2 "
        "--tf_xla_sparse_core_stacking_table_shard_limit_bytes=9 "
        "--tf_xla_sparse_core_disable_table_stacking=true",
    )
    assert stacking.limits_from_environment() == stacking.Limits(7, 9, True)


def test_limits_of_the_environment_are_ints(monkeypatch):
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_sparse_core_stacking_mem_limit_bytes=much")
    with pytest.raises(ValueError, match="stacking_mem_limit_bytes must be an int, got 'much'"):
        stacking.limits_from_environment()


def test_layouts_of_a_genuine_checkpoint_parse_and_serialize_to_the_same_bytes():
    import tensorflow as tf

    path, _ = cases.checkpoint("stacked_2x2")
    reader = tf.train.load_checkpoint(path)
    data = reader.get_tensor("model/_sparse_core_table_layouts/.ATTRIBUTES/VARIABLE_VALUE")
    parsed = layout.parsed(data)
    assert list(parsed) == ["abe", "mid", "zed"]
    assert parsed["mid"].sparse_core_shard_rotation == 2
    assert parsed["mid"].sparse_core_shard_row_offset == 16
    assert tuple(parsed["mid"].unsharded_shape) == (9, 3)
    assert layout.serialized(parsed.values()) == data


def test_layouts_are_read_while_a_graph_runs():
    import tensorflow as tf

    made = stacking.stacked(
        [_request(["a", 20, 8, "g", 16]), _request(["b", 40, 5, "g", 16])], 2, 2
    )
    fields = layout.decoded(tf.constant(layout.serialized(made)))
    with tf.compat.v1.Session() as session:
        values = session.run(fields)
    assert values["table_name"].tolist() == [b"a", b"b"]
    assert values["sparse_core_shard_row_offset"].tolist() == [0, 8]
    assert values["sparse_core_shard_rotation"].tolist() == [0, 2]
    assert values["unsharded_shape"].tolist() == [[20, 8], [40, 5]]

"""One update of a row by each rule against TensorFlow's own: data/optimizer_cases.json."""

import json
import os

import numpy as np
import pytest

from estimator_plugin.ops import sparse_core_ops as ops
from tests.sparse_core import ops_testing as t

_DATA = os.path.join(os.path.dirname(__file__), "data")


def _cases():
    with open(os.path.join(_DATA, "optimizer_cases.json")) as stream:
        cases = json.load(stream)
    return [pytest.param(case, id="%s-%d" % (case["optimizer"], i)) for i, case in enumerate(cases)]


def _rule(optimizer, rate, attrs):
    """The rule of a case, and its hyperparameters."""
    if optimizer == "sgd":
        return "sgd", [rate, 0]
    if optimizer == "adagrad":
        return "adagrad", [rate, 0, 0.1]
    if optimizer == "adagrad_momentum":
        names = ("beta1", "use_nesterov", "exponent", "beta2", "epsilon")
        return "adagrad_momentum", [rate] + [float(attrs[name]) for name in names]
    if optimizer == "adam":
        rule = "adam_sum_inside_sqrt" if attrs["use_sum_inside_sqrt"] else "adam"
        return rule, [rate, attrs["beta1"], attrs["beta2"], attrs["epsilon"], 0, 0]
    rule = "ftrl_multiply_linear" if attrs["multiply_linear_by_learning_rate"] else "ftrl"
    names = ("learning_rate_power", "l1_regularization_strength", "l2_regularization_strength")
    return rule, [rate] + [attrs[name] for name in names] + [0, 0.1, attrs["beta"]]


def _one_row(row):
    """A variable of eight rows; the one that is updated is row 3."""
    rows = np.full([8, len(row)], 0.5)
    rows[3] = row
    return t.variable(rows)


@pytest.mark.parametrize("case", _cases())
def test_a_row_of_each_rule(case):
    slots = list(case["slots"])
    csr = t.preprocess(
        [{"ids": [3], "samples": 1}], num_sc_per_chip=1, max_ids_per_chip_per_sample=8
    )
    variables = [_one_row(case["row"])] + [_one_row(case["slots"][slot]) for slot in slots]
    rule, hyperparameters = _rule(case["optimizer"], case["learning_rate"], case["attrs"])
    update = ops.sparse_core_apply_gradient(
        csr,
        t.floats([case["gradient"]]),
        variables[0].handle,
        [variable.handle for variable in variables[1:]],
        hyperparameters,
        rule=rule,
        num_replicas=1,
        num_sc_per_chip=1,
        clip_weight_min=case["attrs"].get("clip_weight_min"),
        clip_weight_max=case["attrs"].get("clip_weight_max"),
        table_name="user",
    )
    results = t.run_then(update, variables)
    expected = [case["updated_row"]] + [case["updated_slots"][slot] for slot in slots]
    for result, row in zip(results, expected):
        np.testing.assert_allclose(result[3], row, rtol=2e-6, atol=1e-6)
        assert (np.delete(result, 3, axis=0) == 0.5).all()

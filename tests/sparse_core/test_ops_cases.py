"""The ops that make CSR buffers give what TensorFlow's own kernels gave: data/ops_cases.json.

A case has an operation, its inputs and attributes, and what came out, or the class of the error.
"""

import json
import os

import numpy as np
import pytest
import tensorflow as tf

from estimator_plugin.ops import sparse_core_ops as ops

_DATA = os.path.join(os.path.dirname(__file__), "data")


def _cases(op):
    with open(os.path.join(_DATA, "ops_cases.json")) as stream:
        cases = json.load(stream)["cases"]
    return [pytest.param(case, id=case["name"]) for case in cases if case["op"] == op]


def _ints(value):
    return np.array(value, np.int32)


def _all_ints(values):
    return [_ints(value) for value in values]


def _all_floats(values):
    return [np.array(value, np.float32) for value in values]


def _run(tensors):
    with tf.compat.v1.Session() as session:
        return session.run(tensors)


def _check(case, make):
    """Runs what `make` makes and compares it with the case's result by name, or its error."""
    if "error" in case:
        with pytest.raises(getattr(tf.errors, case["error"])):
            _run(make())
        return
    result = _run(make())
    for name, expected in case["ok"].items():
        values = result[name]
        if isinstance(values, list):
            assert [v.tolist() for v in values] == expected, name
        else:
            np.testing.assert_array_equal(values, expected, err_msg=name)


@pytest.mark.parametrize("case", _cases("convert"))
def test_convert(case):
    splits, values, weights = case["args"]
    attrs = dict(case["attrs"])
    attrs.setdefault("stacked_table_sample_count", attrs["sample_count"])

    def make():
        names = ("row_ids_list", "col_ids_list", "gains_list")
        lists = ops.sparse_core_convert(
            _ints(splits), _ints(values), np.array(weights, np.float32), **attrs
        )
        return dict(zip(names, lists))

    if "gains_list" in case.get("ok", {}):  # Written with more digits than a float has.
        case["ok"]["gains_list"] = [
            np.array(gains, np.float32).tolist() for gains in case["ok"]["gains_list"]
        ]
    if case["name"] == "err weight rank":  # Found when the graph is made.
        with pytest.raises(ValueError, match="rank"):
            make()
    else:
        _check(case, make)


def _sort_inputs(case):
    rows, cols, gains = case["args"]
    return _all_ints(rows), _all_ints(cols), _all_floats(gains)


@pytest.mark.parametrize("case", _cases("sort"))
def test_sort(case):
    def make():
        result = ops.sparse_core_sort(*_sort_inputs(case), table_name="user", **case["attrs"])
        return dict(zip(("sorted_row_ids", "sorted_col_ids", "sorted_gains", "id_counts"), result))

    _check(case, make)


@pytest.mark.parametrize("case", _cases("stats"))
def test_stats(case):
    def make():
        result = ops.sparse_core_stats(*_sort_inputs(case), table_name="user", **case["attrs"])
        return dict(zip(("max_ids", "max_unique_ids"), result))

    _check(case, make)


def _pack(case):
    rows, cols, gains, counts = case["args"]
    attrs = dict(case["attrs"])
    return ops.sparse_core_pack(
        _all_ints(rows),
        _all_ints(cols),
        _all_floats(gains),
        _all_ints(counts),
        attrs.pop("splits", 0),
        num_sc_per_chip=len(rows),
        table_vocab_size=64,
        feature_width=8,
        table_name="user",
        **attrs,
    )


@pytest.mark.parametrize("case", _cases("csr"))
def test_pack(case):
    def make():
        csr = _pack(case)
        result = csr._asdict()
        used = csr.row_pointers_unpadded_size, csr.ids_unpadded_size
        result["row_pointers"] = csr.row_pointers[: used[0]]
        for name in ("sorted_sample_ids", "sorted_token_ids", "sorted_gains"):
            result[name] = getattr(csr, name)[: used[1]]
        result["row_pointers_size"] = tf.size(csr.row_pointers)
        result["ids_size"] = tf.size(csr.sorted_token_ids)
        return result

    case.get("ok", {}).pop("dtypes", None)
    _check(case, make)


@pytest.mark.parametrize("case", [case for case in _cases("csr") if "ok" in case.values[0]])
def test_pack_fills_what_is_not_in_use(case):
    csr = _run(_pack(case))
    used = csr.ids_unpadded_size
    assert used < csr.sorted_gains.size or "drop" in case["name"]
    assert (csr.row_pointers[csr.row_pointers_unpadded_size :] == used).all()
    assert (csr.sorted_sample_ids[used:] == 2**31 - 1).all()
    assert (csr.sorted_token_ids[used:] == 2**31 - 1).all()
    assert (csr.sorted_gains[used:] == 2.0**31).all()

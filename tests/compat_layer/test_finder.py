"""The import layer: what it answers for, what it leaves alone, and how it ends."""

import importlib
import sys
import types

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.compat import finder, install, names, uninstall
from tests.plugin import support


@pytest.fixture(autouse=True)
def layer():
    install()
    yield
    uninstall()


def test_names_are_the_plugins():
    from mx_rec.constants.constants import ASCEND_SPARSE_LOOKUP_LOCAL_EMB
    from mx_rec.core.embedding import create_table, sparse_lookup
    from mx_rec.optimizers import lazy_adam
    from mx_rec.util.initialize import terminate_config_initializer
    from mx_rec.util.variable import get_dense_and_sparse_variable

    assert create_table is ep.create_table and sparse_lookup is ep.sparse_lookup
    assert lazy_adam.create_hash_optimizer is ep.optimizers.lazy_adam.create_hash_optimizer
    assert terminate_config_initializer is ep.terminate_config_initializer
    assert get_dense_and_sparse_variable is ep.get_dense_and_sparse_variable
    assert ASCEND_SPARSE_LOOKUP_LOCAL_EMB == "ASCEND_SPARSE_LOOKUP_LOCAL_EMB"
    assert importlib.import_module("mx_rec").__version__ == ep.__version__


def test_every_module_of_the_table_can_be_imported():
    for name in names.MODULES:
        assert importlib.import_module(name).__name__ == name


def test_star_imports_take_what_exists():
    scope = {}
    exec("from npu_bridge.npu_init import *", scope)
    assert {"NPUEstimator", "NPURunConfig", "npu_hooks_append", "hccl_ops"} <= set(scope)
    scope = {}
    exec("from mx_rec.core.embedding import *", scope)
    assert {"create_table", "sparse_lookup"} <= set(scope)


def test_both_homes_of_the_adapter_are_one():
    import npu_device
    from npu_bridge.estimator.npu.npu_config import NPURunConfig
    from npu_bridge.estimator.npu.npu_estimator import NPUEstimator
    from npu_device.compat.v1.npu_init import NPUEstimator as NPUEstimator2
    from tf_adapter import NPURunConfig as NPURunConfig2

    assert NPUEstimator is NPUEstimator2 and NPURunConfig is NPURunConfig2
    assert callable(npu_device.compat.enable_v1)


def test_hccl_ops_by_all_their_paths():
    from mx_rec.util.tf_version_adapter import hccl_ops as documented
    from npu_bridge.hccl import hccl_ops
    from rec_sdk_common.util.tf_adapter import hccl_ops as of_common

    assert documented is of_common
    assert hccl_ops.allreduce is documented.allreduce
    with tf.compat.v1.Session() as session:
        value = tf.constant([1.0, 2.0])
        assert session.run(hccl_ops.allreduce(value, "sum")).tolist() == [1.0, 2.0]
        assert session.run(hccl_ops.broadcast([value], 0))[0].tolist() == [1.0, 2.0]
        assert session.run(hccl_ops.allgather(value, 1)).tolist() == [1.0, 2.0]
        assert session.run(hccl_ops.reduce(value, "max", 0)).tolist() == [1.0, 2.0]
        assert session.run(hccl_ops.reduce_scatter(value, "sum", 1)).tolist() == [1.0, 2.0]
        assert session.run(tf.gradients(hccl_ops.allreduce(value, "sum"), value))[0][0] == 1.0
    with pytest.raises(ValueError, match="allreduce: reduction must be one of sum, prod, max, min"):
        hccl_ops.allreduce(value, "mean")
    with pytest.raises(ValueError, match="allgather: rank_size must be 1, got 8"):
        hccl_ops.allgather(value, 8)


@pytest.mark.parametrize(
    "statement, message",
    [
        ("from mx_rec.core.embedding import EmbeddingFactory", "of mx_rec.core.embedding: create_"),
        ("import mx_rec.core.emb", "mx_rec.core.emb is not supported by estimator_plugin"),
        ("from mx_rec.core import emb", "what it has of mx_rec.core: asc, embedding"),
        ("from mx_rec.graph.patch import x", "what it has of mx_rec.graph: .*hooks, merge_lookup"),
        ("import npu_bridge.tbe.npu_cube_ops", "npu_bridge.tbe is not supported"),
        ("from npu_bridge.npu_init import keras_to_npu", "of npu_bridge.npu_init: .*NPUEstimator"),
        ("import mx_rec; mx_rec.HybridMgmt", "mx_rec.HybridMgmt is not supported"),
    ],
)
def test_what_is_not_supported_says_so(statement, message):
    with pytest.raises(ImportError, match=message):
        exec(statement, {})


def test_a_name_works_as_soon_as_the_plugin_has_it(monkeypatch):
    place = names.MODULES["mx_rec.core.embedding"]
    monkeypatch.setitem(place, "later", "estimator_plugin:of_another_day")
    with pytest.raises(ImportError, match="mx_rec.core.embedding.later is not supported"):
        exec("from mx_rec.core.embedding import later", {})
    monkeypatch.setattr(ep, "of_another_day", 7, raising=False)
    scope = {}
    exec("from mx_rec.core.embedding import later", scope)
    assert scope["later"] == 7
    monkeypatch.setitem(place, "nowhere", "estimator_plugin.of_another_day.module:name")
    with pytest.raises(ImportError, match="mx_rec.core.embedding.nowhere is not supported"):
        exec("from mx_rec.core.embedding import nowhere", {})


def test_modules_answer_what_python_asks_of_modules():
    module = importlib.import_module("mx_rec.util.initialize")
    assert not hasattr(module, "__file__") and not hasattr(module, "_private")
    assert "ConfigInitializer" in dir(module)
    assert importlib.util.find_spec("mx_rec.util.initialize").name == "mx_rec.util.initialize"


@pytest.mark.parametrize("package", names.STAND_INS)
def test_what_is_installed_is_never_shadowed(package, tmp_path, monkeypatch):
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("REAL = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        assert importlib.import_module(package).REAL == 1
        inner = next((n for n in names.MODULES if n.startswith(package + ".")), package + ".x")
        with pytest.raises(ModuleNotFoundError, match="No module named '%s" % package):
            importlib.import_module(inner)
    finally:
        sys.modules.pop(package)


def test_a_module_beside_the_program_is_not_shadowed(tmp_path, monkeypatch):
    (tmp_path / "tf_adapter.py").write_text("from npu_bridge.npu_init import NPURunConfig\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from tf_adapter import NPURunConfig

    assert NPURunConfig.__module__ == "estimator_plugin.compat.npu.run_config"
    assert sys.modules.pop("tf_adapter").__file__ == str(tmp_path / "tf_adapter.py")


def test_an_mx_rec_that_is_imported_already_is_refused(monkeypatch):
    uninstall()
    other = types.ModuleType("mx_rec")
    other.__file__ = "/opt/mx_rec/__init__.py"
    monkeypatch.setitem(sys.modules, "mx_rec", other)
    with pytest.raises(ImportError, match="mx_rec has been imported from /opt/mx_rec/__init__.py"):
        install()


def test_uninstall_leaves_nothing_behind():
    importlib.import_module("mx_rec.core.embedding")
    importlib.import_module("npu_bridge.npu_init")
    install()
    uninstall()
    uninstall()
    assert not [m for m in sys.meta_path if isinstance(m, finder.Finder)]
    assert not [m for m in sys.modules.values() if isinstance(m, finder.LayerModule)]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("mx_rec.core.embedding")


def test_the_layer_is_there_by_one_import_and_changes_nothing_of_tensorflow():
    program = """
import tensorflow as tf
from tensorflow.python.training import saver, warm_starting_util
watched = [
    (tf.compat.v1.train.Saver, "save"), (warm_starting_util, "warm_start"),
    (tf.compat.v1.train, "warm_start"), (tf.compat.v1.Session, "__init__"),
    (tf.compat.v1.Session, "run"), (tf.compat.v1.estimator.Estimator, "train"),
    (tf.compat.v1.estimator.Estimator, "__init__"), (tf.compat.v1.data.Dataset, "__init__"),
]
before = [getattr(*place) for place in watched]
import estimator_plugin.compat.mx_rec
from mx_rec.core.embedding import create_table
from npu_bridge.npu_init import *
assert [getattr(*place) for place in watched] == before
print(create_table.__module__, tf.executing_eagerly())
"""
    assert support.run_program(program).split() == ["estimator_plugin.table", "True"]

"""`mx_rec.saver.sparse.export`: the tables of what this process saved last."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import saves
from estimator_plugin.compat.export import export
from tests.hooks import touches
from tests.plugin import support

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def nothing_saved(monkeypatch):
    monkeypatch.setattr(saves, "_last", [])


def _embeddings(path):
    with np.load(path) as file:
        return dict(zip(file["keys"].tolist(), file["embeddings"][:, 0].tolist()))


def test_after_a_session(tmp_path):
    ep.init()
    for name, start in (("user", 1.0), ("item", 2.0)):
        table = support.table(name, dim=2, initializer=v1.constant_initializer(start))
        lookup = ep.sparse_lookup(table, tf.constant([5, 7], tf.int64), is_grad=False)
        tf.identity(lookup, name="look_up_" + name)
    saver = v1.train.Saver()
    with support.ready_session() as session:
        for step, name in ((1, "user"), (2, "item")):
            session.run("look_up_%s:0" % name)
            saver.save(session, str(tmp_path / "model-0"), global_step=step)
    files = export(table_list=["item"])
    assert files == {"item": str(tmp_path / "export-model-0-2" / "item" / "key-emb.npz")}
    assert _embeddings(files["item"]) == {5: 2.0, 7: 2.0}
    assert sorted(export()) == ["item", "user"]
    assert _embeddings(export(checkpoint=str(tmp_path / "model-0-1"))["item"]) == {}


def test_after_deltas(tmp_path):
    ep.init()
    touches.train(tmp_path, [[1], [1, 2]], delta=1, buckets=1)
    found = _embeddings(export()["t"])
    assert {key: round(value, 6) for key, value in found.items()} == {1: 0.98, 2: 0.99}


def test_without_a_save():
    with pytest.raises(FileNotFoundError, match="this process has saved no checkpoint since init"):
        export()

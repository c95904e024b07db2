"""Reading the versions of a directory, whole ones and broken ones."""

import os
import shutil

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import versions
from tests.plugin import support

v1 = tf.compat.v1


def _write(directory, steps=4):
    """Versions 0 (full) to steps - 1 (deltas) of one table; returns their prefixes."""
    os.makedirs(str(directory), exist_ok=True)
    with tf.Graph().as_default():
        table = support.table("t", num_buckets=2)
        keys = v1.placeholder(tf.int64, [None])
        rows = ep.sparse_lookup(table, keys)
        train = ep.optimizers.gradient_descent.create_hash_optimizer(0.01).minimize(
            tf.reduce_sum(rows)
        )
        saver = ep.checkpoint.IncrementalSaver(ep.checkpoint.saver(max_to_keep=0))
        with support.ready_session() as session:
            prefixes = []
            for step in range(steps):
                session.run(train, {keys: [0, step]})
                path = os.path.join(str(directory), "model.ckpt")
                prefixes.append(saver.save(session, path, step, delta=step > 0)[0])
        saver.release()
    return prefixes


def _restore(prefix):
    """{key: first weight} of a restored table."""
    with tf.Graph().as_default(), v1.Session() as session:
        table = support.table("t", num_buckets=2)
        ep.checkpoint.saver().restore(session, prefix)
        keys = list(range(4))
        found = session.run(ep.sparse_lookup(table, tf.constant(keys, tf.int64), is_train=False))
        return dict(zip(keys, (round(float(x), 6) for x in found[:, 0])))


def test_kinds_parents_and_chains(tmp_path):
    prefixes = _write(tmp_path)
    found = versions.list_versions(str(tmp_path))
    assert [v.prefix for v in found] == prefixes
    assert [v.step for v in found] == [0, 1, 2, 3]
    assert [v.kind for v in found] == ["full", "delta", "delta", "delta"]
    assert [v.parent for v in found] == [""] + prefixes[:-1]
    assert [v.prefix for v in versions.chain_of(prefixes[2])] == prefixes[:3]
    assert versions.recorded(str(tmp_path)) == prefixes
    assert versions.newest_restorable(str(tmp_path)).step == 3
    assert all(v.saved_at > 1e9 for v in found)


@pytest.mark.parametrize("prefix, step, line", [
    ("/a/model.ckpt-12", 12, "model.ckpt"),
    ("/a/b-3/model", -1, "model"),
    ("model.branch-2.ckpt-7", 7, "model.branch-2.ckpt"),
])  # fmt: skip
def test_names(prefix, step, line):
    assert versions.step_of(prefix) == step
    assert versions.line_of(prefix) == line


def test_a_copied_and_moved_directory(tmp_path):
    prefixes = _write(tmp_path / "first")
    wanted = _restore(prefixes[3])
    shutil.copytree(str(tmp_path / "first"), str(tmp_path / "zweite Kopie ü"))
    shutil.rmtree(str(tmp_path / "first"))
    directory = str(tmp_path / "zweite Kopie ü")
    assert versions.newest_restorable(directory).step == 3
    assert _restore(os.path.join(directory, "model.ckpt-3")) == wanted
    os.symlink(directory, str(tmp_path / "link"))
    by_link = os.path.join(str(tmp_path), "link", "..", "link", "model.ckpt-3")
    assert _restore(by_link) == wanted
    assert len(versions.chain_of(by_link)) == 4


def _data_file(prefix):
    return prefix + ".data-00000-of-00001"


def _truncate(path):
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) // 2)


def _empty(path):
    with open(path, "wb"):
        pass


def _flip(path):
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 3)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def _make_directory(path):
    os.remove(path)
    os.mkdir(path)


_DAMAGES = {
    "truncated": _truncate,
    "zero length": _empty,
    "bit flipped": _flip,
    "a directory": _make_directory,
    "missing": os.remove,
}


@pytest.mark.parametrize("damage", sorted(_DAMAGES))
@pytest.mark.parametrize("part", ["index", "data"])
def test_a_damaged_link(tmp_path, part, damage):
    """Version 2 is damaged, so 3 cannot be restored either: the error names 2 and offers 1."""
    prefixes = _write(tmp_path)
    path = prefixes[2] + ".index" if part == "index" else _data_file(prefixes[2])
    _DAMAGES[damage](path)
    before = _files(tmp_path)
    for prefix in prefixes[2:]:
        with pytest.raises((tf.errors.OpError, ValueError)) as caught:
            _restore(prefix)
        assert "model.ckpt-2" in str(caught.value)
        assert "the newest version that can be restored is %s, step 1" % prefixes[1] in str(
            caught.value
        )
    assert versions.newest_restorable(str(tmp_path)).step == 1
    assert _files(tmp_path) == before
    assert _restore(prefixes[1])[0] == pytest.approx(0.97)


def _files(directory):
    return sorted(
        (name, os.path.getsize(os.path.join(str(directory), name)))
        for name in os.listdir(str(directory))
    )


def test_a_parent_of_another_step(tmp_path):
    prefixes = _write(tmp_path)
    for suffix in (".index", ".data-00000-of-00001"):
        shutil.copy(prefixes[0] + suffix, prefixes[2] + suffix)
    with pytest.raises(tf.errors.DataLossError, match="was saved after another '.*model.ckpt-2'"):
        _restore(prefixes[3])
    with pytest.raises(versions.BrokenChainError, match="model.ckpt-3 was saved after another"):
        versions.chain_of(prefixes[3])


def test_a_circle(tmp_path):
    prefixes = _write(tmp_path)
    for suffix in (".index", ".data-00000-of-00001"):
        shutil.copy(prefixes[2] + suffix, prefixes[0] + suffix)
    # Version 1 is a delta of 0, which is now one of 1 as well; the numbers of the saves differ too.
    with pytest.raises(versions.BrokenChainError):
        versions.chain_of(prefixes[1])
    with pytest.raises(tf.errors.DataLossError) as caught:
        _restore(prefixes[1])
    assert "model.ckpt-0" in str(caught.value)
    assert "has no other version that can be restored" in str(caught.value)


def test_a_circle_of_right_numbers():
    circle = {}

    def version(prefix, parent):
        return versions.Version(
            prefix, 1, versions.DELTA, parent, 0.0, {"t": 1}, {"t": 1}, error=""
        )

    circle["/m/a-1"] = version("/m/a-1", "/m/a-2")
    circle["/m/a-2"] = version("/m/a-2", "/m/a-1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(versions, "read_version", circle.__getitem__)
        with pytest.raises(versions.BrokenChainError, match="a-1 is a delta of itself, by way of"):
            versions.chain_of("/m/a-1")


def test_what_is_no_checkpoint(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no checkpoint .*/model.ckpt-7"):
        versions.chain_of(str(tmp_path / "model.ckpt-7"))
    (tmp_path / "model.ckpt-8.index").write_text("not a checkpoint")
    assert versions.read_version(str(tmp_path / "model.ckpt-8")).kind == "unreadable"
    with pytest.raises(versions.BrokenChainError, match="model.ckpt-8 cannot be read"):
        versions.chain_of(str(tmp_path / "model.ckpt-8"))
    assert versions.newest_restorable(str(tmp_path)) is None
    assert versions.recorded(str(tmp_path)) == []


def test_an_unreadable_file(tmp_path, monkeypatch):
    """Root reads everything, so the file system says no by itself."""
    prefixes = _write(tmp_path)
    real = tf.train.load_checkpoint

    def load(prefix):
        if prefix == prefixes[2]:
            raise tf.errors.PermissionDeniedError(
                None, None, "%s.index: Permission denied" % prefix
            )
        return real(prefix)

    monkeypatch.setattr(tf.train, "load_checkpoint", load)
    versions._read.cache_clear()
    assert versions.newest_restorable(str(tmp_path)).step == 1
    with pytest.raises(versions.BrokenChainError, match="model.ckpt-2.index: Permission denied"):
        versions.chain_of(prefixes[3])
    versions._read.cache_clear()


def test_written_over_within_a_second(tmp_path):
    prefixes = _write(tmp_path, steps=1)
    first = versions.read_version(prefixes[0])
    assert versions.read_version(prefixes[0]) == first
    _write(tmp_path, steps=1)
    assert versions.read_version(prefixes[0]).save_ids != first.save_ids


def test_a_model_that_differs_gets_no_offer(tmp_path):
    prefixes = _write(tmp_path)
    support.table("other", num_buckets=2)
    with v1.Session() as session, pytest.raises(tf.errors.NotFoundError) as caught:
        ep.checkpoint.saver().restore(session, prefixes[3])
    assert "newest version" not in str(caught.value)

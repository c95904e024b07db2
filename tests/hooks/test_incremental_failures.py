"""Saves that fail, and places that are unkind: nothing is lost, nothing is broken."""

import os
import subprocess
import sys

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import versions
from tests.hooks import touches
from tests.hooks.failing import FileLimit, Run, restored
from tests.plugin import support

_ROWS = 3000


@pytest.mark.parametrize("delta", [True, False])
@pytest.mark.parametrize("limit", [0, 100, 5000, 20000])
def test_a_full_disk_loses_no_later_row(tmp_path, limit, delta):
    run = Run(tmp_path)
    with support.ready_session() as session:
        run.touch(session, *range(_ROWS))
        run.save(session, 1, delta=False)
        run.touch(session, *range(2000))
        session.run(run.removed, {run.keys: [7, 2500]})
        with FileLimit(limit), pytest.raises(tf.errors.OpError):
            run.save(session, 2, delta=delta)
        assert [v.step for v in versions.list_versions(str(tmp_path))] == [1]
        assert restored(tmp_path, [0, 7, 2500]) == {0: 0.99, 7: 0.99, 2500: 0.99}
        run.touch(session, 2999, 5000)
        assert run.save(session, 3) == (os.path.join(str(tmp_path), "model.ckpt-3"), True)
    wanted = {0: 0.98, 1999: 0.98, 2000: 0.99, 2999: 0.98, 5000: 0.99, 7: 0.0, 2500: 0.0}
    assert restored(tmp_path, list(wanted)) == wanted
    assert not [n for n in os.listdir(str(tmp_path)) if "temp" in n or n.endswith(".new")]


def test_a_full_disk_at_the_index(tmp_path):
    """The data of a small delta fit, its index does not."""
    run = Run(tmp_path)
    with support.ready_session() as session:
        run.touch(session, 1, 2)
        run.save(session, 1, delta=False)
        run.touch(session, 1)
        with FileLimit(_index_bytes(tmp_path) // 2), pytest.raises(tf.errors.OpError):
            run.save(session, 2)
        assert [v.step for v in versions.list_versions(str(tmp_path))] == [1]
        run.touch(session, 3)
        assert run.save(session, 3)[1]
    assert restored(tmp_path, [1, 2, 3]) == {1: 0.98, 2: 0.99, 3: 0.99}


def _index_bytes(directory):
    return os.path.getsize(str(directory / "model.ckpt-1.index"))


def test_a_full_disk_at_the_list(tmp_path, monkeypatch):
    """The delta is whole though the `checkpoint` file cannot be written; the next builds on it."""
    run = Run(tmp_path)
    with support.ready_session() as session:
        run.touch(session, 1)
        run.save(session, 1, delta=False)
        run.touch(session, 2)

        def fail(*unused):
            raise tf.errors.ResourceExhaustedError(None, None, "checkpoint: no space left")

        with monkeypatch.context() as patch:
            patch.setattr(ep.checkpoint.retention, "record", fail)
            with pytest.raises(tf.errors.ResourceExhaustedError):
                run.save(session, 2)
        assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-1")
        assert restored(tmp_path, [1, 2]) == {1: 0.99, 2: 0.0}
        run.touch(session, 3)
        assert run.save(session, 3)[1]
    assert versions.read_version(tf.train.latest_checkpoint(str(tmp_path))).parent.endswith("-2")
    assert restored(tmp_path, [1, 2, 3]) == {1: 0.99, 2: 0.99, 3: 0.99}


def test_a_full_disk_while_replacing(tmp_path):
    """The full checkpoint of the end fails: the delta of that step is still there."""
    run = Run(tmp_path)
    with support.ready_session() as session:
        run.touch(session, *range(_ROWS))
        run.save(session, 1, delta=False)
        run.touch(session, 1)
        run.save(session, 2)
        with FileLimit(5000), pytest.raises(tf.errors.OpError):
            run.save(session, 2, delta=False)
        found = versions.list_versions(str(tmp_path))
        assert [(v.step, v.kind) for v in found] == [(1, "full"), (2, "delta")]
        assert restored(tmp_path, [1, 2]) == {1: 0.98, 2: 0.99}
        run.save(session, 2, delta=False)
    assert [v.kind for v in versions.list_versions(str(tmp_path))] == ["full", "full"]
    assert restored(tmp_path, [1, 2]) == {1: 0.98, 2: 0.99}


def test_a_delta_cannot_replace_what_it_is_relative_to(tmp_path):
    run = Run(tmp_path)
    with support.ready_session() as session:
        run.touch(session, 1)
        assert not run.save(session, 1, delta=False)[1]
        run.touch(session, 1)
        assert not run.save(session, 1)[1]
        run.touch(session, 1)
        assert run.save(session, 2)[1]
    assert restored(tmp_path, [1]) == {1: 0.97}


@pytest.mark.parametrize("how", ["deleted", "truncated", "overwritten", "moved"])
def test_a_base_that_is_gone(tmp_path, how):
    """The next save is full: a delta could not be restored."""
    run = Run(tmp_path)
    with support.ready_session() as session:
        run.touch(session, 1)
        run.save(session, 1, delta=False)
        run.touch(session, 2)
        prefix, _ = run.save(session, 2)
        if how == "deleted":
            ep.checkpoint.retention.remove(prefix)
        elif how == "truncated":
            with open(prefix + ".index", "wb"):
                pass
        elif how == "overwritten":
            os.replace(str(tmp_path / "model.ckpt-1.index"), prefix + ".index")
        else:
            ep.checkpoint.retention.move(prefix, str(tmp_path / "elsewhere-2"))
        run.touch(session, 3)
        prefix, is_delta = run.save(session, 3)
        assert not is_delta
        run.touch(session, 3)
        assert run.save(session, 4)[1]
    assert restored(tmp_path, [1, 2, 3]) == {1: 0.99, 2: 0.99, 3: 0.98}


def test_an_ancestor_that_is_gone(tmp_path):
    run = Run(tmp_path)
    with support.ready_session() as session:
        for step in range(3):
            run.touch(session, step)
            run.save(session, step, delta=step > 0)
        ep.checkpoint.retention.remove(str(tmp_path / "model.ckpt-0"))
        assert not run.save(session, 3)[1]
    assert restored(tmp_path, [0, 1, 2]) == {0: 0.99, 1: 0.99, 2: 0.99}


def test_restored_from_another_directory(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    run = Run(first)
    with support.ready_session() as session:
        run.touch(session, 1)
        run.save(session, 1, delta=False)
        run.directory = str(second)
        run.touch(session, 2)
        assert not run.save(session, 2)[1]
        run.touch(session, 2)
        assert run.save(session, 3)[1]
    assert restored(second, [1, 2]) == {1: 0.99, 2: 0.98}


@pytest.mark.parametrize("name", ["with space", "mit Ümläuten ß", "日本", "a%sb#'&~"])
def test_odd_names_of_directories(tmp_path, name):
    directory = tmp_path / name
    steps = [[1, 2], [2], [3], [1]]
    model = touches.train(directory, steps, full=100, delta=1, keep=2, buckets=2)
    assert touches.weights(model, [1, 2, 3]) == touches.expected(steps, [1, 2, 3])
    kept = [v.step for v in versions.list_versions(str(directory))]
    assert kept[-2:] == [3, 4]
    model = touches.train(directory, [[3]], full=100, delta=1, keep=2, buckets=2)
    assert touches.weights(model, [1, 2, 3]) == touches.expected(steps + [[3]], [1, 2, 3])


@pytest.mark.parametrize("name", ["a[1]", "a\\b"])
def test_a_directory_that_tensorflow_takes_for_a_pattern(tmp_path, name):
    (tmp_path / "a1").mkdir()  # What the pattern would match.
    directory = tmp_path / name
    directory.mkdir()
    run = Run(directory)
    with support.ready_session() as session, pytest.raises(ValueError, match="for a pattern"):
        run.save(session, 1)
    assert os.listdir(str(directory)) == []
    assert os.listdir(str(tmp_path / "a1")) == []


def test_a_symbolic_link_and_dots(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    os.symlink(str(real), str(tmp_path / "link"))
    touches.train(real, [[1], [2]], full=100, delta=1, buckets=2)
    by_link = os.path.join(str(tmp_path), "real", "..", "link")
    model = touches.train(by_link, [[1], [2]], full=100, delta=1, buckets=2)
    assert touches.weights(model, [1, 2]) == {1: 0.98, 2: 0.98}
    versions.chain_of(str(real / "model.ckpt-3"))


def test_a_relative_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(str(tmp_path))
    touches.train("model", [[1], [2]], full=100, delta=1, keep=2, buckets=2)
    model = touches.train("model", [[1], [2]], full=100, delta=1, keep=2, buckets=2)
    assert touches.weights(model, [1, 2]) == {1: 0.98, 2: 0.98}


def test_two_writers(tmp_path):
    program = (
        "import sys\n"
        "from tests.hooks import touches\n"
        "import tensorflow as tf\n"
        "class Wait(tf.compat.v1.train.SessionRunHook):\n"
        "    def after_run(self, *unused):\n"
        "        print('training', flush=True)\n"
        "        sys.stdin.readline()\n"
        "touches.train(sys.argv[1], [[1]] * 3, delta=1, buckets=1,\n"
        "              hooks=[touches.hook(sys.argv[1], delta=1), Wait()])\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        universal_newlines=True,
    )
    try:
        assert other.stdout.readline() == "training\n"
        with pytest.raises(RuntimeError, match="another process .pid %d on" % other.pid):
            touches.train(tmp_path, [[2]] * 3, delta=1, buckets=1)
    finally:
        other.communicate("\n" * 9)
    assert other.returncode == 0
    model = touches.train(tmp_path, [[2]] * 3, delta=1, buckets=1)
    assert touches.weights(model, [1, 2]) == {1: 0.97, 2: 0.97}

"""Files and directories of another user: clear errors, and nothing on disk changes.

An unprivileged child process meets the system's own EACCES: root, which many CI jobs are, may read
everything. Where the tests do not run as root, the files are the user's own, without any right.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import pytest
import tensorflow as tf

from tests.hooks import denied
from tests.hooks.failing import FileLimit, Run, restored
from tests.plugin import support

_READ_ONLY = 0o555


@pytest.fixture
def model_dir():
    """A directory anybody may enter, which pytest's are not, with a full version and two deltas."""
    directory = tempfile.mkdtemp()
    run = Run(directory)
    with support.ready_session() as session:
        run.touch(session, 1, 2)
        run.save(session, 1, delta=False)
        for step in (2, 3):
            run.touch(session, 1)
            assert run.save(session, step)[1]
    run.saver.release()
    os.chmod(directory, _READ_ONLY)
    yield directory
    os.chmod(directory, 0o755)
    shutil.rmtree(directory)


def _content(directory):
    found = {}
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        mode = os.stat(path).st_mode
        os.chmod(path, 0o644)
        with open(path, "rb") as file:
            found[name] = file.read()
        os.chmod(path, mode)
    return found


def _as_stranger(directory, step):
    """What denied.py says of restoring that step and of saving a new one."""
    before = _content(directory)
    prefix = os.path.join(directory, "model.ckpt-%d" % step)
    done = subprocess.run(
        [sys.executable, "-m", denied.__name__, directory, prefix],
        capture_output=True,
        cwd=support.ROOT,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    assert _content(directory) == before
    return json.loads(done.stdout.decode().splitlines()[-1])


@pytest.mark.parametrize("kind", ["data", "index"])
def test_a_version_that_may_not_be_read(model_dir, kind):
    for name in os.listdir(model_dir):
        if name.startswith("model.ckpt-3." + kind):
            os.chmod(os.path.join(model_dir, name), 0)
    said = _as_stranger(model_dir, 3)
    prefix = os.path.join(model_dir, "model.ckpt-3")
    assert said["restore"].startswith("PermissionDeniedError")
    assert "table 't', checkpoint '%s': %s.%s" % (prefix, prefix, kind) in said["restore"]
    offer = "the newest version that can be restored is %s/model.ckpt-2, step 2" % model_dir
    assert offer in said["restore"]
    assert said["kinds"]["2"][0] == "delta"
    assert said["kinds"]["3"][0] == "unreadable"
    assert "model.ckpt-3.%s" % kind in said["kinds"]["3"][1]


def test_an_ancestor_that_may_not_be_read(model_dir):
    os.chmod(os.path.join(model_dir, "model.ckpt-1.index"), 0)
    said = _as_stranger(model_dir, 3)
    assert said["restore"].startswith("PermissionDeniedError")
    assert "%s/model.ckpt-1.index; Permission denied" % model_dir in said["restore"]
    assert "%s has no other version that can be restored" % model_dir in said["restore"]


def test_a_directory_that_may_not_be_written(model_dir):
    said = _as_stranger(model_dir, 3)
    assert said["restore"] == "{1: 0.97, 2: 0.99}"
    assert said["save"].startswith("PermissionDeniedError")
    assert "saving table 't', checkpoint '%s/model.ckpt-9" % model_dir in said["save"]


def test_a_list_that_may_not_be_read(model_dir):
    """Else a save would write a list that lacks the versions there are."""
    os.chmod(model_dir, 0o777)
    os.chmod(os.path.join(model_dir, "checkpoint"), 0)
    said = _as_stranger(model_dir, 3)
    assert said["restore"].startswith("PermissionDeniedError")
    assert said["save"].startswith("PermissionDeniedError")
    for error in (said["restore"], said["save"]):
        assert "%s/checkpoint; Permission denied" % model_dir in error


def test_a_full_disk_at_the_list_alone(tmp_path):
    """Names so long that the list of versions is the longest file of a save: it alone fails."""
    run = Run(tmp_path, basename="m" * 200, keep=20)
    with support.ready_session() as session:
        for step in range(1, 11):
            run.touch(session, 1)
            run.save(session, step)
        before = tf.train.latest_checkpoint(str(tmp_path))
        size = os.path.getsize(str(tmp_path / "checkpoint"))
        run.touch(session, 2)
        with FileLimit(size), pytest.raises(tf.errors.OpError):
            run.save(session, 11)
        assert tf.train.latest_checkpoint(str(tmp_path)) == before
        assert restored(tmp_path, [1, 2]) == {1: 0.9, 2: 0.0}
        assert restored(tmp_path, [1, 2], before[:-2] + "11") == {1: 0.9, 2: 0.99}
        run.touch(session, 3)
        assert run.save(session, 12)[1]
    assert restored(tmp_path, [1, 2, 3]) == {1: 0.9, 2: 0.99, 3: 0.99}

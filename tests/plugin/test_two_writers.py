"""Two training processes on one model_dir: the second is told so before it overwrites anything."""

import errno
import os
import signal
import subprocess
import sys
import time

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin.checkpoint import writer_lock
from tests.plugin import support, trainer

v1 = tf.compat.v1
HOLD = (
    "import sys, time\n"
    "from estimator_plugin.checkpoint.writer_lock import WriterLock\n"
    "lock = WriterLock(sys.argv[1])\n"
    "print('held', flush=True)\n"
    "time.sleep(600)\n"
)


@pytest.fixture
def other_process(tmp_path):
    """A process that owns tmp_path's checkpoints."""
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    process = subprocess.Popen(
        command, cwd=support.ROOT, stdout=subprocess.PIPE, universal_newlines=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def test_second_trainer_is_refused_at_its_first_save(other_process, tmp_path):
    wanted = r"another process \(pid %d on .*\) writes checkpoints into .*; end it or choose"
    with pytest.raises(RuntimeError, match=wanted % other_process.pid):
        trainer.train(str(tmp_path), 3)
    assert not [name for name in os.listdir(str(tmp_path)) if name.startswith("model.ckpt")]


def test_training_goes_on_once_the_other_is_gone(other_process, tmp_path):
    other_process.send_signal(signal.SIGKILL)
    other_process.wait()
    trainer.train(str(tmp_path), 3)
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-3")


def test_readers_are_not_refused(other_process, tmp_path):
    other_process.kill()
    other_process.wait()
    trainer.train(str(tmp_path), 2)
    lock = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], cwd=support.ROOT, stdout=subprocess.PIPE
    )
    try:
        assert lock.stdout.readline() == b"held\n"
        result = trainer.estimator(str(tmp_path)).evaluate(lambda: trainer.batches(0, 1))
        assert result["global_step"] == 2
    finally:
        lock.kill()
        lock.wait()


def test_savers_of_one_process_share(tmp_path):
    support.table()
    savers = [ep.checkpoint.saver(max_to_keep=5) for _ in range(2)]
    with support.ready_session() as session:
        for step, saver in enumerate(savers):
            saver.save(session, str(tmp_path / "model"), global_step=step)
    held = writer_lock.WriterLock(str(tmp_path))
    for saver in savers:
        saver.release()
        saver.release()
    held.release()
    assert os.path.realpath(str(tmp_path)) not in writer_lock._held


def test_a_forked_process_must_ask_for_itself(tmp_path):
    held = writer_lock.WriterLock(str(tmp_path))
    child = os.fork()
    if child == 0:
        try:
            writer_lock.WriterLock(str(tmp_path))
        except RuntimeError as error:
            os._exit(0 if "pid %d" % os.getppid() in str(error) else 2)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    held.release()


def test_exports_are_not_locked(tmp_path):
    support.table()
    saver = ep.checkpoint.saver()
    with support.ready_session() as session:
        saver.save(session, str(tmp_path / "variables"), write_state=False)
    assert writer_lock.LOCK_NAME not in os.listdir(str(tmp_path))


def test_what_killed_writers_left_is_removed(tmp_path):
    left, young, other = (
        tmp_path / name for name in ("model.ckpt-5_temp", "model.ckpt-6_temp", "mine_temp")
    )
    for directory in (left, young, other):
        directory.mkdir()
        (directory / "part-00000-of-00001.data-00000-of-00001").write_bytes(b"x")
    yesterday = time.time() - 86400
    for directory in (left, other):
        os.utime(str(directory), (yesterday, yesterday))
    trainer.train(str(tmp_path), 1)
    assert not left.exists() and young.exists() and other.exists()


def test_a_directory_without_locks_is_written_with_a_warning(tmp_path, monkeypatch):
    def no_locks(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(writer_lock.fcntl, "flock", no_locks)
    lines = []
    monkeypatch.setattr(writer_lock.notices, "warn_once", lines.append)
    support.table()
    with support.ready_session() as session:
        ep.checkpoint.saver().save(session, str(tmp_path / "model"))
    assert len(lines) == 1 and "cannot be locked" in lines[0] and str(tmp_path) in lines[0]
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model")

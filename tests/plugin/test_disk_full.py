"""A disk that fills up during a save: the old checkpoint stays whole and nothing stays behind."""

import contextlib
import os
import resource
import subprocess

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from tests.plugin import support

v1 = tf.compat.v1
SPACE = 4 << 20


@contextlib.contextmanager
def file_size_limit(directory):
    """No file may grow beyond SPACE: what a quota does, and what any user can set up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SPACE, before[1]))
    try:
        yield directory
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def small_disk(directory):
    """A file system of SPACE bytes; needs root."""
    subprocess.check_call(["mount", "-t", "tmpfs", "-o", "size=%d" % SPACE, "tmpfs", directory])
    try:
        yield directory
    finally:
        subprocess.check_call(["umount", directory])


def disks():
    return [file_size_limit] + ([small_disk] if _may_mount() else [])


def _may_mount():
    if os.geteuid() != 0:
        return False
    with open("/proc/self/status") as status:
        capabilities = next(line for line in status if line.startswith("CapEff"))
    return bool(int(capabilities.split()[1], 16) >> 21 & 1)  # CAP_SYS_ADMIN.


@pytest.mark.parametrize("disk", disks())
@pytest.mark.parametrize("make_saver", [v1.train.Saver, ep.checkpoint.saver])
def test_old_checkpoint_survives(disk, make_saver, tmp_path):
    table = support.table(dim=64, initializer=v1.random_normal_initializer())
    keys = v1.placeholder(tf.int64, [None])
    lookup, size = ep.sparse_lookup(table, keys), table.size()
    saver = make_saver(max_to_keep=2)
    directory = tmp_path / "disk"
    directory.mkdir()
    with disk(str(directory)), support.ready_session() as session:
        prefix = str(directory / "model.ckpt")
        first_rows = session.run(lookup, {keys: np.arange(1000)})
        first = saver.save(session, prefix, global_step=1, write_meta_graph=False)
        session.run(lookup, {keys: np.arange(40000)})
        with pytest.raises(tf.errors.OpError):
            saver.save(session, prefix, global_step=2, write_meta_graph=False)
        assert tf.train.latest_checkpoint(str(directory)) == first
        saver.restore(session, first)
        assert session.run(size) == 1000
        np.testing.assert_array_equal(session.run(lookup, {keys: np.arange(1000)}), first_rows)
        if make_saver is ep.checkpoint.saver:  # A stock one leaves its half-written file behind.
            assert not [name for name in os.listdir(str(directory)) if "ckpt-2" in name]
            third = saver.save(session, prefix, global_step=3, write_meta_graph=False)
            assert tf.train.latest_checkpoint(str(directory)) == third
            saver.release()


def test_the_error_says_what_and_where(tmp_path):
    table = support.table(dim=64)
    lookup = ep.sparse_lookup(table, np.arange(40000))
    saver = ep.checkpoint.saver()
    with support.ready_session() as session:
        session.run(lookup)
        with file_size_limit(tmp_path), pytest.raises(tf.errors.OpError, match="model.ckpt-7.*"):
            saver.save(session, str(tmp_path / "model.ckpt"), 7, write_meta_graph=False)

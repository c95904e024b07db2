"""What is kept and what is deleted, as a decision and on disk."""

import os
import random

import pytest
import tensorflow as tf

from estimator_plugin.checkpoint import retention, versions
from tests.hooks import touches


def _version(name, parent=None, saved_at=0.0):
    return versions.Version(
        prefix="/m/%s" % name,
        step=versions.step_of(name),
        kind=versions.DELTA if parent else versions.FULL,
        parent="/m/%s" % parent if parent else "",
        saved_at=saved_at,
        save_ids={"t": name},
        parent_ids={"t": parent} if parent else {},
        error="",
    )


def _line(text):
    """Versions from words: `f` is a full checkpoint, `d` a delta of the one before."""
    made = []
    for i, kind in enumerate(text):
        made.append(_version("a-%d" % i, "a-%d" % (i - 1) if kind == "d" else None, i * 3600.0))
    return made


def _steps(found):
    return [v.step for v in found]


@pytest.mark.parametrize(
    "text, keep, kept, deleted",
    [
        ("fff", 2, [1, 2], [0]),
        ("fdd", 2, [0, 1, 2], []),
        ("fddfd", 2, [3, 4], [2, 1, 0]),
        ("fddfd", 3, [0, 1, 2, 3, 4], []),
        ("fddf", 1, [3], [2, 1, 0]),
        ("fdddd", 1, [0, 1, 2, 3, 4], []),
        ("fdfdfd", 3, [2, 3, 4, 5], [1, 0]),
        ("fff", None, [0, 1, 2], []),
        ("fff", 0, [0, 1, 2], []),
        ("", 2, [], []),
    ],
)
def test_chains(text, keep, kept, deleted):
    plan = retention.plan(_line(text), [], retention.Policy(keep, 1e4), 0.0)
    assert _steps(plan.managed) == kept
    assert _steps(plan.delete) == deleted


def test_one_for_each_so_many_hours():
    plan = retention.plan(_line("f" * 10), [], retention.Policy(2, 3), 0.0)
    assert _steps(plan.managed) == [8, 9]
    assert _steps(plan.delete) == [7, 6, 5, 3, 2, 1, 0]
    assert plan.last_preserved == 4 * 3600.0


def test_what_is_kept_for_good_keeps_its_chain():
    plan = retention.plan(_line("fdddddff"), [], retention.Policy(2, 3), 0.0)
    assert _steps(plan.delete) == [5]  # 4 is kept for good, and 0 to 3 with it.
    assert _steps(plan.managed) == [0, 1, 2, 3, 6, 7]


def test_what_others_need_stays():
    other = _version("b-9", "a-1")
    plan = retention.plan(_line("fdff"), [other], retention.Policy(1, 1e4), 0.0)
    assert _steps(plan.delete) == [2]
    assert _steps(plan.managed) == [0, 1, 3]


def test_broken_versions_do_not_count():
    line = _line("ffdd")
    del line[1]  # What 2 and 3 need is gone.
    plan = retention.plan(line, [], retention.Policy(1, 1e4), 0.0)
    assert _steps(plan.managed) == [0, 2, 3]
    line.append(_version("a-4"))
    plan = retention.plan(line, [], retention.Policy(1, 1e4), 0.0)
    assert _steps(plan.managed) == [4]


def test_random_lines():
    seed = random.randrange(2**32)
    print("seed", seed)
    draw = random.Random(seed)
    for _ in range(300):
        keep = draw.randint(1, 5)
        managed, last = [], 0.0
        for i in range(30):
            parent = managed[-1].prefix[3:] if managed and draw.random() < 0.7 else None
            managed.append(_version("a-%d" % i, parent, i * 600.0))
            newest = managed[-keep:]
            plan = retention.plan(managed, [], retention.Policy(keep, 1e4), last)
            managed, last = plan.managed, plan.last_preserved
            present = {v.prefix for v in managed}
            assert all(v in managed for v in newest)
            assert all(v.parent in present for v in managed if v.parent)
            needed = {v.prefix for v in newest}
            for v in managed[::-1]:
                assert v.prefix in needed
                needed.add(v.parent)


def _on_disk(directory):
    return [v.step for v in versions.list_versions(str(directory))]


def test_on_disk_and_over_restarts(tmp_path):
    runs = [[[i]] * 5 for i in range(4)]
    model = None
    for steps in runs:
        model = touches.train(tmp_path, steps, full=4, delta=1, keep=3, buckets=1)
        kept = _on_disk(tmp_path)
        recorded = [versions.step_of(p) for p in versions.recorded(str(tmp_path))]
        assert kept == sorted(recorded)
        for version in versions.list_versions(str(tmp_path)):
            versions.chain_of(version.prefix)
    # 20 full, 19 and 18 deltas of 16, 17 between: chains 16-17-18-19; full at 20 (end).
    assert kept[-3:] == [18, 19, 20]
    assert len(kept) <= 6
    assert touches.weights(model, [0, 3]) == {0: 0.95, 3: 0.95}
    leftovers = {int(n.split("-")[1].split(".")[0]) for n in os.listdir(str(tmp_path)) if "-" in n}
    assert leftovers == set(kept)


def test_keep_checkpoint_max_of_the_hook_wins(tmp_path):
    hook = touches.hook(tmp_path, full=1, keep_checkpoint_max=2)
    touches.train(tmp_path, [[1]] * 5, keep=5, hooks=[hook], buckets=1)
    assert _on_disk(tmp_path) == [4, 5]


def test_a_saver_without_the_hook_keeps_what_deltas_need(tmp_path):
    touches.train(tmp_path, [[1]] * 3, full=100, delta=1, keep=0, buckets=1)
    os.rename(str(tmp_path / "model.ckpt-3.index"), str(tmp_path / "gone"))
    deltas = [p for p in versions.recorded(str(tmp_path)) if not p.endswith("-3")]
    retention.record(str(tmp_path), deltas, 0.0)
    model = touches.estimator(tmp_path, keep=2, save_every=1, scaffold=True, buckets=1)
    model.train(touches.inputs([[2]] * 4))
    for version in versions.list_versions(str(tmp_path)):
        versions.chain_of(version.prefix)
    assert _on_disk(tmp_path)[-2:] == [5, 6]


def test_the_list_is_relative_and_whole(tmp_path):
    touches.train(tmp_path, [[1]] * 2, full=100, delta=1, keep=0, buckets=1)
    text = (tmp_path / "checkpoint").read_text()
    assert str(tmp_path) not in text
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-2")
    assert retention.last_preserved(str(tmp_path)) > 1e9

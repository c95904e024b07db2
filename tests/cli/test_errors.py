"""Damaged files, wrong arguments, and what they are called."""

import glob
import os
import subprocess
import sys

import pytest

from estimator_plugin.cli import main
from estimator_plugin.cli.progress import Progress
from tests.conventions import source_tree


def _largest_data_file(prefix):
    return max(glob.glob(glob.escape(prefix) + ".data-*"), key=os.path.getsize)


def _flip_a_bit(path):
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def _truncate(path):
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) // 2)


def _empty(path):
    with open(path, "wb"):
        pass


def _directory(path):
    os.remove(path)
    os.mkdir(path)


@pytest.mark.parametrize("damage", [_flip_a_bit, _truncate, _empty, os.remove, _directory])
@pytest.mark.parametrize("step", [0, 10, 30])
def test_verify_finds_damaged_data_anywhere_in_the_chain(model, run, damage, step):
    damage(_largest_data_file(model.prefixes[step]))
    result = run("verify", model.prefixes[30])
    assert result.code == 1
    assert "PROBLEM" in result.out and "is DAMAGED" in result.out
    assert os.path.basename(model.prefixes[step]) in result.out
    assert run("verify", model.prefixes[0]).code == (1 if step == 0 else 0)


@pytest.mark.parametrize("damage", [_flip_a_bit, _truncate, _empty])
@pytest.mark.parametrize("step", [0, 20, 30])
def test_damaged_index(model, run, run_json, damage, step):
    damage(model.prefixes[step] + ".index")
    assert run("verify", model.prefixes[30]).code == 1
    code, found = run_json("list", model.directory)
    assert code == 1
    assert [v["step"] for v in found["versions"]] == [0, 10, 20, 30]
    assert found["versions"][-1]["problem"]
    result = run("inspect", model.prefixes[30], "--table", "user")
    assert result.code == 2 and os.path.basename(model.prefixes[step]) in result.err


def test_missing_parent(model, run, run_json):
    os.remove(model.prefixes[10] + ".index")
    code, found = run_json("list", model.directory)
    assert code == 1
    assert [bool(v["problem"]) for v in found["versions"]] == [False, True, True]
    result = run("verify", model.prefixes[30])
    assert result.code == 1 and "model.ckpt-20 is a delta of" in result.out
    assert run("diff", model.prefixes[0], model.prefixes[30]).code == 2


def test_parent_of_another_save(model, run):
    for path in glob.glob(glob.escape(model.prefixes[20]) + ".*"):
        os.rename(path, path.replace("model.ckpt-20", "model.ckpt-10"))
    result = run("verify", model.prefixes[10])
    assert result.code == 1 and "delta of itself" in result.out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["list", "nowhere"], "is not a directory"),
        (["inspect", "nowhere"], "is no checkpoint"),
        (["verify", "nowhere"], "is no checkpoint"),
        (["diff", "{}", "nowhere"], "is no checkpoint"),
        (["merge", "nowhere", "--output", "x"], "is no checkpoint"),
        (["export", "nowhere", "--table", "user"], "is no checkpoint"),
        (["export", "{}", "--table", "item"], "no table 'item'; its tables are user"),
        (["inspect", "{}", "--table", "item"], "no table 'item'; its tables are user"),
        (["diff", "{}", "{}", "--table", "item"], "no table 'item'; its tables are user"),
        (["inspect", "{}", "--key", "1"], "--key needs --table"),
        (["inspect", "{}", "--table", "user", "--key", str(2**63)], "64-bit integer"),
        (["merge", "{}", "--output", "{}"], "must be a prefix"),
    ],
)
def test_unusable_arguments(pristine, run, arguments, message):
    result = run(*[argument.replace("{}", pristine.directory) for argument in arguments])
    assert result.code == 2 and not result.out
    assert message in result.err


@pytest.mark.parametrize("arguments", [[], ["weigh"], ["inspect"], ["export", "x"]])
def test_usage(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main.main(arguments)
    assert stopped.value.code == 2
    assert "usage: estimator_plugin" in capsys.readouterr().err


def test_module_runs_and_survives_a_closed_pipe(pristine):
    command = [sys.executable, "-m", "estimator_plugin", "list", pristine.directory]
    done = subprocess.run(command, capture_output=True, cwd=source_tree.ROOT)
    assert done.returncode == 0 and b"model.ckpt-30" in done.stdout
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=source_tree.ROOT
    )
    child.stdout.close()
    _, errors = child.communicate()
    assert b"Traceback" not in errors


class _Terminal:
    def __init__(self, is_terminal):
        self.text = ""
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_bar_is_for_terminals(is_terminal):
    stream, seconds = _Terminal(is_terminal), iter(range(100))
    bar = Progress(stream, clock=lambda: next(seconds))
    assert list(bar.track("abcd", 4, "reading")) == list("abcd")
    assert ("reading [#######" in stream.text) is is_terminal
    assert stream.text.endswith("\r\x1b[K") is is_terminal

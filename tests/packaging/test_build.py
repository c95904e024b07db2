"""ops/build.py on a library of two tiny sources, for a TensorFlow that does not exist."""

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

from tests.packaging import conftest

_SCRIPT = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("build", sys.argv[1])
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)
print(build.build(sys.argv[2], build.Target("9.8.7", "c++14", [], [], [])))
"""


@pytest.fixture
def sources(tmp_path):
    """A directory like ops/, with a core of one function and one kernel that calls it."""
    (tmp_path / "ops" / "core").mkdir(parents=True)
    (tmp_path / "ops" / "kernels").mkdir()
    (tmp_path / "ops" / "core" / "answer.h").write_text("int Answer();\n")
    (tmp_path / "ops" / "core" / "answer.cc").write_text(
        '#include "answer.h"\nint Answer() { return 42; }\n'
    )
    (tmp_path / "ops" / "kernels" / "answer.cc").write_text(
        '#include "core/answer.h"\nextern "C" int ep_answer() { return Answer(); }\n'
    )
    shutil.copy(os.path.join(conftest.ROOT, "ops", "build.py"), str(tmp_path / "ops"))
    return tmp_path / "ops"


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Calls a compiler that notes each call; returns the list of notes when called."""
    log = tmp_path / "log"
    log.write_text("")
    script = tmp_path / "compiler"
    script.write_text('#!/bin/sh\necho "$@" >> %s\nexec g++ "$@"\n' % log)
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    return lambda: log.read_text().splitlines()


def load(sources):
    spec = importlib.util.spec_from_file_location("build_under_test", str(sources / "build.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def target(build, version="9.8.7"):
    return build.Target(version, "c++14", include=[], defines=[], link=[])


def answer(path):
    code = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).ep_answer())"
    return conftest.output([sys.executable, "-c", code, path], os.path.dirname(path)).strip()


def test_library_is_named_after_its_tensorflow_and_works(sources, tmp_path):
    build = load(sources)
    path = build.build(str(tmp_path / "out"), target(build))
    assert os.path.basename(path).startswith("ep_ops-tf9.8.7-")
    assert answer(path) == "42"
    assert sorted(os.listdir(str(tmp_path / "out"))) == [os.path.basename(path), "ep_ops.lock"]


def test_a_change_of_source_compiles_only_what_changed(sources, tmp_path, compiler):
    build = load(sources)
    out, objects = str(tmp_path / "out"), str(tmp_path / "objects")
    first = build.build(out, target(build), objects)
    assert len(compiler()) == 3  # The core's file, the kernels, the link.
    assert build.build(out, target(build), objects) == first
    assert len(compiler()) == 3
    (sources / "core" / "answer.cc").write_text(
        '#include "answer.h"\nint Answer() { return 43; }\n'
    )
    second = build.build(out, target(build), objects)
    assert second != first
    assert answer(second) == "43"
    assert len(compiler()) == 5


def test_a_header_counts_for_everything_that_sees_it(sources):
    build = load(sources)
    before = build.library_name(target(build))
    (sources / "core" / "answer.h").write_text("int Answer();  // Changed.\n")
    assert build.library_name(target(build)) != before


def test_the_place_of_tensorflow_does_not_count(sources):
    build = load(sources)
    moved = target(build)._replace(include=["/elsewhere"], link=["-L/elsewhere"])
    assert build.library_name(moved) == build.library_name(target(build))


def test_processes_that_start_together_compile_once(sources, tmp_path, compiler):
    command = [sys.executable, "-c", _SCRIPT, str(sources / "build.py"), str(tmp_path / "out")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    paths = {process.communicate()[0].strip() for process in processes}
    assert [process.returncode for process in processes] == [0] * 4
    assert len(paths) == 1
    assert answer(paths.pop()) == "42"
    assert len(compiler()) == 3


def test_a_failed_compilation_shows_what_the_compiler_said(sources, tmp_path):
    (sources / "core" / "answer.cc").write_text("int Answer() { return unknown_name; }\n")
    build = load(sources)
    with pytest.raises(build.BuildError, match="compiling core/answer.cc of(.|\n)*unknown_name"):
        build.build(str(tmp_path / "out"), target(build))
    assert os.listdir(str(tmp_path / "out")) == ["ep_ops.lock"]


def test_a_missing_compiler_says_what_to_install(sources, tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-compiler -O2")
    build = load(sources)
    with pytest.raises(build.BuildError) as caught:
        build.build(str(tmp_path / "out"), target(build))
    message = str(caught.value)
    assert "compiled for TensorFlow 9.8.7, and there is no C++ compiler 'no-compiler'" in message
    assert "apt-get install g++" in message
    assert "was built for" not in message


def test_a_library_for_another_tensorflow_is_named(sources, tmp_path, monkeypatch):
    build = load(sources)
    build.place(build.build(str(tmp_path / "out"), target(build, "1.2.3")), str(sources))
    monkeypatch.setenv("CXX", "no-compiler")
    with pytest.raises(build.BuildError, match="was built for TensorFlow 1.2.3"):
        build.build(str(tmp_path / "out"), target(build))


def test_placing_replaces_older_builds_of_the_same_version_only(sources, tmp_path):
    build = load(sources)
    names = ("ep_ops-tf9.8.7-000000000000.so", "ep_ops-tf9.8.6-000000000000.so")
    for name in names:
        (sources / name).write_text("")
    path = build.place(build.build(str(tmp_path / "out"), target(build)), str(sources))
    left = sorted(name for name in os.listdir(str(sources)) if name.endswith(".so"))
    assert left == sorted([names[1], os.path.basename(path)])


def test_a_directory_that_cannot_be_written_is_named(sources):
    build = load(sources)
    with pytest.raises(build.BuildError, match="to /dev/null/cache .*ESTIMATOR_PLUGIN_CACHE"):
        build.build("/dev/null/cache", target(build))

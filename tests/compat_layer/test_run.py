"""`python -m estimator_plugin run`: programs of the Rec SDK, from the shell, as they stand."""

import os
import re
import subprocess
import sys

import pytest

from estimator_plugin.cli import main
from tests.conventions import source_tree
from tests.plugin import support

PROGRAMS = os.path.join("examples", "rec_sdk")


def run(*arguments, cwd):
    """(exit code, standard output, standard error) of the command in a process of its own."""
    environment = dict(os.environ, PYTHONPATH=support.ROOT, TF_CPP_MIN_LOG_LEVEL="3")
    environment.pop("JOB_ID", None)
    done = subprocess.run(
        [sys.executable, "-m", "estimator_plugin", "run"] + [str(a) for a in arguments],
        env=environment,
        cwd=str(cwd),
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout, done.stderr


def _program(name, model_dir, *arguments):
    path = os.path.join(support.ROOT, PROGRAMS, name)
    code, out, err = run(path, "--model_dir", model_dir, *arguments, cwd=model_dir.parent)
    assert code == 0, err
    return out


def test_the_programs_do_not_know_this_plugin():
    for path in source_tree.files(".py", PROGRAMS):
        modules = [module for _, module in source_tree.imports(path)]
        assert not [m for m in modules if m.startswith("estimator_plugin")], path
    assert len(source_tree.files(".py", PROGRAMS)) == 3


def test_an_estimator_program(tmp_path):
    out = _program("estimator.py", tmp_path / "m", "--mode", "train_and_evaluate", "--steps", 60)
    step, auc = re.search(r"step (\d+), auc ([\d.]+)", out).groups()
    assert int(step) == 60 and float(auc) > 0.7  # One of four is a click; guessing gives 0.5.
    out = _program("estimator.py", tmp_path / "m", "--mode", "predict")
    assert re.search(r"128 predictions, 0\.[789]\d+ right", out)


def test_an_estimator_program_with_expansion_and_the_old_keywords(tmp_path):
    arguments = ["--mode", "train", "--steps", 20, "--save_steps", 10]
    out = _program("estimator.py", tmp_path / "m", "--expansion", "--legacy", *arguments)
    assert "trained to step 20" in out
    names = set(os.listdir(str(tmp_path / "m")))
    assert {"model.ckpt-%d.index" % step for step in (0, 10, 20)} <= names


def test_an_estimator_program_with_feature_specs(tmp_path):
    arguments = ["--feature_spec", "--mode"]
    model = tmp_path / "m"
    out = _program("estimator.py", model, *arguments, "train_and_evaluate", "--steps", 60)
    assert float(re.search(r"step 60, auc ([\d.]+)", out).group(1)) > 0.7
    out = _program("estimator.py", model, *arguments, "predict")
    assert re.search(r"128 predictions, 0\.[789]\d+ right", out)


def _losses(out):
    return [(int(s), float(v)) for s, v in re.findall(r"step (\d+), eval loss ([\d.]+)", out)]


def test_session_programs_by_key_by_address_and_by_feature_spec(tmp_path):
    by_key = _losses(_program("session.py", tmp_path / "a", "--steps", 40))
    by_address = _losses(_program("session.py", tmp_path / "b", "--steps", 40, "--expansion"))
    by_spec = _losses(_program("session.py", tmp_path / "c", "--steps", 40, "--feature_spec"))
    assert by_key == by_address == by_spec  # The same rows, found in three ways.
    (first, before), (last, after) = by_key
    assert (first, last) == (0, 40) and after < before
    resumed = _losses(_program("session.py", tmp_path / "a", "--steps", 20, "--legacy"))
    assert resumed[0] == by_key[1] and resumed[1][0] == 60 and resumed[1][1] < after


def test_what_the_program_sees_is_what_python_shows(tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 7\n")
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\n"
        "import beside\n"
        "from mx_rec.core.embedding import create_table\n"
        "print(__name__, __file__ == sys.argv[0], sys.argv[1:], beside.VALUE)\n"
        "print(sys.path[0] == os.path.dirname(os.path.realpath(__file__)))\n"
        "sys.exit(3)\n"
    )
    code, out, _ = run(program, "--json", "-h", "x", cwd=tmp_path.parent)
    assert code == 3
    assert out.splitlines() == ["__main__ True ['--json', '-h', 'x'] 7", "True"]


def test_an_error_of_the_program_is_its_own(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("from mx_rec.core.embedding import EmbeddingFactory\n")
    code, _, err = run(program, cwd=tmp_path)
    assert code == 1
    assert "Traceback" in err and 'program.py", line 1' in err
    assert "mx_rec.core.embedding.EmbeddingFactory is not supported by estimator_plugin" in err


def test_no_such_program(tmp_path, capsys):
    assert main.main(["run", str(tmp_path / "none.py")]) == 2
    assert "there is no program %s" % (tmp_path / "none.py") in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main.main(["run"])

"""From rounds of seconds to ratios, verdicts and tables."""

import pytest

from benchmarks import plan, report, targets
from benchmarks.results import Results, added, ratio
from benchmarks.runner import summarize


def _answers(*medians):
    return [summarize({"seconds": [median] * 5}) for median in medians]


def _case(scenario, systems, optimizer="adagrad"):
    return {
        "scenario": scenario,
        "dim": 16,
        "rows": 4000000,
        "optimizer": optimizer,
        "samples": 4096,
        "systems": systems,
    }


def _system(facts=None, **measures):
    names = {name.replace("_", "/"): answers for name, answers in measures.items()}
    return {"facts": facts or {}, "measures": names}


def _run(*cases):
    machine = {
        "processor": "a processor",
        "processor_flags": ["avx2"],
        "cores": 2,
        "memory_bytes": 24e9,
        "transparent_huge_pages": "madvise",
        "kernel": "6.1",
        "compiler": "g++ 12",
        "commit": "abc",
    }
    effort = plan.FULL._asdict()
    run = {"machine": machine, "effort": effort, "skipped": {}, "minutes": 9.0}
    return dict(run, cases=list(cases))


def _row(results, what):
    rows = [row for row in targets.target_rows(results) if row.what == what]
    assert len(rows) == 1
    return rows[0]


def test_a_ratio_is_the_median_of_the_rounds_ratios():
    # The machine was three times slower in the second round: no ratio sees it.
    assert ratio([4.0, 12.0, 4.0], [2.0, 6.0, 2.0]) == 2.0
    assert ratio([1.0], None) is None
    assert added([1.0, 2.0], [3.0, 4.0]) == [4.0, 6.0]


def test_a_rival_is_compared_at_its_best_way():
    systems = {
        "ours": _system(lookup_raw=_answers(1.0, 1.0, 1.0)),
        "deeprec": _system(
            lookup_raw=_answers(9.0, 9.0, 9.0), lookup_unique=_answers(4.0, 4.0, 2.0)
        ),
    }
    row = _row(
        Results(_run(_case("step", systems))),
        "Lookup: times the speed of DeepRec's EmbeddingVariable",
    )
    assert row.value == 4.0
    assert row.met


def test_a_target_of_at_most_is_missed_above_it():
    systems = {
        "ours": _system(train_raw=_answers(4.0)),
        "limit": _system(train=_answers(1.0)),
        "floor": _system(train_raw=_answers(1.0)),
    }
    what = "Adagrad step: time over that of the C++ loop and an empty Session step"
    row = _row(Results(_run(_case("step", systems))), what)
    assert row.value == 2.0
    assert row.met is False


def test_a_rival_that_was_left_out_leaves_its_targets_open():
    results = Results(_run(_case("step", {"ours": _system(lookup_raw=_answers(1.0))})))
    row = _row(results, "Lookup: times the speed of TFRA")
    assert row.value is None
    assert row.met is None
    assert "not measured" in report.markdown(results)


def test_a_pause_that_comes_in_one_round_only_is_not_growths():
    rounds = [[1.0, 1.0, 9.0], [1.0, 3.0, 1.0], [1.0, 3.0, 1.0]]
    grow = [summarize({"seconds": durations, "rows": 3}) for durations in rounds]
    results = Results(_run(_case("growth", {"ours": _system(grow=grow)})))
    case = results.cases("growth")[0]
    assert case.growth_durations("ours") == [1.0, 3.0, 1.0]
    assert _row(results, "Training on new ids: slowest step over the median step").value == 3.0


def test_checkpoint_targets():
    def saved(seconds, extra):
        return [summarize({"seconds": [seconds], "extra_bytes": extra, "disk_bytes": 1})]

    facts = {"rows": 4000000, "bytes_per_row": 160.0, "payload_bytes": 1000}
    systems = {
        "ours": _system(
            facts, save_stock=saved(1.0, 10), restore_stock=saved(1.0, 900),
            save_streaming=saved(0.5, 20), restore_streaming=saved(1.0, 0),
        ),
        "variable": _system(facts, save_stock=saved(1.0, 0), restore_stock=saved(0.5, 0)),
    }  # fmt: skip
    results = Results(_run(_case("checkpoint", systems)))
    values = {row.what: row.value for row in targets.target_rows(results)}
    assert values["Full save, streaming saver: times the speed of `tf.Variable`s"] == 2.0
    assert values["Full save, streaming saver: extra memory, share of the table"] == 2.0
    assert values["Full restore, streaming saver: times the speed of `tf.Variable`s"] == 0.5
    assert values["Full save, stock Saver: times the speed of `tf.Variable`s"] == 1.0
    assert values["Resident bytes a row, Adagrad (payload 136)"] == 160.0


def _delta_case():
    def once(seconds, extra, size):
        return [summarize({"seconds": [seconds], "extra_bytes": extra, "disk_bytes": size})]

    ours = _system(
        save_full=once(1.0, 10 << 20, 4 * 10**9),
        save_delta=once(0.02, 1 << 20, 4 * 10**7),
        restore_full=once(4.0, 300 * 10**6, 4 * 10**9),
    )
    inserts = [summarize({"seconds": [0.5, 0.5]})]
    limit = {"write-table": _answers(0.8), "read-table": _answers(2.0), "insert": inserts}
    return _case("delta", {"ours": ours, "limit": {"facts": {}, "measures": limit}}, "adam")


def test_delta_targets():
    results = Results(_run(_delta_case()))
    rows = {row.what: row for row in targets.target_rows(results)}
    assert rows["Full save, Adam: share of the file write speed"].value == 0.8
    assert rows["Full restore, Adam: share of the limit's speed"].value == 0.75
    assert rows["Adam, restore/full: extra memory"].target == 200  # MB: 5 % of the table.
    assert rows["Adam, restore/full: extra memory"].met is False
    assert rows["Delta of 1 % of the rows: time, share of the full save"].value == 2.0
    assert rows["Delta of 1 % of the rows: bytes, share of the full save"].value == 1.0
    assert "| save/delta: estimator_plugin | dim 16, 4M rows | 20.0 | 40.0 |" in report.markdown(
        results
    )


def test_a_run_survives_its_file(tmp_path):
    run = _run(_case("estimator", {"ours": _system(train=_answers(0.02))}))
    path = str(tmp_path / "run" / "results.json")
    report.write_json(run, path)
    assert report.read_json(path) == run
    assert "50.0" in report.markdown(Results(report.read_json(path)))


def test_the_report_replaces_what_is_between_the_markers(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("before\n%s\nold\n%s\nafter\n" % (report.BEGIN, report.END))
    report.update_readme(str(readme), "new\n")
    assert readme.read_text() == "before\n%s\nnew\n%s\nafter\n" % (report.BEGIN, report.END)
    readme.write_text("no markers\n")
    with pytest.raises(ValueError, match="once each"):
        report.update_readme(str(readme), "new\n")

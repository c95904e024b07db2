"""Measures estimator_plugin and its rivals. `make bench` runs this; so does `python -m benchmarks`.

python benchmarks/run.py                         everything, under 15 minutes
python benchmarks/run.py --quick                 dim 16, a million rows, Adagrad
python benchmarks/run.py --only growth --rounds 5 --systems ours,tfra
python benchmarks/run.py --smoke                 tiny tables, no rivals: does it work at all
python benchmarks/run.py --render FILE.json      the report of an earlier run
"""

import argparse
import os
import sys
import time

if __name__ == "__main__":  # As a script: import the package, not the files beside this one.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from benchmarks import plan, report  # noqa: E402
from benchmarks.results import Results  # noqa: E402
from benchmarks.runner import Runner  # noqa: E402

_HERE = os.path.dirname(os.path.abspath(__file__))
_REPOSITORY = os.path.dirname(_HERE)


def _parse_arguments(arguments):
    build = os.path.join(_REPOSITORY, "build")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="fewer cases and rounds")
    size.add_argument("--smoke", action="store_true", help="tiny tables, no rivals to install")
    parser.add_argument(
        "--only",
        default="",
        help="scenarios: step,growth,checkpoint,delta,estimator,servers,pipeline,hot,sparse_core",
    )
    parser.add_argument("--systems", default="", help="systems to keep, e.g. ours,deeprec")
    parser.add_argument("--optimizer", default="", help="keep only cases of this optimizer")
    parser.add_argument("--dim", type=int, default=0, help="keep only cases of this dim")
    parser.add_argument("--rounds", type=int, default=0, help="turns of each system")
    parser.add_argument("--seconds", type=float, default=0.0, help="length of a turn")
    parser.add_argument("--build", default=os.path.join(build, "bench"), help="kept between runs")
    parser.add_argument(
        "--environments",
        default=os.path.join(build, "bench-envs"),
        help="folder of the rivals' Python environments, made where they lack",
    )
    parser.add_argument("--output", default="", help="JSON file; default BUILD/results.json")
    parser.add_argument("--update-readme", action="store_true", help="put the report in README.md")
    parser.add_argument("--render", default="", metavar="JSON", help="report an earlier run")
    return parser.parse_args(arguments)


def _chosen(options):
    """The cases and the effort that the options ask for."""
    if options.smoke:
        cases, effort = plan.smoke_plan(), plan.SMOKE
    elif options.quick:
        cases, effort = plan.quick_plan(), plan.QUICK
    else:
        cases, effort = plan.full_plan(), plan.FULL
    if options.only:
        cases = [case for case in cases if case.scenario in options.only.split(",")]
    if options.optimizer:
        cases = [case for case in cases if case.optimizer == options.optimizer]
    if options.dim:
        cases = [case for case in cases if case.dim == options.dim]
    if options.systems:
        keep = options.systems.split(",")
        cases = [
            case._replace(entrants=[e for e in case.entrants if e.system in keep]) for case in cases
        ]
    if options.rounds:
        effort = effort._replace(rounds=options.rounds)
        cases = [case._replace(rounds=0) for case in cases]
    if options.seconds:
        effort = effort._replace(seconds=options.seconds)
    return cases, effort


def _measure(options):
    cases, effort = _chosen(options)
    start = time.time()

    def say(line):
        print("[%4.0f s] %s" % (time.time() - start, line), file=sys.stderr)

    os.makedirs(options.build, exist_ok=True)
    runner = Runner(_REPOSITORY, options.build, options.environments, say)
    run = runner.run(cases, effort)
    run["minutes"] = (time.time() - start) / 60
    report.write_json(run, options.output or os.path.join(options.build, "results.json"))
    return run


def main(arguments=None):
    options = _parse_arguments(arguments)
    run = report.read_json(options.render) if options.render else _measure(options)
    text = report.markdown(Results(run))
    print(text)
    if options.update_readme:
        report.update_readme(os.path.join(_HERE, "README.md"), text)


if __name__ == "__main__":
    main()

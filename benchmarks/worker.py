"""A measuring process: one system in one scenario, measured whenever the runner asks.

    python -m benchmarks.worker step tfra --dim 16 --rows 1000000 --optimizer adagrad

It stays alive, idle, between requests, so that the systems of a comparison take turns of a second
each and a drift of the machine's speed meets them all.
"""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf  # noqa: E402  (the log level must be set before)

from benchmarks.channel import Channel  # noqa: E402
from benchmarks.system import system_class  # noqa: E402
from benchmarks.workload import Workload  # noqa: E402

_SCENARIOS = [
    "step",
    "growth",
    "checkpoint",
    "delta",
    "estimator",
    "servers",
    "pipeline",
    "hot",
    "sparse_core",
]


def _parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenario", choices=_SCENARIOS)
    parser.add_argument("system")
    parser.add_argument("--dim", type=int, required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--optimizer", required=True)
    parser.add_argument("--samples", type=int, default=4096)
    parser.add_argument("--cache", default="", help="folder for drawn ids")
    parser.add_argument("--scratch", default=".", help="folder for checkpoints")
    return parser.parse_args()


def _make_scenario(arguments, workload):
    if arguments.scenario == "sparse_core":
        from benchmarks.scenarios.sparse_core import SparseCore

        return SparseCore(arguments.system, arguments.dim, workload)
    system = system_class(arguments.system)
    if arguments.scenario == "growth":
        from benchmarks.scenarios.growth import Growth

        return Growth(system, arguments.dim, arguments.optimizer, workload)
    tables = system(arguments.dim, arguments.optimizer)
    if arguments.scenario == "step":
        from benchmarks.scenarios.step import Step

        return Step(tables, workload)
    if arguments.scenario == "hot":
        from benchmarks.scenarios.hot import Hot

        return Hot(tables, workload)
    if arguments.scenario == "servers":
        from benchmarks.scenarios.servers import Servers

        return Servers(tables, workload)
    folder = os.path.join(arguments.scratch, arguments.system)
    if arguments.scenario == "delta":
        from benchmarks.scenarios.delta import Delta

        return Delta(tables, workload, folder)
    from benchmarks.scenarios.checkpoint import Checkpoint

    return Checkpoint(tables, workload, folder)


def main():
    arguments = _parse_arguments()
    channel = Channel()
    workload = Workload(arguments.rows, arguments.samples, cache=arguments.cache)
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    if arguments.scenario in ("estimator", "pipeline"):
        from benchmarks.scenarios import estimator, pipeline

        system = system_class(arguments.system)
        scenario = estimator if arguments.scenario == "estimator" else pipeline
        scenario.serve(channel, system, arguments.dim, arguments.optimizer, workload)
        return
    tf.compat.v1.disable_eager_execution()
    scenario = _make_scenario(arguments, workload)
    facts = scenario.facts() if hasattr(scenario, "facts") else {}
    channel.ready(dict(facts, measures=scenario.measures(), tensorflow=tf.__version__))
    request = channel.next_request()
    while request is not None:
        channel.answer(scenario.measure(*request))
        request = channel.next_request()
    if hasattr(scenario, "close"):
        scenario.close()


if __name__ == "__main__":
    main()

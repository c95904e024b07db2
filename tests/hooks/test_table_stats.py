"""TableStatsHook: the numbers it writes, and when."""

import glob
import os

import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import eviction
from estimator_plugin.hooks import EvictHook, TableStatsHook
from tests.plugin import support
from tests.plugin.admitting import dataset

v1 = tf.compat.v1
BATCHES = [[1, 1, 2], [1, 2, 3], [2, 3, 3], [9, -1]]


def train(*hooks, names=("user",)):
    """Looks BATCHES up, in each table; keys are admitted at their second occurrence."""
    v1.train.create_global_step()
    features = v1.data.make_one_shot_iterator(dataset(BATCHES)).get_next()
    rows = []
    for name in names:
        table = support.table(name, eviction=eviction.RowBudget(1))
        config = {"access_threshold": 2}
        rows.append(ep.sparse_lookup(table, features["ids"], access_and_evict_config=config))
    with tf.control_dependencies(rows):
        step = v1.assign_add(v1.train.get_global_step(), 1)
    with v1.train.MonitoredTrainingSession(hooks=list(hooks)) as session:
        while not session.should_stop():
            session.run(step)


def written(directory):
    """{step: {tag: value}} of the summaries in a directory."""
    found = {}
    for path in glob.glob(os.path.join(str(directory), "events*")):
        for event in v1.train.summary_iterator(path):
            for value in event.summary.value:
                found.setdefault(event.step, {})[value.tag] = value.simple_value
    return found


def test_scalars_by_hand(tmp_path):
    train(TableStatsHook(every_n_steps=2, output_dir=str(tmp_path)))
    scalars = written(tmp_path)
    assert sorted(scalars) == [2, 4]
    short = {
        step: {tag.replace("tables/user/", ""): value for tag, value in values.items()}
        for step, values in scalars.items()
    }
    # After two steps 1 and 2 have rows, 3 waits; of six keys looked up 1 was found, once.
    assert short[2].pop("bytes") > 0
    assert short[2].pop("hit_rate") == pytest.approx(1 / 6)
    zeros = {"evicted": 0, "stale_updates": 0, "backward_clocks": 0}
    assert short[2] == dict(zeros, rows=2, admitted=2, waiting=1)
    # Then 2 was found, and 3 was admitted by its batch; 9 waits, -1 is no key.
    assert short[4].pop("bytes") > 0
    assert short[4].pop("hit_rate") == pytest.approx(1 / 4)
    assert short[4] == dict(zeros, rows=3, admitted=3, waiting=1)


def test_evicted_rows_are_counted(tmp_path):
    hook = TableStatsHook(every_n_steps=4, output_dir=str(tmp_path))
    train(EvictHook(True, evict_step_interval=2), hook)
    # Two rows after step 2, one after the eviction; 3 comes in step 3 and one leaves in step 4.
    values = written(tmp_path)[4]
    assert (values["tables/user/rows"], values["tables/user/evicted"]) == (1, 2)


def test_the_end_is_written_once(tmp_path):
    train(TableStatsHook(every_n_steps=3, output_dir=str(tmp_path)))
    assert sorted(written(tmp_path)) == [3, 4]


def test_a_writer_and_a_choice_of_tables(tmp_path):
    writer = v1.summary.FileWriter(str(tmp_path))
    train(TableStatsHook(4, summary_writer=writer, tables=["item"]), names=("user", "item"))
    assert {tag.split("/")[1] for tag in written(tmp_path)[4]} == {"item"}


def test_the_log_has_it_too(caplog):
    with caplog.at_level("INFO", logger="tensorflow"):
        train(TableStatsHook(4))
    (line,) = [r.getMessage() for r in caplog.records if "TableStatsHook" in r.getMessage()]
    assert line.startswith("TableStatsHook: step 4, table user: rows 3, bytes ")
    assert "admitted 3, waiting 1, evicted 0" in line and line.endswith("hit_rate 0.2000")


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        ({"every_n_steps": 1, "every_n_secs": 1}, "one of every_n_steps and every_n_secs"),
        ({"every_n_steps": 0}, "every_n_steps must be an int from 1"),
        ({"every_n_secs": 0}, "every_n_secs must be a number above 0"),
        ({"output_dir": "a", "summary_writer": object()}, "one of output_dir and summary_writer"),
    ],
)
def test_wrong_arguments(arguments, wanted):
    with pytest.raises(ValueError, match="TableStatsHook: .*" + wanted):
        TableStatsHook(**arguments)


def test_tables_that_are_not_there():
    support.table()
    with pytest.raises(ValueError, match="tables must be names of tables, out of \\['user'\\]"):
        TableStatsHook(tables=["item"]).begin()

"""Iterators: several of them, several initializers, restarts, old tensors, ends and errors."""

import time

import numpy as np
import pytest
import tensorflow as tf

import estimator_plugin as ep
from estimator_plugin import graph_state
from tests.graph import cases
from tests.plugin import support

v1 = tf.compat.v1


def hashed_lookup(table, numbers, **options):
    ids = tf.strings.to_hash_bucket_fast(tf.strings.as_string(numbers), 100)
    return ep.sparse_lookup(table, ids, modify_graph=True, **options)


def numbers(start, count):
    """A dataset of batches of one number each."""
    return tf.data.Dataset.range(start, start + count).batch(1)


def both_ways(program):
    """What `program(modify)` gives in a graph that it modifies, after comparing with one it does
    not."""
    results = []
    for modify in (lambda: None, ep.modify_graph_and_start_emb_cache):
        with tf.Graph().as_default():
            results.append(program(modify))
    np.testing.assert_equal(results[1], results[0])
    return results[1]


def drain(session, fetches):
    seen = []
    while True:
        try:
            seen.append(session.run(fetches))
        except tf.errors.OutOfRangeError:
            return seen


def test_training_and_evaluation_in_one_session():
    """Two iterators over one table, each restarted while the other is under way."""

    def program(modify):
        table = support.table(initializer=v1.truncated_normal_initializer(seed=1))
        train = v1.data.make_initializable_iterator(numbers(0, 6))
        check = v1.data.make_initializable_iterator(numbers(3, 6))
        loss = tf.reduce_sum(tf.square(hashed_lookup(table, train.get_next())))
        step = ep.optimizers.adagrad.create_hash_optimizer(0.1).minimize(loss)
        read = hashed_lookup(table, check.get_next(), is_train=False)
        modify()
        seen = []
        with support.ready_session() as session:
            for steps in (2, 3, 6):
                session.run(train.initializer)
                seen += [session.run([loss, step])[0] for _ in range(steps)]
                session.run(check.initializer)
                seen += drain(session, read)
        return seen

    assert len(both_ways(program)) == 11 + 18


def test_get_initializer_starts_the_iterators_of_its_lookups():
    table = support.table()
    iterators = [v1.data.make_initializable_iterator(numbers(0, 2)) for _ in range(2)]
    reads = [
        hashed_lookup(table, iterator.get_next(), is_train=is_train)
        for iterator, is_train in zip(iterators, (True, False))
    ]
    ep.modify_graph_and_start_emb_cache()
    starts = [ep.get_initializer(True), ep.get_initializer(False)]
    collected = v1.get_collection(ep.constants.ASCEND_CUTTING_POINT_INITIALIZER)
    assert collected == [iterator.initializer for iterator in iterators]
    with support.ready_session() as session:
        for start, read, other in zip(starts, reads, reversed(reads)):
            session.run(start)
            assert len(drain(session, read)) == 2
            if start is starts[0]:
                with pytest.raises(tf.errors.FailedPreconditionError):
                    session.run(other)


def test_one_iterator_with_several_datasets():
    def program(modify):
        datasets = [numbers(0, 3), numbers(50, 4).shuffle(4, seed=1)]
        iterator = v1.data.Iterator.from_structure(tf.int64, tf.TensorShape([None]))
        starts = [iterator.make_initializer(dataset) for dataset in datasets]
        batch = iterator.get_next()
        read = hashed_lookup(support.table(), batch)
        modify()
        with support.ready_session() as session:
            seen = []
            for start in (starts[0], starts[1], starts[0]):
                session.run(start)
                seen += drain(session, [read, batch])
            return seen

    assert len(both_ways(program)) == 3 + 4 + 3


@pytest.mark.parametrize("kind", ["initializable", "one-shot"])
def test_old_tensors_give_the_batch_of_the_step(kind):
    """Fetched now and then, and by operations made after the graph was modified."""

    def program(modify):
        iterator = cases.iterator_of(numbers(0, 9), kind)
        batch = iterator.get_next()
        read = hashed_lookup(support.table(), batch)
        modify()
        late = tf.reduce_sum(batch) + 1
        seen = []
        with support.ready_session() as session:
            session.run([iterator.initializer] if kind == "initializable" else [])
            for fetches in 3 * ([read], [read, batch], [late]):
                seen.append(session.run(fetches))
        return seen

    assert both_ways(program)[-1] == [9]


def test_old_tensors_cannot_be_fed():
    batch = v1.data.make_one_shot_iterator(numbers(0, 3)).get_next()
    read = hashed_lookup(support.table(), batch)
    ep.modify_graph_and_start_emb_cache()
    with support.ready_session() as session:
        with pytest.raises(ValueError, match="may not be fed"):
            session.run(read, {batch: [7]})
        assert session.run(read).shape == (1, 4)


def test_a_step_that_fails_shifts_nothing():
    """A batch that the step has read is gone, and the next one's parts belong together."""
    batch = v1.data.make_one_shot_iterator(numbers(0, 4)).get_next()
    read = hashed_lookup(support.table(), batch)
    is_good = v1.placeholder(tf.bool, [])
    with tf.control_dependencies([v1.Assert(is_good, ["bad step"])]):
        checked = read + 0
    doubled = 2 * batch
    ep.modify_graph_and_start_emb_cache()
    seen = []
    with support.ready_session() as session:
        for good in (True, False, False, True):
            try:
                _, old, new = session.run([checked, batch, doubled], {is_good: good})
                seen.append((old[0], new[0]))
            except tf.errors.InvalidArgumentError:
                assert not good
    assert len(seen) == 2 and all(new == 2 * old for old, new in seen)


def test_as_many_batches_are_ready_as_init_says():
    depth = 60  # Far more than a map with a thread a core has under way by itself.
    ep.init(prefetch_batch_number=depth)
    pulled = []

    def generate():
        for i in range(1000):
            pulled.append(i)
            yield [i]

    dataset = tf.data.Dataset.from_generator(generate, tf.int64, [1])
    read = hashed_lookup(support.table(), v1.data.make_one_shot_iterator(dataset).get_next())
    ep.modify_graph_and_start_emb_cache()
    with support.ready_session() as session:
        session.run(read)
        for _ in range(1000):
            if len(pulled) > depth:
                break
            time.sleep(0.01)
        assert depth < len(pulled) < 1000


def test_ids_that_others_use_too():
    def program(modify):
        batch = v1.data.make_one_shot_iterator(numbers(0, 5)).get_next()
        ids = tf.strings.to_hash_bucket_fast(tf.strings.as_string(batch), 100)
        table = support.table()
        read = ep.sparse_lookup(table, ids, modify_graph=True)
        weight = tf.cond(tf.reduce_any(ids > 50), lambda: tf.reduce_sum(ids), lambda: ids[0])
        again = ep.sparse_lookup(table, ids + 1)
        modify()
        with support.ready_session() as session:
            return drain(session, [read, weight, again, ids])

    assert len(both_ways(program)) == 5


def test_a_graph_that_is_not_the_default_one():
    graph = tf.Graph()
    with graph.as_default():
        read = hashed_lookup(
            support.table(), v1.data.make_one_shot_iterator(numbers(0, 3)).get_next()
        )
    ep.modify_graph_and_start_emb_cache(full_graph=graph)
    assert graph_state.of(graph).pipeline.cuts and not v1.get_default_graph().get_operations()
    with graph.as_default(), support.ready_session() as session:
        assert len(drain(session, read)) == 3


@pytest.mark.parametrize("kind", ["initializable", "one-shot"])
def test_an_error_names_the_operation_and_the_lookup_and_the_next_batch_is_good(kind):
    texts = tf.data.Dataset.from_tensor_slices(["1", "two", "3"]).batch(1)
    iterator = cases.iterator_of(texts, kind)
    ids = tf.strings.to_number(iterator.get_next(), tf.int64, name="number_of_user")
    read = ep.sparse_lookup(support.table(), ids, modify_graph=True, name="age")
    ep.modify_graph_and_start_emb_cache()
    with support.ready_session() as session:
        session.run([iterator.initializer] if kind == "initializable" else [])
        session.run(read)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="two(.|\n)*number_of_user_for_user/age}}"
        ):
            session.run(read)
        assert session.run(read).shape == (1, 4)


def test_a_dataset_that_raises():
    def generate():
        yield [1]
        raise KeyError("the file is gone")

    dataset = tf.data.Dataset.from_generator(generate, tf.int64, [1])
    read = hashed_lookup(support.table(), v1.data.make_one_shot_iterator(dataset).get_next())
    ep.modify_graph_and_start_emb_cache()
    with support.ready_session() as session:
        session.run(read)
        with pytest.raises(tf.errors.UnknownError, match="the file is gone"):
            session.run(read)

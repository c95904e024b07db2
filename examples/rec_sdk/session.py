"""A Rec SDK program with a plain session; it knows nothing of the library that it runs on here.

python -m estimator_plugin run examples/rec_sdk/session.py --steps 60
"""

import os

import common
import tensorflow as tf
from mx_rec.core.asc.manager import start_asc_pipeline
from mx_rec.util.initialize import set_if_load, terminate_config_initializer
from rec_sdk_common.communication.hccl.hccl_info import get_rank_id

v1 = tf.compat.v1
EVAL_BATCHES = 10


def start_pipeline(iterators, specs):
    """What makes the data flow: the Rec SDK's rebuilt iterators in its automatic mode, where there
    is one, or the program's own.

    Returns:
      The initializers of the train and the eval iterator.
    """
    if specs is not None:
        start_asc_pipeline()
        return [iterator.initializer for iterator in iterators]
    try:
        from mx_rec.graph.modifier import modify_graph_and_start_emb_cache
        from mx_rec.util.initialize import get_initializer
    except ImportError as error:
        print("without graph modification: %s" % error)
        return [iterator.initializer for iterator in iterators]
    modify_graph_and_start_emb_cache(dump_graph=False)
    return [get_initializer(True), get_initializer(False)]


def graphs(arguments, specs):
    """(train operation, losses by "train" and "eval", the two iterators)."""
    iterators = [
        v1.data.make_initializable_iterator(common.dataset(first, count, specs, is_training))
        for first, count, is_training in (
            (0, arguments.steps, True),
            (10**6, EVAL_BATCHES, False),
        )
    ]
    optimizer = common.sparse_optimizer(arguments.expansion)
    by_name = common.tables(arguments, optimizer)
    losses = {}
    for name, iterator in zip(("train", "eval"), iterators):
        batch = iterator.get_next()
        logits = common.logits_of(by_name, batch, is_train=name == "train", specs=specs)
        losses[name] = common.loss_of(logits, batch["label"])
    operation = common.train_op(losses["train"], optimizer, arguments.expansion)
    return operation, losses, iterators


def evaluate(session, loss, initializer):
    session.run(initializer)
    return sum(session.run(loss) for _ in range(EVAL_BATCHES)) / EVAL_BATCHES


def main():
    arguments = common.parser(__doc__.splitlines()[0]).parse_args()
    v1.disable_eager_execution()
    v1.set_random_seed(7)
    common.initialize(arguments, save_steps=20)
    latest = tf.train.latest_checkpoint(arguments.model_dir)
    if latest:
        set_if_load(True)
    specs = common.feature_specs(arguments)
    operation, losses, iterators = graphs(arguments, specs)
    train_initializer, eval_initializer = start_pipeline(iterators, specs)
    saver = v1.train.Saver(max_to_keep=2)
    step = v1.train.get_global_step()
    path = os.path.join(arguments.model_dir, "model-%d" % get_rank_id())
    os.makedirs(arguments.model_dir, exist_ok=True)
    with v1.Session() as session:
        session.run(train_initializer)
        session.run(v1.global_variables_initializer())
        if latest:
            saver.restore(session, latest)
        print(
            "step %d, eval loss %.4f"
            % (session.run(step), evaluate(session, losses["eval"], eval_initializer))
        )
        for _ in range(arguments.steps):
            session.run(operation)
            now = session.run(step)
            if now % 20 == 0:
                saver.save(session, path, global_step=now)
        loss = evaluate(session, losses["eval"], eval_initializer)
        print("step %d, eval loss %.4f" % (session.run(step), loss))
    terminate_config_initializer()


if __name__ == "__main__":
    main()

"""A Rec SDK program with NPUEstimator; it knows nothing of the library that it runs on here.

python -m estimator_plugin run examples/rec_sdk/estimator.py --mode train_and_evaluate
"""

import common
import tensorflow as tf
from mx_rec.util.initialize import terminate_config_initializer
from tf_adapter import DumpConfig, NPUEstimator, NPURunConfig, npu_hooks_append

v1 = tf.compat.v1
EVAL_BATCHES = 10


def graph_hooks(arguments):
    """The Rec SDK's hook, where there is one: it starts the pipeline in either mode."""
    try:
        from mx_rec.graph import GraphModifierHook
    except ImportError as error:
        print("without GraphModifierHook: %s" % error)
        return []
    return [GraphModifierHook(modify_graph=not arguments.feature_spec)]


def input_fn(arguments, first, count, is_training=True):
    return lambda: common.dataset(first, count, arguments.specs, is_training)


def model_fn(features, mode, params):
    """Labels come in the batch, as in the Rec SDK's examples."""
    arguments = params["arguments"]
    is_train = mode == tf.estimator.ModeKeys.TRAIN
    optimizer = common.sparse_optimizer(arguments.expansion)
    by_name = common.tables(arguments, optimizer)
    logits = common.logits_of(by_name, features, is_train, arguments.specs)
    if mode == tf.estimator.ModeKeys.PREDICT:
        predictions = {"click": tf.sigmoid(logits), "label": features["label"]}
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)
    loss = common.loss_of(logits, features["label"])
    if not is_train:
        auc = v1.metrics.auc(features["label"], tf.sigmoid(logits))
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"auc": auc})
    operation = common.train_op(loss, optimizer, arguments.expansion)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=operation)


def make_estimator(arguments):
    session_config = v1.ConfigProto(allow_soft_placement=True)
    custom = session_config.graph_options.rewrite_options.custom_optimizers.add()
    custom.name = "NpuOptimizer"
    custom.parameter_map["op_precision_mode"].s = tf.compat.as_bytes("op_impl_mode.ini")
    config = NPURunConfig(
        model_dir=arguments.model_dir,
        save_checkpoints_steps=arguments.save_steps,
        keep_checkpoint_max=3,
        session_config=session_config,
        iterations_per_loop=1,
        mix_compile_mode=True,
        precision_mode="allow_mix_precision",
        dump_config=DumpConfig(enable_dump=False),
    )
    return NPUEstimator(model_fn, config=config, params={"arguments": arguments})


def train_and_evaluate(estimator, arguments):
    result, _ = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(
            input_fn(arguments, 0, arguments.steps),
            max_steps=arguments.steps,
            hooks=npu_hooks_append(graph_hooks(arguments)),
        ),
        tf.estimator.EvalSpec(
            input_fn(arguments, 10**6, EVAL_BATCHES, is_training=False),
            steps=EVAL_BATCHES,
            hooks=npu_hooks_append(graph_hooks(arguments)),
            throttle_secs=0,
        ),
    )
    print("step %d, auc %.3f" % (result["global_step"], result["auc"]))


def predict(estimator, arguments):
    batches = estimator.predict(
        input_fn(arguments, 10**6, 1, is_training=False),
        hooks=npu_hooks_append(graph_hooks(arguments)),
        yield_single_examples=False,
    )
    for batch in batches:
        right = ((batch["click"] > 0.5) == (batch["label"] > 0.5)).mean()
        print("%d predictions, %.3f right" % (len(batch["click"]), right))


def main():
    parser = common.parser(__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=["train", "train_and_evaluate", "predict"])
    parser.add_argument("--save_steps", type=int, default=30)
    arguments = parser.parse_args()
    v1.logging.set_verbosity(v1.logging.ERROR)
    common.initialize(arguments, arguments.save_steps)
    arguments.specs = common.feature_specs(arguments)
    estimator = make_estimator(arguments)
    if arguments.mode == "predict":
        predict(estimator, arguments)
    elif arguments.mode == "train_and_evaluate":
        train_and_evaluate(estimator, arguments)
    else:
        hooks = npu_hooks_append(graph_hooks(arguments))
        inputs = input_fn(arguments, 0, arguments.steps)
        estimator.train(inputs, max_steps=arguments.steps, hooks=hooks)
        print("trained to step %d" % estimator.get_variable_value("global_step"))
    terminate_config_initializer()


if __name__ == "__main__":
    main()

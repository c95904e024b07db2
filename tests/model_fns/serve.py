"""A serving process: python -m tests.model_fns.serve SAVED_MODEL OUTPUT.npy.

Loads the model with TensorFlow 2's loader and nothing but the op library, and writes logits.
"""

import sys

import numpy as np
import tensorflow as tf

import estimator_plugin as ep
from tests.model_fns import synthetic

EXAMPLES = 50


def main(path, output):
    ep.ops.library.load()
    features, _ = synthetic.arrays()
    rows = {name: tf.constant(values[:EXAMPLES]) for name, values in features.items()}
    served = tf.saved_model.load(path).signatures["serving_default"](**rows)
    np.save(output, served["logits"].numpy())


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What an embedding computes, in terms of logical tables and plain numpy: nothing of stacks, shards
or buffers.

A feature's ids are a list of (sample, id, weight); a table is a float array.
"""

import numpy as np


def gains(tokens, samples, combiner):
    """(sample, id, gain) of each token."""
    divisor = np.zeros(samples)
    for sample, _, weight in tokens:
        divisor[sample] += {"sum": 0, "mean": weight, "sqrtn": weight * weight}[combiner]
    if combiner == "sum":
        divisor[:] = 1
    divisor = np.sqrt(divisor) if combiner == "sqrtn" else divisor
    return [(s, i, w / divisor[s] if divisor[s] else 0.0) for s, i, w in tokens]


def quantized(values, quantization):
    if quantization is None:
        return values
    buckets, low, high = quantization
    step = (high - low) / (buckets - 1)
    return np.floor((np.clip(values, low, high) - low) / step + 0.5) * step + low


def activations(table, tokens, samples, combiner, quantization=None):
    """[samples, dim]."""
    result = np.zeros([samples, table.shape[1]])
    for sample, i, gain in gains(tokens, samples, combiner):
        result[sample] += gain * quantized(table[i], quantization)
    return result


def row_gradients(lookups):
    """{id: gradient} of a table; lookups are (tokens, samples, combiner, gradient)."""
    result = {}
    for tokens, samples, combiner, gradient in lookups:
        for sample, i, gain in gains(tokens, samples, combiner):
            result[i] = result.get(i, 0) + gain * gradient[sample]
    return result


def update(optimizer, tables, i, g):
    """One step of row i: `tables` is {"parameters" or slot: array}, changed in place."""
    name, o = type(optimizer).__name__, optimizer
    row = {slot: values[i] for slot, values in tables.items()}
    w, lr = row["parameters"], o.learning_rate
    if name == "SGD":
        w -= lr * g
    elif name == "Adagrad":
        row["accumulators"] += g * g
        w -= lr * g / np.sqrt(row["accumulators"])
    elif name == "AdagradMomentum":
        a, m = row["accumulators"], row["momenta"]
        a[:] = a + g * g if o.beta2 == 1 else o.beta2 * a + (1 - o.beta2) * g * g
        s = (a + o.epsilon) ** (-1 / o.exponent) * g
        m[:] = o.momentum * m + s
        w -= lr * (o.momentum * m + s if o.use_nesterov else m)
    elif name == "Adam":
        m, v = row["momenta"], row["velocities"]
        m[:] = o.beta_1 * m + (1 - o.beta_1) * g
        v[:] = o.beta_2 * v + (1 - o.beta_2) * g * g
        inside = np.sqrt(v + o.epsilon**2)
        w -= lr * m / (inside if o.sum_inside_sqrt else np.sqrt(v) + o.epsilon)
    else:
        _ftrl(o, w, row["accumulators"], row["linears"], g)
    low, high = o.clip_weight_min, o.clip_weight_max
    if low is not None or high is not None:
        w[:] = np.clip(w, low, high)


def _ftrl(o, w, n, z, g):
    lr, l1, l2 = o.learning_rate, o.l1_regularization_strength, o.l2_regularization_strength
    before, after = n**-o.learning_rate_power, (n + g * g) ** -o.learning_rate_power
    n += g * g
    if o.multiply_linear_by_learning_rate:
        z += lr * g - (after - before) * w
        c, d = lr * l1, after + 2 * lr * l2 + o.beta
    else:
        z += g - (after - before) * w / lr
        c, d = l1, (after + o.beta) / lr + 2 * l2
    w[:] = (np.clip(z, -c, c) - z) / d

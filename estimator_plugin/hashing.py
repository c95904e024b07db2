"""The rule that maps a key to its bucket, in numpy: the twin of ops/core/hash.h, same bits.

Checkpoints depend on it, so the two change together or not at all (`HASH_VERSION`).
"""

import numpy as np

HASH_VERSION = 1


def mix_key(keys):
    """SplitMix64's output for each key, a bijection of 64-bit words (Steele, Lea, Flood 2014).

    Args:
      keys: integers of any shape, int64 or convertible.

    Returns:
      A uint64 array of the same shape.

    >>> hex(int(mix_key(0)))
    '0xe220a8397b1dcdaf'
    """
    x = np.asarray(keys, dtype=np.int64).astype(np.uint64)
    with np.errstate(over="ignore"):  # Arithmetic modulo 2^64 is what is wanted.
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def bucket_of_key(keys, num_buckets):
    """The bucket, 0 to `num_buckets` - 1, that holds each key: the top bits of `mix_key`.

    Args:
      keys: integers of any shape.
      num_buckets: a power of two up to 65536.

    Returns:
      An int64 array of the same shape.
    """
    if num_buckets < 1 or num_buckets > 65536 or num_buckets & (num_buckets - 1):
        raise ValueError("num_buckets must be a power of two up to 65536, got %r" % (num_buckets,))
    if num_buckets == 1:
        return np.zeros(np.shape(keys), dtype=np.int64)
    shift = 64 - (num_buckets.bit_length() - 1)
    return (mix_key(keys) >> np.uint64(shift)).astype(np.int64)

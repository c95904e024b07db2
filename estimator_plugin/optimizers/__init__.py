"""Sparse optimizers, one module each, with the factory names of the Rec SDK.

`create_hash_optimizer` and `create_hash_optimizer_by_address` of a module (for gradient descent
also `create_hash_optimizer_by_addr`) differ in defaults only: each optimizer takes gradients by key
and by address.
"""

from . import (
    adagrad,
    adagrad_by_addr,
    adam,
    amsgrad,
    ftrl,
    gradient_descent,
    gradient_descent_by_addr,
    lazy_adam,
    lazy_adam_by_addr,
    momentum,
    rmsprop,
)
from .base import HashOptimizer

__all__ = [
    "HashOptimizer",
    "adagrad",
    "adagrad_by_addr",
    "adam",
    "amsgrad",
    "ftrl",
    "gradient_descent",
    "gradient_descent_by_addr",
    "lazy_adam",
    "lazy_adam_by_addr",
    "momentum",
    "rmsprop",
]

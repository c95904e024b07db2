"""Starting a new model from pieces of old checkpoints."""

from .apply import warm_start
from .settings import WithoutSlots

__all__ = ["WithoutSlots", "warm_start"]

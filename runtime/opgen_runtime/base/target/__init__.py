"""Compilation targets."""

from .answer import ask
from .target import Target

__all__ = ["Target", "ask"]

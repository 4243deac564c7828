"""Compilation targets."""

from .answer import ask
from .architecture import Architecture, Vectors
from .families import architecture_of
from .target import Target

__all__ = ["Architecture", "Target", "Vectors", "architecture_of", "ask"]

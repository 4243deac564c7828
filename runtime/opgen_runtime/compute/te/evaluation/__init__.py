"""Evaluation of tensor expressions by numpy."""

from __future__ import annotations

from .run import evaluate

__all__ = ["evaluate"]

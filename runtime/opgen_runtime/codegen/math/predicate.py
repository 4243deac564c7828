"""isnan, isinf, isfinite: i1 in every lane."""

from __future__ import annotations

import math

from .builder import Builder, Vec


def isnan(b: Builder, x: Vec) -> Vec:
    return x.is_nan()


def isinf(b: Builder, x: Vec) -> Vec:
    return b.abs(x).equals(math.inf)


def isfinite(b: Builder, x: Vec) -> Vec:
    return b.abs(x) < math.inf

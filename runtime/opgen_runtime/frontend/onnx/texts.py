"""Tensors of strings: values of the call at hand, which no op computes with."""

from __future__ import annotations

import numpy as np

from ...base.vocabulary import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """The strings, an array of `str` objects."""

    array: np.ndarray

    @staticmethod
    def of(array: np.ndarray) -> Texts:
        """Strings as models take them: `str` objects, numpy's own strings, or bytes of UTF-8."""
        texts = [t.decode("utf-8") if isinstance(t, bytes) else str(t) for t in array.reshape(-1).tolist()]
        found = np.empty(len(texts), object)
        found[:] = texts
        return Texts(found.reshape(array.shape))


@dataclass(frozen=True, slots=True)
class TextType:
    """The element type of strings."""

    def __str__(self) -> str:
        return "string"


def is_texts(array: np.ndarray) -> bool:
    return array.dtype.kind in "OUS"

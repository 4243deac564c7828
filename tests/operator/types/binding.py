"""Types and failing bindings, as the tests of signatures write them."""

from __future__ import annotations

import pytest

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.operator.attrs import Attrs
from opgen_runtime.operator.types import Signature, TensorType, bind


def t(*shape: object, dtype: str = "float32") -> TensorType:
    return TensorType(shape, dtype)  # type: ignore[arg-type]


def failing(kind: type[OpgenError], signature: Signature, attrs: Attrs | None, *types: object) -> str:
    with pytest.raises(kind) as caught:
        bind(signature, "op", attrs, types, [f"%{k}" for k in range(len(types))], site="model.py:7")
    message, _, site = str(caught.value).rpartition("\n  at ")
    assert site == "model.py:7"
    return message

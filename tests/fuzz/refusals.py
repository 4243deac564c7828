"""ONNX's node cases with one thing changed: what does not fit is refused in words of ours.

Where `models` draws mutants at random, this goes through them: of one case, every input by every other shape of a
short list and by other values, every attribute by other numbers, one at a time, and every optional thing left out.
Only the conversion is asked, without compilation, so that a case is hundreds of variants in a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final
from unittest import mock

import numpy as np

from tests.fuzz.models import _INTS, _bound_memory, _node_cases, _value

COUNT: Final = (
    450  # about one for each operator with each of its sets of attributes; those beyond it begin again
)
SECONDS: Final = 120.0
NEEDS: Final = "onnx"

_FLOATS: Final = (0.0, -1.0, 0.5, 1e30, float("inf"), float("nan"))
_FEW: Final = 40  # numbers of a list that are changed, and elements of an input
_FOREIGN: Final = "do not fit together ("


def case(seed: int) -> None:
    """All variants of one node case; raises AssertionError with each refusal that is not of ours."""
    _bound_memory()
    cases = _different_cases()
    one = cases[seed % len(cases)]
    inputs = [_value(each) for each in one.data_sets[0][0]]
    wrong = []
    for what, model, given in variants(one.model, inputs):
        reason = why_foreign(model, given)
        if reason:
            wrong.append(f"{one.name}, {what}: {reason}")
    assert not wrong, "\n".join(wrong)


@cache
def _different_cases() -> list[Any]:
    """The node cases of one node that differ by operator, opset, names of attributes, or count of inputs."""
    found: dict[Any, Any] = {}
    for one in _node_cases():
        nodes = one.model.graph.node
        if len(nodes) == 1:
            attributes = sorted([attribute.name for attribute in nodes[0].attribute])
            opsets = [each.version for each in one.model.opset_import]
            key = (nodes[0].op_type, *opsets, *attributes, len(one.data_sets[0][0]))
            found.setdefault(key, one)
    return list(found.values())


class _Converted(Exception):
    """Raised in place of compilation: there is a program."""


def why_foreign(model: Any, given: list[Any]) -> str | None:
    """What a conversion says that is no sentence of ours; None for a refusal that is, and for a program."""
    from opgen_runtime.base.errors import ExecutorError
    from opgen_runtime.frontend import onnx as frontend

    limits = frontend.Limits(memory=1 << 28, nodes=2000, calls=4000, steps=64)
    try:
        with (
            mock.patch("opgen_runtime.frontend.onnx.specialised._built", side_effect=_Converted),
            mock.patch.dict("os.environ", OPGEN_CACHE_PROGRAMS="0"),
        ):
            frontend.prepare(model, limits=limits)(given)
    except _Converted:
        return None
    except (frontend.ModelError, frontend.UnsupportedOperatorError, ExecutorError) as error:
        said = str(error)
        return said if _FOREIGN in said or not said.strip() else None
    except Exception as error:  # whatever it is, it is not ours
        return f"{type(error).__name__}: {error}"
    return None


def variants(model: Any, inputs: list[Any]) -> Iterator[tuple[str, Any, list[Any]]]:
    """What is changed, the model, and its inputs."""
    plain = _opened(model)
    for at, value in enumerate(inputs):
        for what, other in _other_inputs(value):
            yield f"input {at} {what}", plain, [*inputs[:at], other, *inputs[at + 1 :]]
    for k, node in enumerate(model.graph.node):
        for j, attribute in enumerate(node.attribute):
            if attribute.name in ("to", "dtype", "body"):
                continue
            for what, change in _other_attributes(attribute):
                copy = _opened(model)
                change(copy.graph.node[k].attribute, j)
                yield f"node {k} {attribute.name} {what}", copy, inputs
        for j, name in enumerate(node.input):
            if name:
                copy = _opened(model)
                copy.graph.node[k].input[j] = ""
                yield f"node {k} without input {j}", copy, inputs


def _opened(model: Any) -> Any:
    """A copy that says nothing of the shapes of its inputs."""
    copy = type(model)()
    copy.CopyFrom(model)
    for value in copy.graph.input:
        value.type.tensor_type.ClearField("shape")
    return copy


def _other_inputs(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        yield "empty", []
        yield "longer", [*value, *value[:1]]
        for what, other in _other_inputs(value[0]) if value else ():
            yield f"first {what}", [other, *value[1:]]
        return
    if not isinstance(value, np.ndarray):
        return
    shape = value.shape
    shapes = {(), (0,), (1,), (2,), (3,), (1, *shape), (*shape, 1), (2, *shape), (*shape, 2), shape[1:], shape[:-1],
              (0,) * len(shape), (1,) * len(shape), (2,) * len(shape)}  # fmt: skip
    for d, n in enumerate(shape):
        shapes |= {(*shape[:d], m, *shape[d + 1 :]) for m in (0, 1, n + 1, max(n - 1, 0), 2 * n)}
    for other in sorted(shapes - {shape}, key=lambda dims: (len(dims), dims)):
        yield f"of shape {other}", np.resize(value, other)
    numbers: tuple[Any, ...] = (
        _INTS if value.dtype.kind in "iu" else _FLOATS if value.dtype.kind == "f" else ()
    )
    if value.size > 8:
        return
    for k in range(value.size):
        for number in numbers:
            changed = value.copy()
            with np.errstate(all="ignore"):
                changed.reshape(-1)[k] = np.array(number).astype(value.dtype)
            yield f"with {number} at {k}", changed


def _other_attributes(attribute: Any) -> Iterator[tuple[str, Any]]:
    def removed(attributes: Any, at: int) -> None:
        del attributes[at]

    yield "left out", removed
    for field, numbers in (("i", _INTS), ("f", _FLOATS)):
        if attribute.HasField(field):
            for number in numbers:
                yield f"{number}", lambda found, at, f=field, n=number: setattr(found[at], f, n)
    if attribute.HasField("s"):
        for text in (b"", b"x", b"\xff"):
            yield f"{text!r}", lambda found, at, t=text: setattr(found[at], "s", t)
    for field, numbers in (
        ("ints", (0, -1, 1, 2, 7, 1 << 62)),
        ("floats", _FLOATS),
        ("strings", (b"", b"x")),
    ):
        held = list(getattr(attribute, field))
        for what, other in _other_lists(held, numbers) if held else ():
            yield what, lambda found, at, f=field, o=other: _assign_list(found[at], f, o)


def _other_lists(held: list[Any], numbers: tuple[Any, ...]) -> Iterator[tuple[str, list[Any]]]:
    yield "empty", []
    yield "shorter", held[1:]
    yield "longer", [*held, held[0]]
    for k in range(min(len(held), _FEW)):
        for number in numbers:
            yield f"{number} at {k}", [*held[:k], number, *held[k + 1 :]]


def _assign_list(attribute: Any, field: str, values: list[Any]) -> None:
    attribute.ClearField(field)
    getattr(attribute, field).extend(values)

"""Mutants of ONNX models: each is refused with an error that says why, or runs; nothing else comes out.

The models are ONNX's own node cases and small real ones.  A mutant differs in bytes, or somewhere in its tree of
messages: names, dtypes, attributes, dims, data, the order and number of anything.  It may not raise a foreign
exception, hang, or take memory that its limits do not allow.  What onnxruntime runs too must have the same values.
"""

from __future__ import annotations

import random
import resource
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

COUNT = 3000
SECONDS = 120.0
NEEDS = "onnx"  # the extra; without it there is nothing to mutate
_ADDRESS_SPACE = 6 << 30  # bytes: what a mutant takes beyond its limits fails
_COMPARED = 4  # one of so many mutants that run is compared with onnxruntime
_REAL = 40  # one of so many is a mutant of a real model

_RANDOM = frozenset(
    {
        "Bernoulli",
        "Dropout",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)
# Fast transforms subtract infinities that the definition adds to others: an infinity and NaN are equal there.
_TRANSFORMS = frozenset({"DFT", "STFT"})
# What stands at a place that is no number: NaN with us, anything with onnxruntime, which makes an integer of the place.
_SAMPLERS = frozenset({"GridSample", "DeformConv", "RoiAlign"})

_INTS = (
    0,
    -1,
    1,
    2,
    3,
    7,
    -2,
    64,
    65,
    1000,
    1 << 16,
    1 << 31,
    (1 << 31) - 1,
    1 << 62,
    (1 << 63) - 1,
    -(1 << 63),
)
_FLOATS = (0.0, -0.0, -1.0, 0.5, 3.0, 1e-30, 1e30, float("inf"), float("-inf"), float("nan"))
_TEXTS = ("", "x", "NOTSET", "SAME_UPPER", "linear", "no\nsuch\x1b[31m", "a" * 300, "ai.onnx", "None")


def case(seed: int) -> None:
    """One mutant; raises AssertionError, or what came out of it."""
    from opgen_runtime.base.errors import ExecutorError
    from opgen_runtime.frontend import onnx as frontend

    _bound_memory()
    choose = random.Random(seed)
    name, model, inputs = _original(choose)
    mutant: Any
    if choose.random() < 0.6:
        mutant, given = _other_values(choose, model, inputs)
    else:
        mutant, given = _mutant(choose, model), _given(choose, inputs)
    limits = frontend.Limits(memory=1 << 28, nodes=2000, calls=4000, steps=64)
    try:
        outputs = frontend.prepare(mutant, limits=limits)(given)
    except (frontend.ModelError, frontend.UnsupportedOperatorError, ExecutorError) as error:
        refusal = str(error)
        if "do not fit together (" in refusal or not refusal.strip():
            raise AssertionError(f"{name}: no reason of ours: {refusal}") from error
        return
    if seed % _COMPARED == 0 and find_spec("onnxruntime") is not None and not _leaves_open(model, mutant):
        _compare(name, mutant, given, outputs)


def _bound_memory() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, hard))


# ---- what is mutated


def _original(choose: random.Random) -> tuple[str, Any, list[Any]]:
    """A name, a model, and values for its inputs."""
    real = _real_models()
    if real and not choose.randrange(_REAL):
        name, model, array = choose.choice(real)
        return name, model, [array]
    cases = _node_cases()
    one = cases[choose.randrange(len(cases))]
    values = [_value(each) for each in one.data_sets[0][0]]
    return one.name, one.model, values


@cache
def _node_cases() -> list[Any]:
    from tests.conformance.node_cases import collect, listed

    inside = set(listed("in_scope.txt"))
    return sorted([each for each in collect() if each.name in inside], key=lambda each: str(each.name))


@cache
def _real_models() -> list[tuple[str, Any, np.ndarray]]:
    """The real models of `tests/conformance/models.py` that are there without a download, each with an input."""
    if find_spec("onnxruntime") is None:
        return []
    from tests.conformance import models

    held = [each for each in models.MODELS if not each.package or models.wheels(each)]
    return [(m.name, models.fetch(m), m.inputs(np.random.default_rng(0), m.shapes[0])) for m in held]


def _value(given: Any) -> Any:
    import onnx

    if isinstance(given, onnx.TensorProto):
        return onnx.numpy_helper.to_array(given)
    return given


# ---- how it is mutated


def _other_values(choose: random.Random, model: Any, inputs: list[Any]) -> tuple[Any, list[Any]]:
    """A model that may well be valid by its structure: other attributes, other inputs, and nothing said of shapes."""
    copy = type(model)()
    copy.CopyFrom(model)
    inputs = list(inputs)
    arrays = [k for k, value in enumerate(inputs) if isinstance(value, np.ndarray)]
    for _ in range(choose.choice((1, 1, 2, 3))):
        attributes = [
            a for m in _messages(copy.graph) if type(m).__name__ == "NodeProto" for a in m.attribute
        ]
        if attributes and (choose.random() < 0.5 or not arrays):
            within = [m for m in _messages(choose.choice(attributes)) if type(m).__name__ != "ValueInfoProto"]
            _change_tree(choose, copy, within, ("name", "type", "ref_attr_name"))
        elif arrays:
            at = choose.choice(arrays)
            inputs[at] = _other_array(choose, inputs[at])
    for value in copy.graph.input:
        value.type.tensor_type.ClearField("shape")
    return copy, inputs


def _other_array(choose: random.Random, array: np.ndarray) -> np.ndarray:
    """Another shape, or other values."""
    kind = choose.randrange(6)
    if kind == 0:
        return np.expand_dims(array, choose.randint(0, array.ndim)) if array.ndim < 60 else array
    if kind == 1:
        return array[:1].reshape(array.shape[1:]) if array.ndim and array.shape[0] else array
    if kind == 2:
        return np.resize(array, [choose.choice((0, 1, 2, n, n + 1)) for n in array.shape])
    if kind == 3:
        return np.repeat(array, 2, axis=choose.randrange(array.ndim)) if array.ndim else array
    changed = array.copy()
    for _ in range(choose.randint(1, 3)):
        if changed.size and changed.dtype.kind in "fiu":
            values = _FLOATS if changed.dtype.kind == "f" else _INTS
            with np.errstate(over="ignore"):
                changed.reshape(-1)[choose.randrange(changed.size)] = np.array(choose.choice(values)).astype(
                    array.dtype
                )
    return changed


def _mutant(choose: random.Random, model: Any) -> Any:
    """Bytes that were damaged, or a model with up to three changes in its tree."""
    content = bytearray(model.SerializeToString())
    if choose.random() < 0.3:
        for _ in range(choose.randint(1, 3)):
            choose.choice(_BYTE_CHANGES)(choose, content)
        return bytes(content)
    copy = type(model)()
    copy.CopyFrom(model)
    for _ in range(choose.choice((1, 1, 2, 3))):
        _change_tree(choose, copy)
    return copy


def _flip(choose: random.Random, content: bytearray) -> None:
    if content:
        content[choose.randrange(len(content))] ^= 1 << choose.randrange(8)


def _cut(choose: random.Random, content: bytearray) -> None:
    at = choose.randrange(len(content) + 1)
    del content[at : at + choose.choice((1, 2, 8, len(content)))]


def _insert(choose: random.Random, content: bytearray) -> None:
    at = choose.randrange(len(content) + 1)
    content[at:at] = choose.randbytes(choose.choice((1, 2, 8)))


def _repeat(choose: random.Random, content: bytearray) -> None:
    at = choose.randrange(len(content) + 1)
    content[at:at] = content[at : at + choose.choice((4, 16, 64))]


_BYTE_CHANGES: tuple[Callable[[random.Random, bytearray], None], ...] = (_flip, _flip, _cut, _insert, _repeat)


def _change_tree(
    choose: random.Random, model: Any, messages: list[Any] | None = None, but: tuple[str, ...] = ()
) -> None:
    """One change to one field of one message, chosen so that rare kinds of fields have their turn."""
    places: dict[str, list[tuple[Any, Any]]] = {}
    for message in _messages(model) if messages is None else messages:
        for field, _ in message.ListFields():
            if field.name not in but:
                places.setdefault(field.full_name, []).append((message, field))
    if not places:
        return
    message, field = choose.choice(places[choose.choice(sorted(places))])
    if _is_repeated(field):
        _change_list(choose, model, message, field)
    elif field.message_type is not None or choose.random() < 0.15:
        message.ClearField(field.name)
    else:
        _assign(message, field, _changed(choose, model, field, getattr(message, field.name)))


def _is_repeated(field: Any) -> bool:
    return (
        bool(field.label == field.LABEL_REPEATED)
        if not hasattr(field, "is_repeated")
        else bool(field.is_repeated)
    )


def _assign(message: Any, field: Any, value: object) -> None:
    try:
        setattr(message, field.name, value)
    except ValueError:  # out of the range of a 32-bit field
        message.ClearField(field.name)


def _change_list(choose: random.Random, model: Any, message: Any, field: Any) -> None:
    found = getattr(message, field.name)
    items = [_copied(each) for each in found]
    kind = choose.randrange(6)
    if kind == 0:
        del items[choose.randrange(len(items))]
    elif kind == 1:
        items.insert(choose.randrange(len(items) + 1), _copied(choose.choice(items)))
    elif kind == 2:
        choose.shuffle(items)
    elif kind == 3:
        items = items * choose.choice((0, 2, 40)) if len(items) < 100 else []
    elif field.message_type is None:
        at = choose.randrange(len(items))
        items[at] = _changed(choose, model, field, items[at])
    else:
        at = choose.randrange(len(items))
        items[at] = _copied(choose.choice(_like(model, items[at])))
    before = [_copied(each) for each in found]
    del found[:]
    try:
        found.extend(items)
    except ValueError:  # out of the range of a 32-bit field
        del found[:]
        found.extend(before)


def _copied(item: Any) -> Any:
    if not hasattr(item, "CopyFrom"):
        return item
    made = type(item)()
    made.CopyFrom(item)
    return made


def _like(model: Any, item: Any) -> list[Any]:
    """All messages of the model of one type."""
    return [each for each in _messages(model) if type(each) is type(item)]


def _changed(choose: random.Random, model: Any, field: Any, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        if field.enum_type is not None:
            return choose.choice(field.enum_type.values).number
        return choose.choice((*_INTS, value + 1, value - 1, 2 * value, choose.randrange(30)))
    if isinstance(value, float):
        return choose.choice((*_FLOATS, -value))
    if isinstance(value, bytes):
        content = bytearray(value)
        choose.choice(_BYTE_CHANGES)(choose, content)
        return bytes(content) if choose.random() < 0.7 else choose.choice(_TEXTS).encode()
    names = sorted({name for message in _messages(model) for name in _names(message)})
    return choose.choice((*_TEXTS, *names)) if choose.random() < 0.3 else choose.choice(names)


def _names(message: Any) -> Iterator[str]:
    for field, value in message.ListFields():
        if isinstance(value, str):
            yield value
        elif field.message_type is None and _is_repeated(field):
            yield from [each for each in value if isinstance(each, str)]


def _messages(message: Any) -> Iterator[Any]:
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if _is_repeated(field) else (value,):
                yield from _messages(inner)


def _given(choose: random.Random, inputs: list[Any]) -> list[Any]:
    """The inputs, one in eight times changed."""
    inputs = list(inputs)
    if choose.randrange(8) or not inputs:
        return inputs
    at = choose.randrange(len(inputs))
    value = inputs[at]
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        value = np.zeros(3, np.float32)
    inputs[at] = choose.choice(
        [
            value.astype(np.float64),
            value.astype(np.uint8),
            value[..., None],
            value.reshape(-1)[: value.size // 2],
            np.zeros((0,) * value.ndim, value.dtype),
            np.zeros(3, "M8[s]"),
            np.array(["a"]),
            [1, [2, 3]],
            "text",
            None,
            object(),
        ]
    )
    return choose.choice((inputs, inputs, inputs[1:], [*inputs, value]))


# ---- what it is compared with


def _compare(name: str, mutant: Any, given: list[Any], outputs: list[Any]) -> None:
    """Raises AssertionError where neither onnxruntime, in a process of its own, nor onnx gives an element."""
    from tests.fuzz._onnxruntime import outputs_of

    content = mutant if isinstance(mutant, bytes) else mutant.SerializeToString()
    expected = outputs_of(content, given)
    if expected is None or _has(mutant, _RANDOM):
        return
    for k, (ours, theirs) in enumerate(zip(outputs, expected, strict=True)):
        if (
            not isinstance(ours, np.ndarray)
            or not isinstance(theirs, np.ndarray)
            or ours.dtype.kind not in "biuf"
        ):
            continue
        where = f"{name}, output {k}"
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), (
            f"{where}: {ours.shape}, {theirs.shape}"
        )
        finite = np.abs(theirs[np.isfinite(theirs)].astype(np.float64))
        atol = 1e-5 + 1e-4 * float(finite.max(initial=0.0))
        agree = np.isclose(ours, theirs, rtol=1e-3, atol=atol, equal_nan=True)
        if _has(mutant, _TRANSFORMS):
            agree |= ~np.isfinite(ours) & ~np.isfinite(theirs)
        if _has(mutant, _SAMPLERS) and not all(_is_finite(array) for array in given):
            agree |= np.isnan(ours)
        if agree.all():
            continue
        # Either judge can be wrong at an element: onnxruntime's Min of int64 beyond 2**31, the sine of 0 times NaN
        # that numpy's transform of real data leaves out.  An element is wrong where no judge gives it.
        decided = _by_reference(mutant, given)
        judges = [theirs] if decided is None else [theirs, decided[k]]
        for judge in judges[1:]:
            agree |= np.isclose(ours, judge, rtol=1e-3, atol=atol, equal_nan=True)
        assert agree.all(), f"{where}: {_first_of(~agree, ours, judges)}"


def _is_finite(array: Any) -> bool:
    return not isinstance(array, np.ndarray) or array.dtype.kind != "f" or bool(np.isfinite(array).all())


def _first_of(wrong: np.ndarray, ours: np.ndarray, judges: list[np.ndarray]) -> str:
    """How many elements are wrong, and the first of them with what each judge gives there."""
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{np.count_nonzero(wrong)} of {wrong.size} elements, first {list(at)}: {ours[at]}, "
        f"not {' or '.join(str(judge[at]) for judge in judges)}"
    )


def _by_reference(mutant: Any, given: list[Any]) -> list[Any] | None:
    """The outputs by onnx's reference evaluator; None where it cannot run the model."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    model = onnx.load_from_string(mutant) if isinstance(mutant, bytes) else mutant
    try:
        evaluator = ReferenceEvaluator(model)
        return list(evaluator.run(None, dict(zip(evaluator.input_names, given, strict=True))))
    except Exception:  # it raises whatever numpy does
        return None


def _leaves_open(model: Any, mutant: Any) -> bool:
    """Whether an attribute that is 0 or 1 became another number, of which ONNX says nothing."""
    import onnx

    changed = onnx.load_from_string(mutant) if isinstance(mutant, bytes) else mutant
    before = {a.name for a in _messages(model) if isinstance(a, onnx.AttributeProto) and a.i in (0, 1)}
    after = [a for a in _messages(changed) if isinstance(a, onnx.AttributeProto)]
    return any(a.name in before and a.i not in (0, 1) for a in after)


def _has(mutant: Any, operators: frozenset[str]) -> bool:
    import onnx

    model = onnx.load_from_string(mutant) if isinstance(mutant, bytes) else mutant
    return any(node.op_type in operators for node in model.graph.node)

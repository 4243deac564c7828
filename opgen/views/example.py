"""The first small test of an op as a program that prints what the call gives, its operands small numbers."""

from __future__ import annotations

import math
import re
from typing import Final

from opgen_runtime.base.vocabulary import DType, dataclass
from opgen_runtime.declaration.operands import domains

from ..model import CheckedOp
from ..project import Project
from .text import literal

_OPERAND: Final = re.compile(r"(\w+)\[([0-9, ]*)\]([a-z_ ]*?)(?: in (\S+)\.\.(\S+))?")
_LITERALS: Final = 16  # elements that are written out
_STEPS: Final = (1.0, 0.5, 0.25)  # between the numbers of an operand
_COUNT: Final = 7  # different numbers of an operand
_LEAST: Final = -3  # of them, where it may be chosen
_ROWS: Final = {
    "sorted": "np.arange({n}) // 2 + {low}",
    "unique": "np.arange({n}) * 3 % {n} + {low}",
    "permutation": "np.arange({n})[::-1]",
    "offsets": "np.linspace({low}, {last}, {n}).astype(int)",
    "one_hot": "np.eye({n})[0]",
    "probabilities": "np.arange(1, {n} + 1) / np.arange(1, {n} + 1).sum()",
    "spd": "(np.eye({n}) * {n} + 1)",
}  # what the words of a test operand ask, in each row


@dataclass(frozen=True, slots=True)
class _Operand:
    """What a test says of an operand; `low` and `high` bound its values, neither of floats being one."""

    dtype: DType
    shape: tuple[int, ...]
    words: tuple[str, ...]
    low: float
    high: float

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def example_text(project: Project, op: CheckedOp) -> str | None:
    """The program; None for an op without tests."""
    case = op.example
    if case is None:
        return None
    domain = domains(op.traits)
    lines = ["import numpy as np", f"from {_package(project)} import eager", ""]
    arguments: list[str] = []
    for number, (name, given) in enumerate(case.inputs.items()):
        if isinstance(given, str):
            lines.append(f"{name} = {_array(_operand(given, domain.get(name)), number)}")
            arguments.append(f"{name}={name}")
        elif given is not None:
            parts = [_array(_operand(each, domain.get(name)), number + k) for k, each in enumerate(given)]
            lines.append(f"{name} = [{', '.join(parts)}]")
            arguments.append(f"{name}={name}")
    arguments += [f"{name}={literal(value, library='')}" for name, value in case.attrs.items()]
    call = f"eager.{op.name}({', '.join(arguments)})"
    many = len(op.outputs) > 1 or any(each.variadic is not None for each in op.outputs)
    return "\n".join([*lines, f"print(*{call}, sep='\\n')" if many else f"print({call})"])


def _package(project: Project) -> str:
    """Where the ops on arrays are; those that are built in have no namespace, and the runtime's own module."""
    return project.package if project.namespace else project.package.partition(".")[0]


def _operand(text: str, domain: tuple[float, float] | None) -> _Operand:
    match = _OPERAND.fullmatch(text)
    assert match is not None, text
    dtype = DType(match[1])
    shape = tuple(int(part) for part in match[2].split(",") if part.strip())
    low, high = domain or (-math.inf, math.inf)
    if match[4] is not None:
        low, high = float(match[4]), float(match[5])
    elif dtype.is_int and not dtype.is_signed:
        low = 0.0
    return _Operand(dtype, shape, tuple(match[3].split()), low, high)


def _array(made: _Operand, number: int) -> str:
    """The operand as an expression of numpy; `number`: which one it is, for it to differ from the others."""
    shape = f"({made.shape[0]},)" if len(made.shape) == 1 else f"({', '.join(map(str, made.shape))})"
    dtype = f'"{made.dtype}"'
    if made.words:
        low = max(made.low, 0.0)
        row = _ROWS[made.words[-1]].format(n=made.shape[-1], low=_number(low), last=_number(made.high - 1))
        return f"np.broadcast_to({row}, {shape}).astype({dtype})"
    if not made.size:
        return f"np.zeros({shape}, {dtype})"
    step, first, count = _numbers(made)
    stride = 3 if count % 3 else 1
    if made.size <= _LITERALS:
        flat = [
            _number(first + step * (stride * (k + 2 * number) % count), made.dtype) for k in range(made.size)
        ]
        return f"np.array({_nested(flat, made.shape)}, {dtype})"
    places = (
        f"np.arange({made.size})" if number == 0 else f"np.arange({2 * number}, {2 * number + made.size})"
    )
    values = f"{places} * {stride} % {count}".replace(" * 1 ", " ")
    if step != 1:
        values = f"{values} * {_number(step)}"
    if first:
        values = f"{values} {'-' if first < 0 else '+'} {_number(abs(first))}"
    return f"({values}).reshape{shape}.astype({dtype})"


def _numbers(made: _Operand) -> tuple[float, float, int]:
    """The distance of the numbers of an operand, the least one, and how many there are: whole ones where they fit."""
    if made.dtype.is_bool:
        return 1, 0, 2
    is_float = made.dtype.is_float
    low, high = made.low, made.high
    for step in _STEPS if is_float else (1.0,):
        top = math.inf if math.isinf(high) else math.ceil(high / step)
        first = min(_LEAST, top - _COUNT) if math.isinf(low) else math.ceil(low / step)
        if first < _LEAST < top - 1:
            first = _LEAST
        if is_float and first * step == low:
            first += 1
        count = int(min(_COUNT, top - first))
        if count > 2 or not is_float:
            return step, first * step, max(count, 1)
    step = (high - low) / (_COUNT + 1)
    return step, low + step, _COUNT


def _number(value: float, dtype: DType | None = None) -> str:
    """A number as short as it can be written."""
    if dtype is not None and dtype.is_bool:
        return str(bool(value))
    return f"{value:.6g}"


def _nested(flat: list[str], shape: tuple[int, ...]) -> str:
    """The elements as nested lists."""
    if not shape:
        return flat[0]
    length = len(flat) // shape[0] if shape[0] else 0
    return f"[{', '.join(_nested(flat[k * length : (k + 1) * length], shape[1:]) for k in range(shape[0]))}]"

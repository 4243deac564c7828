"""Ops against their references: random dtypes of the declaration, extents of 0 and 1, and values at the edges.

A case takes a call of a generated suite, gives its dtype variables other dtypes and its extents other sizes, as far as
the type relation admits them, and fills the operands with NaN, infinities, zeros of both signs, subnormals, arguments
where exponentials under- and overflow, and the ends of integers.  The compiled op is held against the reference: floats
are given to it in float64 and its result is rounded once, as the half precision rule has it.
"""

from __future__ import annotations

import importlib.util
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.base.vocabulary import DTYPES, DType, OpPattern, is_float_array
from opgen_runtime.declaration.structure import structure_of
from opgen_runtime.run.executor import create_executor
from opgen_runtime.testing import Suite, suite_of
from opgen_runtime.testing.cases import Case, case_call, declaration_of, specs_of
from opgen_runtime.testing.compare import assert_close
from opgen_runtime.testing.data import Spec, ordinary

COUNT = 4000
SUITES = Path(__file__).parents[1] / "generated"
_EXTENTS = (0, 1, 1, 2, 3, 5, 8, 17)
# What these give hangs on the dtype that the reference sees, or on bits that a wider dtype draws otherwise.
_OWN_DTYPE = frozenset(
    {"reinterpret", "cast", "cast_like", "full", "quantize", "dequantize", "requantize", "dynamic_quantize"}
)


@cache
def suites() -> tuple[Path, ...]:
    return tuple(sorted(path for path in SUITES.glob("test_*.py") if "cases = " in path.read_text()))


def suite(path: Path) -> type[Suite]:
    spec = importlib.util.spec_from_file_location(f"suite_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return suite_of(module)


def changed(random: Random, case: Case) -> Case:
    """The case with other dtypes and extents, the same ones wherever they stood."""
    dtypes: dict[str, str] = {}
    extents: dict[str, str] = {}

    def text(spec: str) -> str:
        name, dims, rest = re.fullmatch(r"(\w+)\[([^\]]*)\](.*)", spec, re.S).groups()  # type: ignore[union-attr]
        if name not in dtypes:
            same_kind = [d for d in DTYPES if d.rstrip("0123456789") == name.rstrip("0123456789")]
            dtypes[name] = random.choice([*DTYPES, *same_kind, name])
        sizes = re.sub(
            r"\d+", lambda m: extents.setdefault(m[0], str(random.choice((m[0], *_EXTENTS)))), dims
        )
        return f"{dtypes[name]}[{sizes}]{rest}"

    inputs: dict[str, Any] = {}
    for key, value in case.inputs.items():
        inputs[key] = tuple(map(text, value)) if isinstance(value, tuple) else value and text(value)
    return Case(inputs, case.attrs)


def drawn(random: Random, of: type[Suite]) -> Case:
    """A call that the declaration admits."""
    given = random.choice((*of.declared_cases, *of.sampled_cases))
    for _ in range(12):
        candidate = changed(random, given)
        try:
            case_call(of.op, candidate)
        except (OpgenError, ValueError):
            continue
        return candidate
    return given


def values(random: Random, spec: Spec, seed: str, edges: bool) -> np.ndarray:
    """Ordinary values, with edges among them where the spec leaves them free."""
    found = ordinary(spec, seed)
    if spec.limits is not None or spec.dtype.is_bool or not found.size or not edges:
        return found
    if spec.dtype.is_float:
        form = spec.dtype.float_format
        listed = [
            np.nan,
            np.inf,
            -np.inf,
            -0.0,
            form.step,
            -form.step,
            form.tiny,
            -6.19,
            9.3,
            -13.0,
            88.0,
            104.0,
            -104.0,
        ]
    else:
        listed = [spec.dtype.lowest, spec.dtype.highest, 0, 1, spec.dtype.highest - 1]
    flat = found.reshape(-1)
    for position in range(flat.size):
        if random.random() < 0.3:
            flat[position] = random.choice(listed)
    return found


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if is_float_array(array.dtype) else array.copy()


def rounded(expected: Any, found: Any) -> Any:
    """The reference's result in the dtypes of the op's."""
    if isinstance(expected, tuple | list):
        return [rounded(one, other) for one, other in zip(expected, found, strict=True)]
    array, dtype = np.asarray(expected), found.numpy().dtype
    return array.astype(dtype) if is_float_array(dtype) and array.dtype == np.float64 else array


def assert_rounded_once(found: Any, expected: Any, scale: float, what: str) -> None:
    """Halves are within one of their own steps, and what float32 leaves of the greatest operand."""
    if isinstance(expected, tuple | list):
        for one, other in zip(found, expected, strict=True):
            assert_rounded_once(one, other, scale, what)
        return
    array = found.numpy()
    if not is_float_array(array.dtype) or array.dtype.itemsize != 2:
        return
    got, wanted = array.astype(np.float64), np.asarray(expected).astype(np.float64)
    form = DType(array.dtype.name).float_format
    with np.errstate(all="ignore"):
        step = np.maximum(np.abs(wanted) * form.epsilon, form.step)
        wrong = np.isfinite(got) & np.isfinite(wanted) & (np.abs(got - wanted) > step + 2.0**-16 * scale)
    assert not wrong.any(), f"{what}: {got[wrong][:3]}, rounded once {wanted[wrong][:3]}"


def is_magnified(found: Any, expected: Any, reference: Callable[[Sequence[Any]], Any], operands: Any) -> bool:
    """Whether operands that differ by one step of their dtype make as great a difference, all results floats."""
    results = [np.asarray(e) for e in (expected if isinstance(expected, tuple | list) else [expected])]
    got = [f.numpy() for f in (found if isinstance(expected, tuple | list) else [found])]
    if not all(is_float_array(array.dtype) for array in results):
        return False
    signs = np.random.default_rng(0)
    reach = [np.zeros(array.shape) for array in results]
    for _ in range(5):
        moved = reference([_stepped(operand, signs) for operand in operands])
        for limit, one, array in zip(reach, moved if len(results) > 1 else [moved], results, strict=True):
            np.maximum(limit, np.abs(one.astype(np.float64) - array), out=limit)
    return all(
        bool((np.abs(g.astype(np.float64) - e) <= limit.max(initial=0.0)).all())
        for g, e, limit in zip(got, results, reach, strict=True)
    )


def _stepped(operand: Any, signs: np.random.Generator) -> Any:
    if isinstance(operand, tuple):
        return tuple([_stepped(one, signs) for one in operand])
    if operand is None or not is_float_array(operand.dtype):
        return operand
    return np.nextafter(operand, signs.choice([-np.inf, np.inf], operand.shape))


def run(of: type[Suite], case: Case, random: Random) -> None:
    op = of.op
    call, variables = case_call(op, case)
    pattern = declaration_of(op).pattern
    specs = specs_of(op, case)
    exact = op.name not in _OWN_DTYPE
    edges = pattern <= OpPattern.INJECTIVE
    operands = [
        tuple(values(random, one, f"{case} {k} {j}", edges) for j, one in enumerate(spec))
        if isinstance(spec, tuple)
        else None
        if spec is None
        else values(random, spec, f"{case} {k}", edges)
        for k, spec in enumerate(specs)
    ]
    flat = [a for o in operands if o is not None for a in (o if isinstance(o, tuple) else (o,))]
    found = create_executor("graph").evaluate(call, dict(zip(variables, flat, strict=True)))
    names = [declared.name for declared in declaration_of(op).signature.inputs]
    change = wide if exact else np.copy
    copies = [
        tuple(map(change, o)) if isinstance(o, tuple) else None if o is None else change(o) for o in operands
    ]
    attrs: Mapping[str, Any] = call.attrs.as_dict() if call.attrs is not None else {}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = of.reference(**dict(zip(names, copies, strict=True)), **attrs)
            expected = rounded(expected, found)
        except Exception as error:
            if any(array.size == 0 for array in flat):
                return  # many functions of numpy take no empty arrays
            raise AssertionError(f"{op.name}({case}): its reference does not take it") from error
    what = f"{op.name}({case})"
    structure = structure_of(op, call.attrs, [arg.checked_type for arg in call.args])
    try:
        assert_close(found, expected, call.checked_type, flat, pattern, what, structure)
    except AssertionError:
        # A recurrence may magnify what each step rounds, by as much as it magnifies a change of its operands.
        if pattern is not OpPattern.OPAQUE or not is_magnified(
            found,
            expected,
            lambda moved: of.reference(**dict(zip(names, moved, strict=True)), **attrs),
            copies,
        ):
            raise
    if exact:
        sizes = [np.abs(a.astype(np.float64)) for a in flat if is_float_array(a.dtype)]
        scale = max((float(s[s <= 1e4].max(initial=1.0)) for s in sizes), default=1.0)
        assert_rounded_once(found, expected, scale, what)


def case(seed: int) -> None:
    random = Random(seed)
    chosen = suite(random.choice(suites()))
    run(chosen, drawn(random, chosen), random)

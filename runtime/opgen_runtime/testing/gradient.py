"""Gradients against differences.

Operands are float64, away from kinks: random numbers that are no halves, inside the domain that the declaration states,
`gradient: {domain: data > 0}`.  For three directions of each operand the derived adjoint and the central difference of
`sum(cotangent * result)` agree, with the step 1e-6 * max(1, |x|), to 1e-5, absolute below 1; NaN fails.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ..base.errors import LanguageError, OpgenError
from ..base.vocabulary import FLOAT32, FLOAT64, DType, dataclass
from ..declaration import CallTensors, call_tensors
from ..declaration.derive import Derived, derived
from ..declaration.operands import domains
from ..ir import Call, Expr, Function, Tuple, TupleGetItem, Var, const
from ..operator import Attrs, Op, TensorType, TupleType, Type
from ..run.executor import create_executor
from ..transform.gradient import pull
from .cases import Case, attrs_of, declaration_of, specs_of
from .data import Spec, ordinary

_DIRECTIONS: Final = 3
_STEPS: Final = {
    FLOAT64: (1e-6, 1e-5),
    FLOAT32: (1e-3, 2e-2),
}  # step and tolerance of what is computed in a dtype


@dataclass(frozen=True, slots=True)
class GradientCase:
    """A call with its operands in float64 where the op takes that, and what its derived ops are asked for."""

    op: Op
    attrs: Attrs | None
    types: tuple[Type, ...]
    made: CallTensors
    arrays: tuple[np.ndarray, ...]
    cotangents: tuple[np.ndarray | None, ...]

    def loss(self, arrays: Sequence[np.ndarray]) -> float:
        """The results with the cotangents, added up."""
        pairs = zip(self.made.values(arrays), self.cotangents, strict=True)
        return float(sum(float(np.sum(np.asarray(r, float) * g)) for r, g in pairs if g is not None))

    def operands(self) -> Iterator[tuple[str, int]]:
        """The name of each float operand, as `wrt` has it, and its place among the arrays."""
        at = 0
        for declared, operand in zip(
            declaration_of(self.op).signature.inputs, self.made.operands, strict=True
        ):
            tensors = operand if isinstance(operand, tuple) else () if operand is None else (operand,)
            for k, tensor in enumerate(tensors):
                if tensor.dtype.is_float:
                    yield (f"{declared.name}[{k}]" if declared.variadic else declared.name), at
                at += 1

    def derived(self, wrt: str) -> Derived:
        """The derived tensor for one operand, without saved outputs."""
        declaration = declaration_of(self.op)
        unit = TupleType(())
        held: list[Type] = [unit for _ in declaration.signature.outputs]
        at = 0
        cotangents: list[Type] = []
        for output, count in zip(declaration.signature.outputs, self.made.binding.counts, strict=True):
            given = [
                TensorType(tensor.shape, tensor.dtype)
                for tensor, g in zip(
                    self.made.results[at : at + count], self.cotangents[at : at + count], strict=True
                )
                if g is not None
            ]
            at += count
            cotangents.append(TupleType(tuple(given)) if output.variadic or not given else given[0])
        return derived(declaration, self.attrs, (*self.types, *held, *cotangents), wrt)

    def declared(self, at: int) -> np.ndarray:
        """The adjoint of an operand as `grad:` declares it, op by op."""
        variables: list[Var] = []

        def var(type_: Type) -> Var:
            variables.append(Var(f"x{len(variables)}", type_))
            return variables[-1]

        operands = [
            Tuple(tuple([var(field) for field in type_.fields]))
            if isinstance(type_, TupleType)
            else var(type_)
            for type_ in self.types
        ]
        call = Call(self.op, tuple(operands), self.attrs)
        wanted = variables[at]
        results: list[Expr] = (
            [TupleGetItem(call, k) for k in range(len(self.made.results))]
            if isinstance(call.checked_type, TupleType)
            else [call]
        )
        given = [None if g is None else const(g) for g in self.cotangents]
        (found,) = pull(results, given, [wanted])
        assert found is not None, f"{self.op.name}: the declared gradient of {wanted.name_hint} is zero"
        function = Function(tuple(variables), found)
        run: Any = create_executor("debug").evaluate(function)
        made: np.ndarray = run(*self.arrays).numpy()
        return made

    def adjoint(self, wrt: str) -> np.ndarray:
        """The derived adjoint by numpy."""
        return self.derived(wrt).value([*self.arrays, *[g for g in self.cotangents if g is not None]])


def gradient_case(op: Op, case: Case, dtype: DType = FLOAT64) -> GradientCase | None:
    """The case as one of gradients, in `dtype` where the op takes that; None where no operand or no result is a
    float, or nothing is computed: there are no elements, or all results are NaN."""
    attrs, specs = attrs_of(op, case), specs_of(op, case)
    made: CallTensors | None = None
    types: tuple[Type, ...] = ()
    wide = specs
    for wanted in (dtype, None):
        wide = [_widened(spec, wanted) for spec in specs]
        types = tuple([_type(spec) for spec in wide])
        try:
            made = call_tensors(op, _wide_attrs(attrs, wanted), types)
        except OpgenError:
            continue
        attrs = _wide_attrs(attrs, wanted)
        break
    if made is None:
        return None
    outputs = made.results
    random = np.random.default_rng(zlib.crc32(f"gradient {op.name} {case}".encode()))
    flat = [
        s for spec in wide for s in (spec if isinstance(spec, tuple) else () if spec is None else (spec,))
    ]
    names = [
        declared.name
        for declared, spec in zip(declaration_of(op).signature.inputs, wide, strict=True)
        for _ in (spec if isinstance(spec, tuple) else () if spec is None else (spec,))
    ]
    empty = any(0 in tensor.shape for tensor in (*made.inputs, *outputs))
    if empty or not any(s.dtype.is_float for s in flat) or not any(t.dtype.is_float for t in outputs):
        return None
    domain = domain_of(op)
    arrays = tuple([_values(spec, domain.get(name), random) for spec, name in zip(flat, names, strict=True)])
    cotangents = tuple(
        [
            random.normal(size=tuple(map(int, t.shape))).astype(t.dtype.numpy) if t.dtype.is_float else None
            for t in outputs
        ]
    )
    found = GradientCase(op, attrs, types, made, arrays, cotangents)
    values = made.values(arrays)
    undefined = all(
        [np.isnan(each).all() for each, g in zip(values, cotangents, strict=True) if g is not None]
    )
    return None if undefined else found


def check_grad(op: Op, case: Case) -> None:
    """Raises AssertionError, naming the operand, where the derived gradient is not the difference."""
    found = gradient_case(op, case)
    if found is None:
        return
    stated = declaration_of(op).gradients
    for wrt, at in found.operands():
        declared = found.declared(at) if wrt in stated else None
        try:
            adjoint = found.adjoint(wrt)
        except LanguageError:
            if declared is None:
                continue  # `record_of` says why there is none
            adjoint = declared
        if declared is not None:
            np.testing.assert_allclose(declared, adjoint, rtol=1e-10, atol=1e-10)
        assert adjoint.shape == found.arrays[at].shape
        single = any(tensor.dtype is not FLOAT64 and tensor.dtype.is_float for tensor in found.made.inputs)
        step, tolerance = _STEPS[FLOAT32 if single else FLOAT64]
        random = np.random.default_rng(zlib.crc32(f"direction {wrt}".encode()))
        for _ in range(_DIRECTIONS):
            x = found.arrays[at]
            direction = random.normal(size=x.shape) * np.maximum(1.0, np.abs(x))
            ends = []
            for sign in (step, -step):
                moved = list(found.arrays)
                moved[at] = (x + sign * direction).astype(x.dtype)
                ends.append(found.loss(moved))
            difference = (ends[0] - ends[1]) / (2 * step)
            value = float(np.sum(adjoint.astype(float) * direction))
            limit = tolerance * max(1.0, abs(difference), abs(value))
            assert abs(value - difference) <= limit, (
                f"{op.name}: the gradient for {wrt} along a direction is {value}, the difference {difference}; "
                "where the op has kinks or is not defined, declare `gradient: {domain: ...}`"
            )


def record_of(op: Op, cases: Sequence[Case]) -> dict[str, str]:
    """How the adjoint of each float operand is computed: gather, update, override, zero, or none with the reason."""
    declaration = declaration_of(op)
    found: dict[str, str] = {}
    for case in cases:
        made = gradient_case(op, case)
        if made is None:
            continue
        for wrt, _ in made.operands():
            name = wrt.partition("[")[0]
            kind = "override" if name in declaration.gradients else _kind(made, wrt)
            if found.get(name, "zero") == "zero":
                found[name] = kind
    return found


def _kind(case: GradientCase, wrt: str) -> str:
    try:
        made = case.derived(wrt)
    except OpgenError as error:
        return f"none: {str(error).removeprefix(f'vjp.{case.op.name}: ')}"
    return made.kind


def domain_of(op: Op) -> Mapping[str, tuple[float, float]]:
    """The least and the greatest value of operands, of `gradient: {domain: -1 < data < 1}`."""
    return domains(declaration_of(op).traits)


def _values(spec: Spec, domain: tuple[float, float] | None, random: np.random.Generator) -> np.ndarray:
    if not spec.dtype.is_float or spec.words:  # what is asked of the values, the op may need to be defined
        return ordinary(spec, "gradient")
    if spec.limits is not None:
        low, high = spec.limits
        return np.asarray(random.uniform(low, high, spec.shape)).astype(spec.dtype.numpy)
    made = np.asarray(random.normal(0.0, 1.5, spec.shape))
    if domain is not None:
        low, high = domain
        if np.isfinite(low) and np.isfinite(high):
            room = 0.05 * (high - low)
            made = np.asarray(random.uniform(low + room, high - room, spec.shape))
        else:
            made = low + 0.1 + np.abs(made) if np.isfinite(low) else high - 0.1 - np.abs(made)
    return made.astype(spec.dtype.numpy)


def _widened(spec: Any, dtype: DType | None) -> Any:
    if isinstance(spec, tuple):
        return tuple([_widened(each, dtype) for each in spec])
    if spec is None or dtype is None or not spec.dtype.is_float:
        return spec
    return replace(spec, dtype=dtype)


def _wide_attrs(attrs: Attrs | None, dtype: DType | None) -> Attrs | None:
    """Results are float64, too, where an attr says of what dtype they are."""
    if attrs is None or dtype is None:
        return attrs
    changes = {
        name: dtype for name, value in attrs.as_dict().items() if isinstance(value, DType) and value.is_float
    }
    return attrs.replace(**changes) if changes else attrs


def _type(spec: Any) -> Type:
    if isinstance(spec, tuple):
        return TupleType(tuple([each.type for each in spec]))
    return TupleType(()) if spec is None else spec.type

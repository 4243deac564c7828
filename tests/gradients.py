"""The gradients of all ops against differences: `python -m tests.gradients [OP ...] [--native] [--second] [--narrow]`.

For each op how the adjoint of each float operand is computed, and how many ops with a gradient that is not zero have
a right one.  With `--native` what machine code gives is compared with numpy, too; with `--narrow` the gradients in
float16, bfloat16 and float32 with those in float64 of the same values.  `--record`: nothing is checked, and
docs/gradient-record.md is written.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import opgen_runtime as rt
from opgen_runtime.base.errors import LanguageError, OpgenError
from opgen_runtime.base.vocabulary import BFLOAT16, FLOAT16, FLOAT32
from opgen_runtime.compute import te
from opgen_runtime.compute.te.derivative import pullback
from opgen_runtime.declaration.gradient import vjp_attrs, vjp_op
from opgen_runtime.ir import Call, Expr, Tuple, Var
from opgen_runtime.operator import TensorType, TupleType
from opgen_runtime.testing.cases import Case, declaration_of
from opgen_runtime.testing.gradient import GradientCase, check_grad, gradient_case, record_of
from opgen_runtime.testing.suite import Suite, suite_of

NARROW = {FLOAT32: 1e-4, FLOAT16: 2e-2, BFLOAT16: 5e-2}
GENERATED = Path(__file__).parent / "generated"
RECORD = Path(__file__).parents[1] / "docs" / "gradient-record.md"
HEAD = """# How each gradient is computed

Of each built-in op, how the adjoint of each float operand is computed: gathered, by the index maps turned around, or an
update, where data decides what is read or where that takes fewer steps; by the override that the declaration states
(`grad:`); zero; or none, with the reason. `python -m tests.gradients --record` writes this page, `opgen show OP
--gradient` prints what was derived.

| op | operands |
|---|---|"""


def suites(names: Sequence[str]) -> Iterator[type[Suite]]:
    """The generated suites of these ops, of all if there is no name."""
    for path in sorted(GENERATED.glob("test_*.py")):
        name = path.stem.removeprefix("test_")
        if names and name not in names:
            continue
        spec = importlib.util.spec_from_file_location(f"gradients_{name}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield suite_of(module)


def cases_of(suite: type[Suite]) -> list[Case]:
    """The cases whose gradients are tested."""
    return [*suite.declared_cases, *suite.sampled_cases[:4]]


def native(case: GradientCase, wrt: str) -> np.ndarray:
    """The adjoint by the derived op, compiled."""
    declaration = declaration_of(case.op)
    params: list[Var] = []
    operands: list[Expr] = []

    def var(type_: TensorType) -> Var:
        params.append(Var(f"p{len(params)}", type_))
        return params[-1]

    for type_ in case.types:
        if isinstance(type_, TupleType):
            operands.append(
                Tuple(tuple([var(field) for field in type_.fields if isinstance(field, TensorType)]))
            )
        else:
            assert isinstance(type_, TensorType)
            operands.append(var(type_))
    operands += [Tuple(()) for _ in declaration.signature.outputs]
    at = 0
    for output, count in zip(declaration.signature.outputs, case.made.binding.counts, strict=True):
        own = list(zip(case.made.results[at : at + count], case.cotangents[at : at + count], strict=True))
        at += count
        given = [var(TensorType(tensor.shape, tensor.dtype)) for tensor, g in own if g is not None]
        operands.append(Tuple(tuple(given)) if output.variadic or not given else given[0])
    call = Call(vjp_op(case.op), tuple(operands), vjp_attrs(declaration, case.attrs, wrt))
    executable = rt.build(rt.Function(tuple(params), call))
    feeds = [*case.arrays, *[g for g in case.cotangents if g is not None]]
    found = executable.run(feeds)
    assert isinstance(found, np.ndarray)
    return found


def record(suite: type[Suite]) -> dict[str, str]:
    """How the adjoint of each float operand is computed."""
    return record_of(suite.op, cases_of(suite))


def row(suite: type[Suite]) -> str:
    """An op's row of the record."""
    found = record(suite)
    kinds = "; ".join(f"`{name}`: {kind}" for name, kind in found.items()) or "no floats"
    return f"| `{suite.op.name}` | {' '.join(kinds.split())} |"


def check_native(suite: type[Suite], case: Case) -> None:
    """Machine code gives what numpy gives."""
    found = gradient_case(suite.op, case)
    if found is None:
        return
    for wrt, _ in found.operands():
        try:
            found.derived(wrt)
        except LanguageError:
            continue
        np.testing.assert_allclose(native(found, wrt), found.adjoint(wrt), rtol=1e-6, atol=1e-8)


def check_second(suite: type[Suite], case: Case) -> int:
    """The gradient of the gradient against differences of it; how many of them are not zero."""
    made = gradient_case(suite.op, case)
    count = 0
    for wrt, at in () if made is None else made.operands():
        assert made is not None
        try:
            first = made.derived(wrt)
            x, output = first.inputs[at], first.output
            g = te.placeholder("second", output.shape, output.dtype)
            second = pullback([output], [g], x)
        except LanguageError:
            continue
        if second is None:
            continue
        random = np.random.default_rng(0)
        arrays = [*made.arrays, *[each for each in made.cotangents if each is not None]]
        cotangent = random.normal(size=first.value(arrays).shape)
        feeds = {**dict(zip(first.inputs, arrays, strict=True)), g: cotangent.astype(g.dtype.numpy)}
        (found,) = te.evaluate([second], feeds)
        direction = random.normal(size=found.shape) * np.maximum(1.0, np.abs(arrays[at]))
        ends = []
        for step in (1e-6, -1e-6):
            moved = list(arrays)
            moved[at] = (arrays[at] + step * direction).astype(arrays[at].dtype)
            ends.append(float(np.sum(first.value(moved) * cotangent)))
        difference, value = (ends[0] - ends[1]) / 2e-6, float(np.sum(found * direction))
        if g.dtype == "float64":
            assert abs(value - difference) <= 1e-4 * max(1.0, abs(value), abs(difference)), (
                f"{suite.op.name}: the second gradient for {wrt} is {value}, the difference {difference}"
            )
            count += 1
    return count


def check_narrow(suite: type[Suite], case: Case) -> int:
    """The gradients in narrower dtypes are those in float64, within a tolerance; how many were compared."""
    count = 0
    for dtype, tolerance in NARROW.items():
        narrow, wide = gradient_case(suite.op, case, dtype), gradient_case(suite.op, case)
        if narrow is None or wide is None or not any(t.dtype is dtype for t in narrow.made.inputs):
            continue
        arrays = [a.astype(b.dtype) for a, b in zip(narrow.arrays, wide.arrays, strict=True)]
        cotangents = [
            a if a is None or b is None else a.astype(b.dtype)
            for a, b in zip(narrow.cotangents, wide.cotangents, strict=True)
        ]
        wide = replace(wide, arrays=tuple(arrays), cotangents=tuple(cotangents))
        for wrt, _ in narrow.operands():
            try:
                found, wanted = narrow.adjoint(wrt), wide.adjoint(wrt)
            except LanguageError:
                continue
            limit = tolerance * max(1.0, float(np.abs(wanted).max(initial=0.0)))
            off = float(np.abs(found.astype(float) - wanted).max(initial=0.0))
            assert off <= limit, (
                f"{suite.op.name}: in {dtype} the gradient for {wrt} is off by {off:.2g}: {case}"
            )
            count += 1
    return count


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--second", action="store_true", help="Gradients of gradients, too.")
    parser.add_argument("--narrow", action="store_true", help="Those of narrower floats, too.")
    parser.add_argument("--record", action="store_true", help="Write docs/gradient-record.md.")
    options = parser.parse_args(arguments)
    if options.record:
        RECORD.write_text("\n".join([HEAD, *map(row, suites(()))]) + "\n", encoding="utf-8")
        return 0
    right: list[str] = []
    wrong: list[str] = []
    rest: dict[str, int] = {}
    none: list[str] = []
    twice = narrow = 0
    for suite in suites(options.ops):
        known = record(suite)
        found = {kind.partition(":")[0] for kind in known.values()}
        none += [
            f"{suite.op.name}, {name}: {kind}" for name, kind in known.items() if kind.startswith("none")
        ]
        kinds = "; ".join(f"{name}: {kind}" for name, kind in known.items()) or "no floats"
        state = "right"
        try:
            for case in cases_of(suite):
                check_grad(suite.op, case)
            if options.second and sum([check_second(suite, case) for case in suite.declared_cases[:2]]):
                twice += 1
            if options.narrow:
                narrow += sum([check_narrow(suite, case) for case in cases_of(suite)])
            if options.native and found & {"gather", "update"}:
                for case in suite.declared_cases[:3]:
                    check_native(suite, case)
        except (AssertionError, OpgenError, NotImplementedError) as error:
            state = f"WRONG: {type(error).__name__}: {str(error)[:300]}"
            wrong.append(suite.op.name)
        if found & {"gather", "update", "override"}:
            right += [suite.op.name] if state == "right" else []
        else:
            kind = "none" if "none" in found else "zero" if found else "no floats"
            rest[kind] = rest.get(kind, 0) + 1
        print(f"{suite.op.name:30} {state:6} {kinds}", flush=True)
    total = sum(rest.values()) + len(right) + len(wrong)
    have = len(right) + len(wrong) + rest.get("none", 0)
    print(
        f"{len(right)} of the {have} ops with a gradient that is not zero have a right one; wrong: {len(wrong)} {wrong}"
    )
    print(
        f"the other {total - have} of {total}: {rest.get('zero', 0)} zero, {rest.get('no floats', 0)} without floats"
    )
    print(f"{len(none)} operands without a gradient:", *none, sep="\n  ")
    if options.second:
        print(f"{twice} ops with a right second gradient that is not zero")
    if options.narrow:
        print(f"{narrow} gradients in float32, float16 and bfloat16 are those in float64")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

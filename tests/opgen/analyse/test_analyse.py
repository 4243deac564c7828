"""Declarations to checked ops: what views read, what `extends` merges, what externs may name."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import pytest

from opgen.analyse import check_project
from opgen.diagnostics import to_text
from opgen.model import BoundProbe
from opgen_runtime.base.vocabulary import OpPattern

AXIS_ABS = (Path(__file__).parents[3] / "opdefs/elementwise/axis_abs.yaml").read_text(encoding="utf-8")


def test_axis_abs() -> None:
    (op,), found = check_project({"axis_abs.yaml": AXIS_ABS})
    assert found == []
    assert (op.name, op.support_level, op.arity, op.pattern) == ("axis_abs", 3, 1, OpPattern.ELEMWISE)
    assert op.formula == "out[*i] = abs(data[*i]) if i[axis] == indice else data[*i]"
    assert op.compute is not None
    assert op.reference is not None
    assert ast.unparse(op.compute) == (
        "def compute(data: _d.Any, axis: _d.Any, indice: _d.Any, out: _d.Any) -> None:\n"
        "    out.define(lambda *i: _l.select(_l.equal(i[axis], indice), lambda: _l.abs(data[*i,]), lambda: data[*i,]))"
    )
    assert ast.unparse(op.reference) == (
        "def reference(data, axis, indice):\n    out = data.copy()\n"
        "    s = (slice(None),) * axis + (indice,)\n    out[s] = np.abs(out[s])\n    return out"
    )
    axis, indice = op.attrs
    assert axis.bound is not None
    assert indice.bound is not None
    assert (axis.default, axis.bound.text, axis.bound.check_text) == (0, "0 <= axis < data.ndim", "0 <= axis")
    assert axis.bound.function_text == "axis < data.ndim"
    assert axis.bound.check is not None
    assert indice.bound.function is not None
    assert ast.unparse(axis.bound.check) == "lambda axis, attrs: _l.truth(_l.less_equal(0, axis))"
    assert ast.unparse(indice.bound.function) == (
        "lambda indice, data, axis: _l.less(indice, _l.item(data.shape, axis))"
    )
    assert (op.outputs[0].shape, op.outputs[0].dtype) == ("data.shape", "data.dtype")
    assert op.tests[1].inputs == {"data": "int32[4, 4, 1]"}
    assert op.tests[1].attrs == {"axis": 0, "indice": 1}
    assert op.probes == (
        BoundProbe(0, "axis", 0, -1),
        BoundProbe(2, "axis", 2, 3),
        BoundProbe(0, "indice", 0, -1),
        BoundProbe(0, "indice", 3, 4),
        BoundProbe(2, "indice", 2, 3),
    )


FAMILY = """\
op: float_function
abstract: true
doc: Not taken over.
inputs: {data: {dtype: float, doc: The input.}}
outputs: {out: {shape: data.shape, dtype: data.dtype}}
tests:
  - {data: "float32[3]"}
---
op: exp
extends: float_function
compute: out[*i] = exp(data[*i])
reference: out = np.exp(data)
---
op: tanh
extends: exp
inputs: {data: {doc: Another text.}}
compute: out[*i] = tanh(data[*i])
"""


def test_extends() -> None:
    ops, found = check_project({"family.yaml": FAMILY})
    assert found == []
    exp, tanh = ops
    assert [(op.name, op.extends, op.line, op.document) for op in ops] == [
        ("exp", ("float_function",), 9, 1),
        ("tanh", ("exp", "float_function"), 14, 2),
    ]
    assert (exp.doc, exp.inputs[0].doc, tanh.inputs[0].doc) == ("", "The input.", "Another text.")
    assert (tanh.inputs[0].dtype, tanh.formula) == ("float", "out[*i] = tanh(data[*i])")
    changed, _ = check_project({"family.yaml": FAMILY.replace("float32[3]", "float32[4]")})
    assert changed[0].digest != exp.digest
    moved, _ = check_project({"other.yaml": "# a comment\n" + FAMILY})
    assert moved[0].digest == exp.digest


def test_an_error_of_a_parent_is_reported_once_at_the_parent() -> None:
    files = {
        "a.yaml": "op: base\nabstract: true\ninputs: {data: {dtype: flaot}}\n",
        "b.yaml": "op: child\nextends: base\noutputs: {out: {shape: data.shape, dtype: data.dtype}}\n"
        "compute: out[*i] = data[*i]\n",
    }
    ops, found = check_project(files)
    assert ops == []
    assert [(f.code, str(f.place)) for f in found] == [("dtype", "a.yaml:3:24")]


def test_runtime_errors_of_an_inherited_compute_stand_in_the_parents_file() -> None:
    files = {
        "a.yaml": 'op: base\nabstract: true\ninputs: {data: {shape: "M"}}\ncompute: |\n  out[i] = data[i + 1]\n',
        "b.yaml": 'op: child\nextends: base\noutputs: {out: {shape: "M", dtype: data.dtype}}\n',
    }
    _, found = check_project(files)
    assert [(f.code, str(f.place)) for f in found] == [("out-of-bounds", "a.yaml:5:12")]


ENDS = """\
op: column
inputs: {x: {shape: "N, M", dtype: float32}}
attrs: {k: {type: int, default: 1, bounds: BOUNDS}}
outputs: {out: {shape: N, dtype: x.dtype}}
compute: out[i] = ACCESS
tests: [{x: "float32[3, 4]"}]
"""


@pytest.mark.parametrize(
    ("bounds", "access", "value"),
    [
        ("0 <= k", "x[i, k]", 65537),
        ("k < M", "x[i, k]", -65535),
        ("0 <= k <= M", "x[i, k]", 4),
        ("-2 <= k < M", "x[i, k] if k >= 0 else x[i, M + k + 1]", -1),
    ],
)
def test_accesses_are_proved_at_the_ends_of_bounds(bounds: str, access: str, value: int) -> None:
    text = ENDS.replace("BOUNDS", f'"{bounds}"').replace("ACCESS", access)
    _, (found, *others) = check_project({"column.yaml": text})
    assert others == []
    assert (found.code, found.place.line) == ("out-of-bounds", 5)
    assert f"k={value})" in found.message
    expected = (
        f"`k` may be {value}: its bounds are {bounds}; bound it by what it indexes, or guard the access"
    )
    assert found.suggestion == expected


@pytest.mark.parametrize(
    ("bounds", "access"),
    [
        ("0 <= k < M", "x[i, k]"),
        ("0 <= k", "x[i, k] if k < M else 0"),
        ("-M <= k < M", "x[i, k % M]"),
        ("k in (0, 1)", "x[i, k] if k < M else 0"),
    ],
)
def test_ends_of_bounds_whose_accesses_are_proved(bounds: str, access: str) -> None:
    text = ENDS.replace("BOUNDS", f'"{bounds}"').replace("ACCESS", access)
    assert check_project({"column.yaml": text})[1] == []


def test_a_dim_that_is_no_float_is_refused_as_its_type_is_found_with_symbols() -> None:
    text = ENDS.replace("BOUNDS", "0 <= k < M").replace("ACCESS", "x[i, k] * by") + "let: by = BY\n"
    for by in ("N / 2", "sqrt(N)", "float(N) * 0.5", "cast(N, float32) * 0.5"):
        assert check_project({"column.yaml": text.replace("BY", by)})[1] == []
    _, (found,) = check_project({"column.yaml": text.replace("BY", "N * 0.5")})
    assert (found.code, found.place.line) == ("dtype", 7)
    assert "does not suit dtype index" in found.message
    assert found.message.partition(" (for ")[0].endswith("is a float by float(N) in a declaration")


EXTERN = """\
op: ordered
inputs: {data: {shape: "M"}}
attrs: {axis: {type: int, default: 0}}
outputs: {out: {shape: data.shape, dtype: data.dtype}}
compute: {python: "mine.kernels:FUNCTION"}
"""


def test_functions_of_te_tensors(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text("def ordered(data, axis):\n    return data\n")
    text = EXTERN.replace("python:", "te:").replace("FUNCTION", "ordered")

    def check(text: str) -> str:
        ops, found = check_project({"s.yaml": text}, packages={"mine": tmp_path})
        return f"{ops[0].expression} {ops[0].pattern.name}" if ops else to_text(found).split("\n")[0]

    assert check(text) == "mine.kernels:ordered OPAQUE"
    assert check(text + "pattern: injective\n") == "mine.kernels:ordered INJECTIVE"
    assert "expected one of elemwise, broadcast, " in check(text + "pattern: injectiv\n")
    assert "has no function `order`" in check(text.replace(":ordered", ":order"))
    both = text.replace("{te:", '{python: "mine.kernels:ordered", te:')
    assert (
        check(both)
        == "s.yaml:5:47: error[bad-value]: `python` and `te` are two ways to compute; expected one"
    )


def test_seams_are_resolved_without_importing(tmp_path: Path) -> None:
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "kernels.py").write_text(
        "raise SystemExit('imported')\n\n\n"
        "def ordered(data, axis):\n    return data\n\n\ndef narrow(data):\n    return data\n"
    )

    def check(function: str) -> str:
        ops, found = check_project(
            {"s.yaml": EXTERN.replace("FUNCTION", function)}, packages={"mine": package}
        )
        return ops[0].extern or "" if ops else to_text(found).split("\n")[0]

    assert check("ordered") == "mine.kernels:ordered"
    assert (
        check("orderd")
        == "s.yaml:5:19: error[extern]: `mine.kernels` has no function `orderd` at its top level"
    )
    assert check("narrow") == (
        "s.yaml:5:19: error[extern]: `mine.kernels:narrow` takes 1 arguments, but is called with 2: data, axis"
    )


def test_a_declaration_without_tests_is_run_on_made_up_signatures() -> None:
    text = "op: plus\ninputs: {a: {dtype: number}, b: {dtype: number, shape: a.shape}}\n"
    text += (
        "outputs: {out: {shape: a.shape, dtype: a.dtype}}\ncompute: out[*i] = a[*i] + cast(b[*i], a.dtype)\n"
    )
    (op,), found = check_project({"p.yaml": text})
    assert found == []
    assert op.pattern is OpPattern.ELEMWISE
    _, found = check_project({"p.yaml": text.replace("a[*i] +", "a[*i] / 2.0 +")})
    assert [f.code for f in found] == ["dtype"]


def test_named_relations() -> None:
    text = "op: plus\ntype_relation: NAME\ninputs: {a: {dtype: number}, b: {dtype: number}}\n"
    text += "outputs: {out: {shape: a.shape, dtype: a.dtype}}\ncompute: out[*i] = a[*i]\n"
    text += 'tests:\n  - {a: "int8[2, 3]", b: "int8[3]"}\n'

    def check(name: str) -> str:
        ops, found = check_project({"p.yaml": text.replace("NAME", name)})
        return (
            ", ".join(rule.text for rule in ops[0].signature.rules) if ops else to_text(found).split("\n")[0]
        )

    assert check("broadcast") == "the operands broadcast together"
    assert check("identity").startswith(
        "p.yaml:7:5: error[test]: the test does not fit: requires the operands have one"
    )
    assert check("identty") == (
        "p.yaml:2:16: error[bad-value]: there is no relation `identty`; the built-in ones are identity, broadcast"
    )


def test_an_attr_whose_values_are_dear_leaves_the_others_their_probes() -> None:
    text = (
        "op: cut\ninputs: {x: {dtype: float}}\n"
        "attrs:\n  parts: {type: int, bounds: parts >= 1}\n"
        "  axis: {type: int, default: 0, bounds: -x.ndim <= axis < x.ndim}\n"
        "let: |\n  n = x.shape[axis] // parts\n  starts = tuple(j * n for j in range(parts))\n"
        "outputs: {out: {variadic: j in range(parts), shape: n, dtype: x.dtype}}\n"
        "type_relation: {require: {require: 'x.ndim == 1 and n * parts == x.shape[axis]', error: not equal}}\n"
        "compute: out[j][i] = x[starts[j] + i]\n"
        'tests:\n  - {x: "float32[6]", parts: 3}\n  - {x: "float64[4]", parts: 1}\n  - {x: "float16[4]", parts: 2}\n'
    )
    ops, found = check_project({"cut.yaml": text})
    assert found == []
    assert [(probe.inside, probe.outside) for probe in ops[0].probes if probe.attr == "axis"] == [
        (-1, -2),
        (0, 1),
    ]
    assert (1, 0) in [(probe.inside, probe.outside) for probe in ops[0].probes if probe.attr == "parts"]
    assert ops[0].sampled


def test_ends_that_a_bound_states_are_probed_however_far_they_are() -> None:
    text = (
        "op: far\ninputs: {x: {shape: S, dtype: float}}\n"
        "attrs:\n  scale: {type: float, default: 1, bounds: -1e12 < scale <= 1e9}\n"
        "  most: {type: int, default: 5, bounds: 0 <= most < 1000000000}\n"
        "outputs: {out: {shape: S, dtype: x.dtype}}\ncompute: out[*i] = x[*i]\n"
        'tests:\n  - {x: "float32[6]"}\n'
    )
    ops, found = check_project({"far.yaml": text})
    assert found == []
    assert [(probe.attr, probe.inside, probe.outside) for probe in ops[0].probes] == [
        ("scale", math.nextafter(-1e12, 0), -1e12),
        ("scale", 1e9, math.nextafter(1e9, math.inf)),
        ("most", 0, -1),
        ("most", 999_999_999, 1_000_000_000),
    ]

"""Ops whose compute calls other ops: values, gradients, keys of kernels, and calls among updates and scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner

import opgen_runtime as rt
from opgen.analyse import check_project
from opgen.commands import main
from opgen.diagnostics import to_text
from opgen_runtime.declaration import OpDeclaration
from opgen_runtime.operator import Op
from opgen_runtime.run.compile.kernel import key
from tests.library import library

HEAD = """
op: {name}
inputs: {{x: {{shape: "N, M", dtype: float64}}}}
outputs: {{out: {{shape: "N, M", dtype: float64}}}}
compute: |
{compute}
tests: [{{x: "float64[3, 4]"}}]
"""


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    weights = np.exp(x - x.max(axis=axis, keepdims=True))
    return weights / weights.sum(axis=axis, keepdims=True)


def turned(x: np.ndarray) -> np.ndarray:
    return np.concatenate((np.exp(x[:, 2:]), x[:, :2]), axis=1)


def scanned(x: np.ndarray) -> np.ndarray:
    state = np.zeros_like(x)
    for t in range(len(x)):
        state[t] = x[t] + (state[t - 1] / 2 if t else 0)
    return softmax(state)


BODIES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "an input": ("y = ops.softmax(x, axis=0)\nout[*i] = 2 * y[*i]", lambda x: 2 * softmax(x, 0)),
    "an intermediate that stands below": (
        "y = ops.softmax(z)\nout[*i] = y[*i]\nz[*i]: x.shape = 3 * x[*i]",
        lambda x: softmax(3 * x),
    ),
    "several results, a tuple of operands, a call inside a call": (
        "a, b = ops.split(x, indices_or_sections=2, axis=1)\n"
        "c = ops.concatenate((ops.exp(b), a), axis=1)\nout[*i] = c[*i]",
        turned,
    ),
    "a tensor that is updated, read by a scan": (
        "y = ops.cumsum(z, axis=0)\nout[*i] = y[*i]\nz[*i]: x.shape = 0 * x[*i]\n"
        "for i in range(N):\n    for j in range(M):\n        z[N - 1 - i, j] += x[i, j]",
        lambda x: np.cumsum(x[::-1], axis=0),
    ),
    "what an update reads first": (
        "y = ops.cumsum(x, axis=1)\nout[*i] = x[*i]\n"
        "for i in range(N):\n    for j in range(M):\n        out[i, j] += y[i, M - 1]",
        lambda x: x + x.sum(axis=1, keepdims=True),
    ),
    "an op that updates, called among updates": (
        "y = ops.scatter_nd(x, at, x)\nat[i, k]: (N, 1) = i\nout[*i] = x[*i]\n"
        "for i in range(N):\n    for j in range(M):\n        out[i, j] += y[N - 1 - i, j]",
        lambda x: x + x[::-1],
    ),
    "the states of a scan": (
        "s[t, i]: x.shape = x[t, i] + (s[t - 1, i] / 2 if t > 0 else 0)\ny = ops.softmax(s)\nout[*i] = y[*i]",
        scanned,
    ),
    "one op twice": (
        "y = ops.softmax(x, axis=0)\nz = ops.softmax(y, axis=1)\nout[*i] = z[*i]",
        lambda x: softmax(softmax(x, 0), 1),
    ),
}


@pytest.fixture(scope="module")
def called(package_of: Callable[[str, Sequence[str]], ModuleType]) -> ModuleType:
    """The package of ops of these computes, `called_0`, `called_1`, ..."""
    computes = [compute for compute, _ in BODIES.values()]
    return package_of("called_ops", [declaration(f"called_{k}", text) for k, text in enumerate(computes)])


def declaration(name: str, compute: str) -> str:
    return HEAD.format(name=name, compute="\n".join(f"  {line}" for line in compute.splitlines()))


@pytest.mark.parametrize("what", BODIES)
def test_values_and_gradients(what: str, called: ModuleType) -> None:
    op = getattr(called, f"called_{list(BODIES).index(what)}")
    reference = BODIES[what][1]
    x, weight = np.random.default_rng(0).standard_normal((2, 3, 4))
    np.testing.assert_allclose(rt.jit(op)(x), reference(x), rtol=1e-12, atol=1e-12)
    found = rt.grad(lambda x: (op(x) * weight).sum())(x)
    step, expected = 1e-6, np.zeros_like(x)
    for at in np.ndindex(x.shape):
        moved = x.copy(), x.copy()
        moved[0][at] += step
        moved[1][at] -= step
        expected[at] = np.sum((reference(moved[0]) - reference(moved[1])) * weight) / (2 * step)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_the_pattern_is_that_of_the_whole() -> None:
    files = {"own.yaml": declaration("own", BODIES["an input"][0] + "\nu = ops.exp(x)")}
    files["plain.yaml"] = declaration("plain", "y = ops.exp(x)\nout[*i] = 2 * y[*i]")
    ops, found = check_project(files, library=library())
    assert to_text(found) == ""
    assert [(op.pattern.name, op.calls) for op in ops] == [
        ("OUT_ELEMWISE_FUSABLE", ("softmax", "exp")),
        ("ELEMWISE", ("exp",)),
    ]


def test_the_keys_of_kernels_cover_what_is_called(called: ModuleType) -> None:
    caller: OpDeclaration = Op.get("called_ops.called_0").get_attr("declaration")
    assert [each.full_name for each in key._made_of(caller)] == ["called_ops.called_0", "softmax"]


@pytest.mark.parametrize(
    ("compute", "found"),
    [
        ("y = ops.called(x)\nout[*i] = y[*i]", "error[cyclic]: `called` calls itself; "),
        ("y = ops.other(x)\nout[*i] = y[*i]", "error[cyclic]: `called` calls itself, through `other`; "),
        ("y = ops.sofmax(x)\nout[*i] = y[*i]", "error[unknown-name]: there is no op `sofmax`"),
        ("y = ops.wrong(x)\nout[*i] = y[*i]", "error[op-call]: the declaration of `wrong` has mistakes of its own"),
        ("out = ops.exp(x)", "error[op-call]: the output `out` is defined by its elements"),
        ("y = ops.exp(out)\nout[*i] = y[*i]", "error[cyclic]: out is made of what an op gives for out itself"),
        ("y = ops.exp(x[0, 0])\nout[*i] = y[*i]", "error[op-call]: operand 0 of `exp` is an element value"),
        ("y = ops.exp(x, x)\nout[*i] = y[*i]", "error[call]: `exp` refuses this call: too many arguments"),
        ("a, b = ops.exp(x)\nout[*i] = a[*i]", "error[op-call]: `exp` gives 1 here, not 2: write `a = ...`"),
        ("y = ops.softmax(x, axis=x[0, 0])\nout[*i] = y[*i]", "error[stage]: the attr `axis` of a call must be static"),
        ("def f(k): return ops.exp(x)\nout[*i] = x[*i]", "error[op-call]: a call of an op gives whole tensors"),
    ],
)  # fmt: skip
def test_what_is_refused(compute: str, found: str) -> None:
    """Once each, at the call."""
    files = {
        "called.yaml": declaration("called", compute),
        "other.yaml": declaration("other", "y = ops.called(x)\nout[*i] = y[*i]"),
        "wrong.yaml": declaration("wrong", "out[*i] = x[*j]"),
    }
    text = to_text(
        [each for each in check_project(files, library=library())[1] if each.place.path == "called.yaml"]
    )
    assert text.count("error[") == 1
    line = next(k for k, each in enumerate(files["called.yaml"].splitlines(), 1) if "ops." in each)
    assert text.startswith(f"called.yaml:{line}:")
    assert found in text


def test_a_misspelt_op_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["init", "mended"]).exit_code == 0
    monkeypatch.chdir(tmp_path / "mended")
    path = Path("opdefs/own.yaml")
    path.write_text(declaration("own", "y = ops.softmx(x, axis=0)\nout[*i] = y[*i]"))
    assert CliRunner().invoke(main, ["generate", "--fix"]).exit_code == 0
    assert path.read_text() == declaration("own", "y = ops.softmax(x, axis=0)\nout[*i] = y[*i]")


def test_an_update_with_what_is_made_of_it_is_refused() -> None:
    compute = "out[*i] = x[*i]\nz[*i]: x.shape = 2 * out[*i]\n"
    compute += "for i in range(N):\n    for j in range(M):\n        out[i, j] += z[i, j]"
    text = to_text(check_project({"own.yaml": declaration("own", compute)})[1])
    assert "error[cyclic]: out is updated with what is made of out" in text

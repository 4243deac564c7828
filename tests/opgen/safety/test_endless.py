"""Static work that grows without end: refused within the limit of time, whatever it is made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .harness import examine, many

HEAD = """\
op: h
inputs: {data: {dtype: number}}
attrs: {axis: {type: int, default: 0}}
outputs: {out: {shape: data.shape, dtype: data.dtype}}
"""
TAIL = 'tests:\n  - {data: "float32[2]"}\n'

FIRST = ("2", "(1, 2)", "3.5", "data.shape", "'ab'", "10 ** 18", "(1, (2, 3))", "data.ndim + 7", "float32")
GROW = (
    "{a} * {a}", "{a} + {a}", "{a} ** {a}", "{a} << {a}", "({a}, {a})", "({a}, {a}, {a}, {a})", "(*{a}, *{a})",
    "{a} * 1000",
    "{a} + (1,)", "tuple(({a}, {a}) for j in range(9))", "sum({a} for j in range(99))", "prod({a} for j in range(99))",
    "tuple({a} for j in range({a}))", "sorted(tuple({a}))", "-{a}", "~{a}", "abs({a})", "{a} if axis == 0 else 0",
    "{a} // 3 * 7", "{a} % 5", "float({a}) * 1e300", "int({a})", "ndindex(({a}, {a}))", "range({a})", "len({a})",
    "tuple(k for k in ndindex((9, 9, 9, 9)))", "broadcast({a}, {a})", "tuple(zip({a}, {a}))", "max({a}, {a})",
    "tuple(enumerate({a}))", "tuple(reversed({a}))", "{a}[0:9]", "{a} and {a}", "{a} == {a}", "sum(j for j in {a})",
    "unravel({a}, (9, 9))", "einsum_plan('ij,jk->ik', ({a}, {a}))", "norm_axes({a}, 3)", "ceil_div({a}, 2)",
    "prefix_sums({a})",
    "slice_indices({a}, 1, 2, 3)", "window_out({a}, 2, 1)", "same_pads({a}, 2)", "promote({a}, {a})", "ravel({a}, {a})",
    "next((j for j in range({a}) if j < 0), 0)", "any(j > 5 for j in range({a}))", "1 in {a}", "{a}.index({a})",
    "bits({a})", "min({a}, 3)", "clip({a}, 0, 9)", "reflect({a}, 4)", "bcast({a}, {a})", "floor({a} * 0.5)",
)  # fmt: skip


@many(200)
@given(
    st.sampled_from(FIRST),
    st.lists(st.sampled_from(GROW), min_size=1, max_size=4),
    st.integers(1, 60),
    st.sampled_from(["let", "compute", "bounds", "require", "shape"]),
)
def test_growing_values(first: str, grow: list[str], count: int, where: str) -> None:
    lines = [f"a0 = {first}"]
    lines += [f"a{k + 1} = {grow[k % len(grow)].format(a=f'a{k}')}" for k in range(count)]
    last = f"a{count}"
    block = "\n  ".join(lines)
    let, compute, shape, more = block, "out[*i] = data[*i]", "data.shape", ""
    if where == "compute":
        let, compute = "", f"{block}\n  {compute}"
    elif where == "bounds":
        more = f'attrs: {{axis: {{type: int, default: 0, bounds: "axis < {last}"}}}}\n'
    elif where == "require":
        more = f'type_relation: {{require: ["data.ndim != {last}"]}}\n'
    elif where == "shape":
        shape = f'"*data.shape, *{last}"' if first.startswith("(") else f'"{last}"'
    text = HEAD.replace("shape: data.shape", f"shape: {shape}")
    if where == "bounds":
        text = text.replace("attrs: {axis: {type: int, default: 0}}\n", "")
    examine(f"{text}{more}{f'let: |{chr(10)}  {let}{chr(10)}' if let else ''}compute: |\n  {compute}\n{TAIL}")


@many(70)
@given(st.sampled_from(["({e})", "-{e}", "not {e}", "abs({e})", "{e} + 1", "1 + {e}", "{e} if data[*i] > 0 else 0",
                        "0 if {e} else 1", "({e}, {e})[0]", "f({e})", "sum({e} for k in range(2))", "data[{e}]",
                        "max({e} for k in range(2) if {e} > 0)", "{e} and {e}", "cast({e}, int8)", "exp({e})",
                        "next((k for k in range(3) if {e} > k), {e})", "t[{e}]"]), st.integers(1, 400))  # fmt: skip
def test_deep_expressions(wrap: str, depth: int) -> None:
    expression = "data[*i]"
    for _ in range(depth):
        if len(expression) > 50_000:
            break
        expression = wrap.replace("{e}", expression)
    examine(
        f"{HEAD}let: |\n  t = (1, 2, 3)\n  def f(x): return x\ncompute: |\n  out[*i] = {expression}\n{TAIL}"
    )


@pytest.mark.parametrize(
    "extent", ["999999999", "2, " * 200 + "2", "0, 99999999", "1, " * 5000 + "1", "1" * 5000]
)
def test_huge_shapes_in_tests(extent: str) -> None:
    tail = TAIL.replace("float32[2]", f"float32[{extent}]")
    examine(f"{HEAD}compute: |\n  out[*i] = data[*i] + sum(data[*i] for k in range(data.ndim))\n{tail}")


def test_huge_extents_are_no_work() -> None:
    """A reduction over many elements is built in no time: loops over elements are never unrolled."""
    text = f"{HEAD}compute: |\n  out[*i] = data[*i] + sum(cast(k, data.dtype) for k in range(10**12))\n{TAIL}"
    assert len(examine(text).ops) == 1


@pytest.mark.parametrize(
    "loop",
    [
        "tuple(ndindex((10**12, 0)))",
        "tuple(k for k in ndindex((10**12, 0)))",
        "sum(1 for k in ndindex((10**12, 0)))",
        "tuple(ndindex((10**4, 10**4, 0)))",
        "tuple(reversed(ndindex((10**12, 0))))",
    ],
)
def test_loops_around_an_empty_one(loop: str) -> None:
    """That nothing is inside does not end the loop around it."""
    examined = examine(f"{HEAD}let: n = {loop}\ncompute: out[*i] = data[*i]\n{TAIL}")
    assert examined.codes == {"limit"}


@pytest.mark.parametrize("position", ["0", "{k}", "{k} * 7 % 900"])
@pytest.mark.parametrize("tensors", [1, 30])
def test_very_many_definitions(position: str, tensors: int) -> None:
    """Each definition is proved against what all earlier ones leave."""
    count = 600 // tensors
    lines = [
        f"  t{t}[{position.format(k=k)}]{': (900,)' if k == 0 else ''} = 1.5"
        for t in range(tensors)
        for k in range(count)
    ]
    examined = examine(f"{HEAD}compute: |\n  out[*i] = data[*i]\n" + "\n".join(lines) + f"\n{TAIL}")
    assert examined.codes == {"limit"}


def test_definitions_in_branches_do_not_add_up() -> None:
    branches = "\n".join(
        f"  {'el' if k else ''}if axis == {k}:\n    out[0] = {k}\n    out[i] = data[i]" for k in range(11)
    )
    text = f"{HEAD}compute: |\n{branches}\n  else:\n    out[i] = data[i]\n{TAIL}"
    assert len(examine(text.replace("dtype: number", 'dtype: number, shape: "N"')).ops) == 1


@pytest.mark.parametrize("attrs", [40, 80])
@pytest.mark.parametrize("tests", [1, 40])
def test_very_many_attrs_and_tests(attrs: int, tests: int) -> None:
    """Each attr is tried at the ends of its bounds, in each test."""
    listed = ", ".join(
        f"a{k}: {{type: int, default: {k}, bounds: 0 <= a{k} < data.ndim + 1000}}" for k in range(attrs)
    )
    text = HEAD.replace("attrs: {axis: {type: int, default: 0}}", f"attrs: {{{listed}}}")
    examined = examine(f"{text}compute: out[*i] = data[*i]\n{TAIL}" + TAIL[len("tests:\n") :] * (tests - 1))
    assert examined.codes <= {"limit"}


@pytest.mark.parametrize("members", [100, 1000, 3000])
def test_very_many_outputs(members: int) -> None:
    text = HEAD.replace("{shape: data.shape", f"{{variadic: j in range({members}), shape: data.shape")
    examined = examine(
        f"{text}compute: out[j][*i] = data[*i] + max(data[*k] for k in ndindex(data.shape))\n{TAIL}"
    )
    assert examined.codes <= {"limit"}

"""Parts of programs for other compilers: patterns, annotated and merged regions, functions, and what compiles them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import OpgenError, PassError
from opgen_runtime.base.functions import list_global_func_names
from opgen_runtime.operator import Op
from opgen_runtime.operator.registry import loaded_ops, remove_global_func, remove_op
from opgen_runtime.transform import (
    AnnotateTarget,
    MergeCompilerRegions,
    MergeComposite,
    PartitionGraph,
    Sequential,
)
from opgen_runtime.transform.lower_external_functions import OPS
from tests.transform.whole import arrays_for, function, gives

TAKEN = ("exp", "tanh", "add", "split")
NUMPY = {"exp": np.exp, "tanh": np.tanh, "add": np.add}
COMPILED: list[str] = []


def by_numpy(given: rt.Function) -> Callable[..., np.ndarray]:
    """A compiler of three ops: a function of numpy arrays."""
    assert given.attrs["Compiler"] == "mylib"
    COMPILED.append(str(given.attrs["global_symbol"]))

    def run(*arrays: np.ndarray) -> object:
        values: dict[int, object] = {id(p): a for p, a in zip(given.params, arrays, strict=True)}
        for node in ir.post_order(given.body):
            if isinstance(node, rt.Call):
                values[id(node)] = NUMPY[node.op.name](*[values[id(arg)] for arg in node.args])
            elif isinstance(node, rt.Constant):
                values[id(node)] = node.data
            elif isinstance(node, rt.Tuple):
                values[id(node)] = tuple([values[id(each)] for each in node.fields])
        return values[id(given.body)]

    return run


@pytest.fixture(autouse=True)
def mylib() -> Iterator[None]:
    COMPILED.clear()
    for name in TAKEN:
        Op.get(name).set_attr("target.mylib", name != "split" or (lambda call: len(call.args) == 1))
    rt.register_func("ext.mylib", by_numpy)
    yield
    remove_global_func("ext.mylib")
    for name in TAKEN:
        Op.get(name).reset_attr("target.mylib")
    for op in loaded_ops():
        if op.name.startswith(f"{OPS}."):
            remove_op(op.name)


LAYER = (("mylib.layer", "relu(softmax(?x))"),)
RELU = "fn (%x: [2, 3]) { relu(softmax(%x, axis=0)) }"


def test_a_pattern_is_a_function_whatever_its_attrs() -> None:
    gives(
        MergeComposite(LAYER),
        RELU,
        """fn (%x: [2, 3]) {
          %0 = fn (%y: [2, 3], Composite="mylib.layer") { relu(softmax(%y, axis=0)) };
          %0(%x)
        }""",
    )
    gives(MergeComposite((("mylib.last", "relu(softmax(?x, axis=-1))", None),)), RELU)
    gives(MergeComposite((("mylib.first", "relu(softmax(?x, axis=0))", lambda call: False),)), RELU)


def test_patterns_in_their_order_and_constants_inside() -> None:
    rows = (("mylib.scaled", "multiply(exp(?x), ?c: constant)", None), ("mylib.exp", "exp(?x)", None))
    gives(
        MergeComposite(rows),
        "fn (%x: [2]) { multiply(exp(exp(%x)), 2f) }",
        """fn (%x: [2]) {
          %0 = fn (%a: [2], Composite="mylib.exp") { exp(%a) };
          %1 = %0(%x);
          %2 = fn (%b: [2], Composite="mylib.scaled") { multiply(exp(%b), 2f) };
          %2(%1)
        }""",
    )


def test_what_others_read_is_not_merged() -> None:
    gives(MergeComposite(LAYER), "fn (%x: [2, 3]) { %0 = softmax(%x); add(relu(%0), %0) }")


ROW = r"MergeComposite takes rows of \(name, pattern, check\), found"
WRONG_ROWS: dict[str, tuple[object, str]] = {
    "no row": ("exp(?x)", ROW),
    "no name": ((3, "exp(?x)"), ROW),
    "no call": (("a", "?x", None), r"match: \?x: expected a call of an op"),
    "a pattern": (("a", 3, None), "MergeComposite: a: the pattern is 3, expected the call of an op"),
    "a check": (("a", "exp(?x)", 3), "MergeComposite: a: the check is 3, expected a function or None"),
    "a check that raises": (
        ("a", "relu(?x)", lambda call: 1 // 0),
        "MergeComposite: a: its check raised ZeroDivisionError",
    ),
}


@pytest.mark.parametrize("what", WRONG_ROWS)
def test_wrong_rows(what: str) -> None:
    row, message = WRONG_ROWS[what]
    with pytest.raises(PassError, match=message):
        MergeComposite((row,))(function(RELU))


CHAIN = "fn (%x: [4]) { %0 = exp(%x); %1 = tanh(%0); relu(add(%1, %0)) }"
ANNOTATED = """fn (%x: [4]) {
  %0 = fn (%a: [4], %b: [4], Compiler="mylib") { add(%a, %b) };
  %1 = fn (%a: [4], Compiler="mylib") { tanh(%a) };
  %2 = fn (%a: [4], Compiler="mylib") { exp(%a) };
  %3 = %2(%x);
  %4 = %1(%3);
  relu(%0(%4, %3))
}"""
MERGED = """fn (%x: [4]) {
  %0 = fn (%y: [4], Compiler="mylib") { %1 = exp(%y); %2 = tanh(%1); add(%2, %1) };
  relu(%0(%x))
}"""
BETWEEN = "fn (%x: [4]) { %0 = exp(%x); add(relu(%0), %0) }"
"""What lies between the two, `relu`, is none of mylib's."""


def test_each_call_that_is_taken_is_a_region() -> None:
    gives(AnnotateTarget(("other", "mylib")), CHAIN, ANNOTATED)
    gives(AnnotateTarget(("other",)), CHAIN)


def test_regions_that_read_each_other_are_one() -> None:
    gives(MergeCompilerRegions(), ANNOTATED, MERGED)


def test_regions_stay_apart() -> None:
    for text in (BETWEEN, "fn (%x: [4], %c: [] bool) { %0 = exp(%x); if (%c) { add(%0, %0) } else { %0 } }"):
        annotated = AnnotateTarget(("mylib",))(function(text))
        merged = MergeCompilerRegions()(annotated)
        assert ir.structural_equal(merged, annotated)


def test_several_results_and_fields() -> None:
    """A region gives all that is read outside."""
    text = "fn (%x: [4]) { %0 = split(%x, indices_or_sections=[2]); %1 = exp(%0.0); (add(%1, %0.0), relu(%1), %0.1) }"
    made = Sequential([AnnotateTarget(("mylib",)), MergeCompilerRegions()])(
        rt.IRModule.from_expr(function(text))
    )
    expected = """fn (%x: [4]) {
      %0 = fn (%y: [4], Compiler="mylib") {
        %1 = split(%y, indices_or_sections=[2]);
        %2 = %1.0;
        %3 = exp(%2);
        (%3, add(%3, %2), %1.1)
      };
      %4 = %0(%x);
      (%4.1, relu(%4.0), %4.2)
    }"""
    assert ir.structural_equal(made["main"], function(expected)), str(made)


def partitioned(text: str) -> rt.IRModule:
    passes = [AnnotateTarget(("mylib",)), MergeCompilerRegions(), PartitionGraph()]
    return Sequential(passes)(rt.IRModule.from_expr(function(text)))


def test_regions_are_functions_of_the_module() -> None:
    expected = rt.parse_module("""
        def @main(%x: Tensor[(4), float32]) { relu(@mylib_main_0(%x)) }
        def @mylib_main_0(%y: Tensor[(4), float32], Compiler="mylib", global_symbol="mylib_main_0") {
          %0 = exp(%y); %1 = tanh(%0); add(%1, %0)
        }""")
    found = partitioned(CHAIN)
    assert [var.name for var in found] == ["main", "mylib_main_0"]
    for var in found:
        assert ir.structural_equal(found[var], expected[var.name])
    assert rt.transform.FuseOps()(found)["mylib_main_0"] is found["mylib_main_0"]


PROGRAMS = (CHAIN, BETWEEN, "fn (%x: [4]) { (exp(%x), relu(add(%x, 2f))) }")


@pytest.mark.parametrize("text", PROGRAMS)
def test_a_compiler_of_numpy(text: str) -> None:
    program = function(text)
    arrays = list(arrays_for(program).values())
    wanted = rt.build(program).run(arrays)
    built = rt.build(partitioned(text))
    assert built.why_interpreted is None
    assert len(COMPILED) == str(partitioned(text)).count("def @mylib")
    np.testing.assert_allclose(np.hstack(built.run(arrays)), np.hstack(wanted), rtol=1e-6)
    for kind in ("debug", "graph"):
        found = rt.create_executor(kind, partitioned(text)).evaluate()(*arrays)
        found = found if isinstance(found, tuple) else (found,)
        np.testing.assert_allclose(np.hstack([each.numpy() for each in found]), np.hstack(wanted), rtol=1e-6)


def test_open_dims_are_those_of_a_run() -> None:
    x = rt.var("x", rt.TensorType((rt.dim("n"),), "float32"))
    module = rt.IRModule.from_expr(rt.Function((x,), ops.relu(ops.exp(x))))
    built = rt.build(Sequential([AnnotateTarget(("mylib",)), PartitionGraph()])(module))
    for size in (3, 5):
        np.testing.assert_allclose(built.run([np.zeros(size, "float32")]), np.ones(size))


def test_what_else_a_compiler_gives() -> None:
    """None leaves a function to this compiler; an Executable has `run`."""
    data = np.arange(4, dtype="float32")
    wanted = rt.build(function(CHAIN)).run([data])
    for compiler in (lambda given: None, lambda given: rt.build(rt.Function(given.params, given.body))):
        rt.register_func("ext.mylib", compiler, override=True)
        built = rt.build(partitioned(CHAIN))
        assert built.why_interpreted is None
        np.testing.assert_allclose(built.run([data]), wanted, rtol=1e-6)


WRONG: dict[str, tuple[object, str]] = {
    "what cannot be called": (
        lambda given: 3,
        "the compiler 'mylib' of @mylib_main_0 gave 3, expected a function of arrays, something with run, or None",
    ),
    "what raises": (lambda given: 1 // 0, "the compiler 'mylib' of @mylib_main_0 raised ZeroDivisionError"),
    "another shape": (
        lambda given: lambda x: x[:2],
        r"the function .*mylib_main_0: result mylib_main_0_0 is float32\[2\], expected float32\[4\]",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_compilers(what: str) -> None:
    compiler, message = WRONG[what]
    rt.register_func("ext.mylib", compiler, override=True)
    with pytest.raises(OpgenError, match=message):
        rt.build(partitioned(CHAIN)).run([np.zeros(4, "float32")])


def test_a_compiler_that_is_not_there() -> None:
    text = str(partitioned(CHAIN)).replace('"mylib"', '"mylab"')
    registered = ", ".join([name.removeprefix("ext.") for name in list_global_func_names("ext")])
    message = (
        "@mylib_main_0 is for the compiler 'mylab', which is not registered; did you mean 'mylib'?: "
        f"there is no global function 'ext.mylab' (registered: {registered})"
    )
    with pytest.raises(PassError, match=re.escape(message)):
        rt.build(rt.parse_module(text))

"""The writer of LLVM assembly: what is filled in by hand, what several modules share."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from opgen_runtime.base.target import Target
from opgen_runtime.codegen.llvm.text import FunctionText, ModuleText, fill, types

HOST = Target.host()


def test_words_are_filled_in_at_once_and_none_is_left() -> None:
    assert (
        fill("%$NAME = add i64 $JOB_BITS, $JOB", NAME="JOB", JOB=1, JOB_BITS="$JOB")
        == "%JOB = add i64 $JOB, 1"
    )
    with pytest.raises(ValueError, match=r"words and places of the text differ: \$JOB, \$JOBS"):
        fill("$JOB", JOBS=1)


def test_a_loop_written_instruction_by_instruction() -> None:
    f = FunctionText(ModuleText(HOST))
    head, done, before = f.label("head"), f.label("done"), f.block
    f.branch(head)
    f.start(head)
    i = f.recurrence("i64", "0", before)
    f.call("visit", "void", [("i64", i.name)])
    following = f.emit(f"add i64 {i.name}, 1")
    i.again(following, f.block)
    f.branch_if(f.emit(f"icmp slt i64 {following}, %n"), head, done)
    f.start(done)
    f.do("ret void")
    f.define("each", "void", "i64 %n", "nounwind", exported=True)
    text = f.module.render()
    assert (
        text
        == """\
declare void @visit(i64)
define void @each(i64 %n) nounwind {
  br label %start
start:
  br label %head1
head1:
  %v0 = phi i64 [ 0, %start ], [ %v1, %head1 ]
  call void @visit(i64 %v0)
  %v1 = add i64 %v0, 1
  %v2 = icmp slt i64 %v1, %n
  br i1 %v2, label %head1, label %done2
done2:
  ret void
}
"""
    )
    llvm.parse_assembly(text, llvm.create_context()).verify()


def test_what_has_a_name_is_there_once() -> None:
    library = ModuleText(HOST)
    library.source("define internal $T @one() {\n  ret $T 1\n}\n@table = constant i8 1\n", T="i32")
    module = ModuleText(HOST)
    module.include(library)
    module.include(library)
    assert module.declare("one", "i32", "") == "@one"
    assert module.render() == library.render()
    library.export("one")
    assert "define i32 @one()" in library.render()


def test_zeros_are_told_apart_in_either_order() -> None:
    for zeros in ((0.0, -0.0), (-0.0, 0.0)):
        texts = [types.float_literal("float", zero) for zero in zeros]
        assert texts == [f"0x{0x8000 if str(zero)[0] == '-' else 0:04X}000000000000" for zero in zeros]


def test_what_follows_from_sizes_is_computed_once_at_the_entry() -> None:
    f = FunctionText(ModuleText(HOST))
    size = f.emit_size("load i64, ptr %dims, align 8")
    half, other = f.compute(f"lshr i64 {size}, 1"), f.emit("load i64, ptr %data, align 8")
    f.start("if1")
    assert f.compute(f"lshr i64 {size}, 1") == half
    limit = f.call("llvm.smin.i64", "i64", (("i64", half), ("i64", "16")))
    f.start("endif1")
    assert f.call("llvm.smin.i64", "i64", (("i64", half), ("i64", "16"))) == limit
    f.compute(f"mul i64 {limit}, {other}")  # which is no size
    f.compute(f"insertelement <8 x i64> poison, i64 {size}, i64 0")  # nor is a vector
    assert [f.is_size(each) for each in (size, half, limit, other)] == [True, True, True, False]
    assert f.entry == [
        "  %v0 = load i64, ptr %dims, align 8",
        "  %v1 = lshr i64 %v0, 1",
        "  %v3 = call i64 @llvm.smin.i64(i64 %v1, i64 16)",
    ]
    assert f.lines == [
        "  %v2 = load i64, ptr %data, align 8",
        "if1:",
        "endif1:",
        "  %v4 = mul i64 %v3, %v2",
        "  %v5 = insertelement <8 x i64> poison, i64 %v0, i64 0",
    ]


def test_beside_sizes_a_block_knows_what_stands_in_those_before_it() -> None:
    f = FunctionText(ModuleText(HOST))
    f.emit_size("load i64, ptr %dims, align 8")
    x = f.emit("load i64, ptr %data, align 8")
    before = f.compute(f"add i64 {x}, 1")
    known = f.known()
    f.start("then", known)
    inside = f.compute(f"add i64 {x}, 2")
    f.start("inner", f.known())
    assert (f.compute(f"add i64 {x}, 1"), f.compute(f"add i64 {x}, 2")) == (before, inside)
    f.start("else", known)
    assert f.compute(f"add i64 {x}, 1") == before
    assert f.compute(f"add i64 {x}, 2") != inside
    f.start("elsewhere")
    assert f.compute(f"add i64 {x}, 1") != before


def test_without_sizes_each_block_computes_its_own() -> None:
    f = FunctionText(ModuleText(HOST))
    x = f.emit("load i64, ptr %data, align 8")
    before = f.compute(f"add i64 {x}, 1")
    assert f.known() == ()
    f.start("then", f.known())
    assert f.compute(f"add i64 {x}, 1") != before

"""Plans, and what else the stages of a program give, each with one mistake: (what makes it, what the error names)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from opgen_runtime import dim, ir, ops
from opgen_runtime.base.arith import const
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import INDEX
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile import pipeline, programs
from opgen_runtime.run.compile.kernel.kernel import EmptyKernel, Kernel, Slot
from opgen_runtime.run.compile.kernel.parts import Parts
from opgen_runtime.run.compile.kernel.segments import Site
from opgen_runtime.run.compile.program.plan import (
    Again,
    Copy,
    Donation,
    Else,
    End,
    Held,
    If,
    Leave,
    Loop,
    Plan,
    Put,
    PutSlice,
    Run,
)
from opgen_runtime.run.compile.program.plan_contract import View
from opgen_runtime.run.compile.program.program_records import Cut, Linked, Prepared, Specialised
from opgen_runtime.run.executor.driver import asked

Plants = dict[str, tuple[Callable[[], Any], str]]
F4: Final = Held((4,), np.dtype(np.float32))
ROWS: Final = Held((3, 4), np.dtype(np.float32))
FLAG, PLACE = Held((), np.dtype(np.bool_)), Held((), np.dtype(np.int64))

# ------------------------------------------------------------------ plans


def kernel(name: str, inputs: int, outputs: int = 1) -> Kernel:
    made = [Slot(f"operand {k}", (4,), np.dtype(np.float32)) for k in range(inputs + outputs)]
    return EmptyKernel(name, made[:inputs], made[inputs:])


class InPython(EmptyKernel):
    """A kernel that machine code cannot call."""

    why_not_native = "it is a generator"


KERNELS: Final = (kernel("opgen_add", 2), kernel("opgen_exp", 1), InPython("opgen_odd", (), ()))
LINE: Final = Plan(  # %3 = exp(%0 + %1) + (%0 + %1)
    1,
    {1: np.ones(4, np.float32)},
    (F4, F4, F4, F4, F4),
    (Run(0, (0, 1), (2,)), Run(1, (2,), (4,)), Run(0, (4, 2), (3,))),
    (3,),
    0,
    (),
    {2: 0, 4: 64},
    128,
)
LOOP: Final = Plan(  # until %1, from %0 on: %2 = exp(...)
    2,
    {},
    (F4, FLAG, F4, F4, F4, F4, F4),
    (
        Loop((3,), (0,), (4, 5), (2,), -1),
        If(1, ()), Copy(3, 2), Leave(), Else(), Run(1, (3,), (6,)), Again((6,)), End(),
        End(),
    ),
    (2,),
    0,
    (),
    {4: 0, 5: 64, 6: 128},
    192,
)  # fmt: skip
PUT: Final = Plan(  # until %0: row %1 of %4, which begins as %2, is %3
    4,
    {},
    (FLAG, PLACE, ROWS, F4, ROWS),
    (
        Copy(2, 4), Loop((), (), (), (), -1),
        If(0, ()), Leave(), Else(), Put(4, 1, 3), Again(()), End(),
        End(),
    ),
    (4,),
    0,
    (),
    {},
    0,
)  # fmt: skip
SLICE: Final = Plan(  # %3, in the memory of %0, is %0 with exp(%1) in its second half
    2,
    {},
    (Held((8,), F4.dtype), F4, F4, Held((8,), F4.dtype)),
    (Run(1, (1,), (2,)), PutSlice(3, 2, 0, 4)),
    (3,),
    0,
    (),
    {2: 0},
    64,
    (),
    (Donation(0, 0),),
)
GROWN: Final = (
    Plan(  # %2, in the memory of %0, is %0 with %1 at its end; %3 = exp(%0), which does not read that
        2,
        {},
        (F4, Held((1,), F4.dtype), F4, F4),
        (PutSlice(2, 1, 0, 3), Run(1, (0,), (3,))),
        (2, 3),
        (0, 1),
        (),
        {},
        0,
        (),
        (Donation(0, 0, grows=True),),
    )
)
N: Final = dim("n")
OPEN: Final = replace(
    LINE,
    held=tuple([Held((N,), F4.dtype)] * 5),
    constants={},
    num_params=2,
    offsets={2: const(0, INDEX), 4: (N * 4 + 63) // 64 * 64},
    space=(N * 4 + 63) // 64 * 128,
    dims=(N,),
)


def view(plan: Plan, **changes: Any) -> Callable[[], View]:
    return lambda: View(replace(plan, **changes), KERNELS)


def with_code(plan: Plan, position: int, *instructions: Any) -> Callable[[], View]:
    """The plan with other instructions in the place of one."""
    return view(plan, code=(*plan.code[:position], *instructions, *plan.code[position + 1 :]))


def held(plan: Plan, slot: int, other: Held) -> Callable[[], View]:
    return view(plan, held=(*plan.held[:slot], other, *plan.held[slot + 1 :]))


PLANS: Plants = {
    "blocks are nested, and ways through loops end": (
        with_code(LOOP, 6),
        "instruction 7, End, ends a loop, one way",
    ),
    "slots are there, constants are what they hold": (
        view(LINE, constants={1: np.ones(4)}),
        "the constant %1 is float64[4], expected float32[4]",
    ),
    "as many operands as the kernel has": (
        with_code(LINE, 1, Run(0, (2,), (4,))),
        "instruction 1, Run, of opgen_add, has 1 inputs, expected 2",
    ),
    "operands are of the kernel's types": (
        held(LINE, 4, ROWS),
        "instruction 1, Run: %4 holds float32[3, 4], where opgen_exp has float32[4] (operand 1)",
    ),
    "what is copied and carried is alike": (
        held(LOOP, 5, ROWS),
        "instruction 0, Loop: %5 holds float32[3, 4], %3 fl",
    ),
    "loops go on with what they carry": (
        with_code(LOOP, 6, Again((1,))),
        "instruction 6, Again: %1 holds bool[], %3 float32[4]",
    ),
    "conditions are bools": (held(LOOP, 1, PLACE), "instruction 1, If: the condition %1 holds int64[]"),
    "what is put is a row": (
        held(PUT, 3, ROWS),
        "instruction 5, Put: %3 holds float32[3, 4], which is no row of %4",
    ),
    "what is put is a slice": (
        with_code(SLICE, 1, PutSlice(3, 2, 0, 5)),
        "instruction 1, PutSlice: %2, float32[4], from 5 on along axis 0 is not within %3, float32[8]",
    ),
    "donated memory is of the result's type": (
        view(SLICE, donations=(Donation(1, 0),)),
        "result 0 is float32[8], and takes the memory of input 1, float32[4]",
    ),
    "sizes are made of the inputs' dims": (view(OPEN, space=dim("m") * 64), "the arena has a size of m"),
    "inputs and constants are only read": (
        with_code(LINE, 1, Run(1, (2,), (1,)), Run(1, (2,), (4,))),
        "instruction 1, Run fills %1, which is a constant",
    ),
    "filled before it is read": (
        view(LINE, code=(LINE.code[0], LINE.code[2], LINE.code[1])),
        "instruction 1, Run, reads %4, which is not filled on all ways to it",
    ),
    "filled once on each way": (
        with_code(LINE, 1, LINE.code[1], LINE.code[1]),
        "instruction 2, Run, fills %4, which is filled before",
    ),
    "results are filled": (
        with_code(LOOP, 2),
        "%2 is a result of the Loop that ends at instruction 7, and not filled on all ways to its end",
    ),
    "rows are put where nothing else reads": (
        view(
            PUT,
            held=(*PUT.held, ROWS),
            code=(*PUT.code[:5], PUT.code[5], Copy(4, 5), *PUT.code[6:]),
            offsets={5: 0},
            space=64,
        ),
        "instruction 5, Put, writes into %4, which instruction 6, Copy, has, too",
    ),
    "donated memory is filled when it is read no more": (
        view(LINE, code=(*LINE.code[:2], Run(0, (4, 0), (3,))), donations=(Donation(0, 0),)),
        "instruction 2, Run, fills %3 in the memory of the input %0, which is read there or later",
    ),
    "each slot has one place": (view(LINE, offsets={2: 0}), "%4 has no place in the arena"),
    "places are aligned and in the arena": (
        view(LINE, space=64),
        "%4 lies at 64 to 80, expected a multiple of 64",
    ),
    "what lives at one time lies apart": (
        view(LINE, offsets={2: 0, 4: 0}),
        "instruction 1, Run, fills %4 at 0 to 16, where %2, which is read later, lies at 0 to 16",
    ),
}
# further mistakes of the same rules: the plan, and what the error says
MORE: list[tuple[Callable[[], View], str]] = [
    (with_code(LINE, 1, Else()), "instruction 1, Else, belongs to no If"),
    (with_code(LINE, 1, End()), "instruction 1, End, ends nothing"),
    (with_code(LINE, 1, Leave()), "instruction 1, Leave, is in no loop"),
    (with_code(LOOP, 8), "the code ends within Loop"),
    (with_code(LOOP, 3, Leave(), Copy(3, 2)), "instruction 4, Copy, is behind an Again or a Leave"),
    (with_code(LOOP, 6, Again((6, 6))), "carries 2 values, where the loop carries 1"),
    (view(LOOP, code=(If(1, ()), End())), "instruction 1, End, ends an If without an Else"),
    (with_code(LINE, 1, Run(1, (9,), (4,))), "instruction 1, Run names %9, where there are 5 slots"),
    (view(LINE, num_params=2), "the input %1 is a constant, too"),
    (with_code(LINE, 1, Run(7, (2,), (4,))), "instruction 1, Run calls kernel 7, where there are 3"),
    (with_code(LINE, 1, Run(2, (), ())), "opgen_odd is no machine code: it is a generator"),
    (
        with_code(LOOP, 0, Loop((3,), (0, 0), (4, 5), (2,), -1)),
        "carries 1 values, and has 2 first ones and 2 buffers",
    ),
    (held(PUT, 1, F4), "instruction 5, Put: %1 holds float32[4], expected one int64 for a place"),
    (view(OPEN, dims=(N, dim("m"))), "no input has the dim m itself"),
    (with_code(PUT, 0, Copy(3, 2)), "instruction 0, Copy: %3 holds float32[4], %2 float32[3, 4]"),
    (with_code(PUT, 5, Put(2, 1, 3)), "instruction 5, Put fills %2, which is an input"),
    (with_code(LINE, 2, Run(1, (4,), (4,))), "instruction 2, Run, fills %4, which is filled before"),
    (view(LINE, outputs=(3, 3)), "the results %3, %3 are not slots of their own"),
    (view(LINE, result=(0, 0)), "the value (0, 0) does not hold each of the 1 results once"),
    (view(LINE, lengths=((0, 1, 4),)), "%4 is the length of axis 1 of result 0, which is none"),
    (view(LINE, lengths=((0, 0, 4),), offsets={2: 0}), "the length %4 holds float32[4], expected int64[]"),
    (view(LINE, code=LINE.code[:2]), "%3 is a result of the program, and not filled on all ways to its end"),
    (view(LINE, offsets={2: 0, 4: 64, 3: 128}, space=192), "%3 lies in the arena, as a result does not"),
    (view(LINE, offsets={2: 0, 4: 32}), "%4 lies at 32 to 48, expected a multiple of 64"),
    (view(LOOP, offsets={4: 0, 5: 0, 6: 128}), "instruction 6, Again, fills %4 at 0 to 16, where %5"),
    (
        view(LOOP, offsets={4: 0, 5: 64, 6: 0}),
        "instruction 6, Again, fills %4 at 0 to 16, where %6, which is read later",
    ),
    (
        view(OPEN, offsets={2: const(0, INDEX), 4: const(64, INDEX)}, space=N * 4 + 64),
        "instruction 1, Run, fills %4 at 64 to 212, n = 37, where %2, which is read later, lies at 0 to 148",
    ),
]
MORE += [
    (
        with_code(SLICE, 1, PutSlice(3, 2, 1, 4)),
        "%2 holds float32[4], which is no slice of %3, float32[8], along axis 1",
    ),
    (with_code(SLICE, 1, PutSlice(3, 2, 0, -1)), "%2, float32[4], from -1 on along axis 0 is not within %3"),
    (
        with_code(SLICE, 1, PutSlice(3, 2, 0, dim("m"))),
        "the start of instruction 1, PutSlice has a size of m",
    ),
    (with_code(SLICE, 1, PutSlice(3, 0, 0, 0)), "PutSlice, fills %3 in the memory of the input %0, which is"),
    (with_code(SLICE, 1, PutSlice(0, 2, 0, 4)), "instruction 1, PutSlice fills %0, which is an input"),
    (view(SLICE, donations=()), "PutSlice, fills a slice of %3, which has the memory of no input"),
    (
        view(SLICE, donations=(Donation(2, 0),)),
        "result 0 takes the memory of input 2, and one of them is none",
    ),
    (view(SLICE, donations=(Donation(0, 0), Donation(1, 0))), "input 1, and one of them is donated twice"),
    (
        view(LINE, held=(*LINE.held, PLACE), lengths=((0, 0, 5),), donations=(Donation(0, 0),)),
        "result 0 takes the memory of input 0, and its size depends on data",
    ),
    (
        view(GROWN, donations=(Donation(0, 0),)),
        "instruction 0, PutSlice, fills %2 in the memory of the input %0, which is read there or later",
    ),
    (
        with_code(GROWN, 0, Copy(0, 2)),
        "instruction 0, Copy, fills %2 in the memory of the input %0, which is read there or later",
    ),
]
RIGHT: Final = {
    "a line": LINE,
    "a loop": LOOP,
    "rows": PUT,
    "open": OPEN,
    "in place": replace(LINE, donations=(Donation(0, 0),)),
    "a slice": SLICE,
    "grown": GROWN,
}

# ------------------------------------------------------------------ what the other stages give

X = ir.Var("x", TensorType((4,), "float32"))
DATA = ir.Function((X,), ops.exp(ops.masked_select(X, ops.greater(X, ir.const(np.float32(0))))))
W = ir.const(np.linspace(-1, 1, 128 * 128, dtype=np.float32).reshape(128, 128))
MATRIX = ir.Var("m", TensorType((8, 128), "float32"))
TWO = ir.Function((MATRIX,), ops.softmax(ops.dense(ops.softmax(MATRIX, axis=1), W), axis=1))


def until(stage: str, function: ir.Function = TWO) -> Any:
    """What the stage gives for a function."""
    program = asked(function, None, Target.parse("llvm -num-threads=1"))
    *_, (_, record) = programs.through_program(program, pipeline.upto(stage, pipeline.PROGRAM))
    return record


def cut(**changes: Any) -> Cut:
    """A program in two sections, the last of which is other."""
    made: Cut = until("cut", DATA)
    first, last = made.sections
    return replace(made, sections=(first, replace(last, **changes)))


def parts(**changes: Any) -> Any:
    """The kernels of a program, the first of which are others."""
    made = until("compile")
    assert isinstance(made.parts[0], Parts)
    return replace(made, parts=(replace(made.parts[0], **changes), *made.parts[1:]))


def kernels_of_others() -> Any:
    made = until("compile")
    wrong = Slot("wrong", (8, 128), np.dtype(np.int32))
    main = made.parts[0].main
    return replace(
        made,
        parts=(replace(made.parts[0], main=EmptyKernel("opgen_odd", main.inputs, (wrong,))), *made.parts[1:]),
    )


def sites(change: Callable[[Site], Site | None]) -> Prepared:
    made: Prepared = until("prepare")
    found = {key: change(site) for key, site in made.sites.items()}
    return replace(made, sites={key: site for key, site in found.items() if site is not None})


def specialised(**changes: Any) -> Specialised:
    made: Specialised = until("specialise")
    return replace(made, **changes)


def linked(**changes: Any) -> Linked:
    made: Linked = until("link")
    return replace(made, **changes)


STAGES: Plants = {
    "sections take what is there before them": (
        lambda: cut(takes=(7,)),
        "section 1 takes value 7, where there are 2",
    ),
    "sections are functions of what they take": (
        lambda: cut(takes=(0, 1)),
        "section 1 takes 2 values, and has 1",
    ),
    "the result is of values that sections give": (
        lambda: replace(cut(), result=9),
        "the result has value 9, where the sections give 3",
    ),
    "each segment has a kernel": (
        lambda: specialised(segments=replace(until("specialise").segments, numbers={})),
        "has the kernel None, where there are",
    ),
    "kernels are of their segments' types": (
        lambda: specialised(functions=until("specialise", ir.Function((X,), ops.exp(X))).functions * 3),
        "a kernel takes Tensor[(4,), float32], the segment",
    ),
    "kernels take operands of their segments": (
        lambda: parts(operands=(5,)),
        "takes operand 5, where the segment has 1",
    ),
    "what is prepared is of constants": (
        lambda: parts(constants=(0,)),
        "prepares operand 0, which is no constant",
    ),
    "kernels give what their segments do": (
        kernels_of_others,
        "opgen_odd gives int32[8, 128], its segment Tensor",
    ),
    "each segment is called with a kernel": (lambda: sites(lambda site: None), "is called nowhere"),
    "kernels are given what they take": (
        lambda: sites(lambda site: replace(site, precomputed=(*site.precomputed, np.zeros(3)))),
        "is called with 2 operands, and takes 1",
    ),
    "the program takes what main does": (
        lambda: linked(whole=kernel("opgen_odd", 2)),
        "opgen_odd takes float32[4], float32[4], main Tensor[(8, 128), float32]",
    ),
    "the program gives what main does": (
        lambda: linked(result=(0, 1)),
        "the value (0, 1) is not of the 1 results of the program",
    ),
}

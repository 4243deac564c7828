"""A program's plan as one native function, the driver, with the face of a kernel.

    i32 opgen_driver(ptr data, ptr dims, ptr strides, ptr events)

`data`: addresses of the inputs, of the outputs, and of the lengths of outputs whose size depends on data; `dims`: the
values of the plan's symbolic dims.  The result is that of the first kernel that fails, TOO_MANY_STEPS for a loop that
goes beyond its limit, else 0.  The driver has one
arena, which it makes when it runs first, or when dims ask for a larger one, and keeps in the pointer `opgen_arena`; a
call that comes while another has it makes one of its own.  Whoever owns the pointer frees it.  Where `events` is not
null, it is told when each kernel ran: [how many fit, how many were, (step, begin, end in nanoseconds) of each].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from ....base import Target
from ....base.arith import Var
from ....codegen import FunctionText, ModuleText
from ..kernel.kernel import EmptyKernel, Kernel, contiguous_strides
from ..kernel.sizes import SizeText
from ..kernel.symbolic import SymbolicKernel
from .arena import ALIGNMENT
from .plan import Again, Copy, Else, End, Held, If, Instruction, Leave, Loop, Plan, Put, PutSlice, Run

SYMBOL: Final = "opgen_driver"
ARENA: Final = "opgen_arena"  # an import: a pointer, null at first
NO_MEMORY: Final = 1
TOO_MANY_STEPS: Final = 3  # a loop beyond its limit; 2 is a Python function that raised
KERNEL: Final = "opgen_kernel_"  # and a number: what the driver imports
CONSTANT: Final = "opgen_constant_"


def driver_text(plan: Plan, kernels: Sequence[Kernel], target: Target) -> str:
    """The driver as an LLVM module, which imports kernels and constants by `kernel_symbols` and `constant_symbols`."""
    return _Driver(plan, kernels, target).text()


def kernel_name(number: int) -> str:
    """What a driver calls the kernel of that number."""
    return f"{KERNEL}{number}"


def kernel_symbols(plan: Plan, kernels: Sequence[Kernel]) -> Iterator[tuple[str, int]]:
    """(name, address) of each kernel that the driver calls."""
    for number in dict.fromkeys([run.kernel for run in plan.runs]):
        if not isinstance(kernels[number], EmptyKernel):
            yield kernel_name(number), kernels[number].code_address


def constant_symbols(plan: Plan, kernels: Sequence[Kernel]) -> Iterator[tuple[str, np.ndarray]]:
    """(name, array) of each constant that the driver or the kernels' operands name."""
    for slot, array in plan.constants.items():
        yield f"{CONSTANT}{slot}", array
    for number, kernel in enumerate(kernels):
        for k, array in enumerate(kernel.constants):
            yield f"{CONSTANT}{number}_{k}", array


_SUPPORT: Final = """
@$ARENA = external global ptr
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @clock_gettime(i32, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define internal i64 @now(ptr %events) nounwind {
  %asked = icmp ne ptr %events, null
  br i1 %asked, label %read, label %no
read:
  %time = alloca [2 x i64], align 8
  %status = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest_at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
no:
  ret i64 0
}
define internal void @mark(ptr %events, i64 %step, i64 %begin) nounwind {
  %asked = icmp ne ptr %events, null
  br i1 %asked, label %room, label %done
room:
  %end = call i64 @now(ptr %events)
  %most = load i64, ptr %events
  %count_at = getelementptr i64, ptr %events, i64 1
  %count = load i64, ptr %count_at
  %next = add i64 %count, 1
  store i64 %next, ptr %count_at
  %fits = icmp slt i64 %count, %most
  br i1 %fits, label %write, label %done
write:
  %words = mul i64 %count, 3
  %first = add i64 %words, 2
  %step_at = getelementptr i64, ptr %events, i64 %first
  store i64 %step, ptr %step_at
  %begin_at = getelementptr i64, ptr %step_at, i64 1
  store i64 %begin, ptr %begin_at
  %end_at = getelementptr i64, ptr %step_at, i64 2
  store i64 %end, ptr %end_at
  br label %done
done:
  ret void
}
"""


class _Driver:
    """Writes the function; values are addresses, each asked for where it is needed."""

    def __init__(self, plan: Plan, kernels: Sequence[Kernel], target: Target) -> None:
        self.plan = plan
        self.kernels = kernels
        self.module = ModuleText(target)
        self.triple = target.triple
        self.f = FunctionText(self.module)
        self.places: dict[int, str] = {}  # slot -> address of what the caller has given
        self.current: dict[int, str] = {}  # param of a loop -> where its address is kept
        self.open: list[_Open] = []
        self.step = 0
        self.jumped = False  # whether the block that is being written has its end

    def text(self) -> str:
        plan, f = self.plan, self.f
        self.module.source(_SUPPORT, ARENA=ARENA)
        most = max([self._operand_count(run) for run in plan.runs], default=0)
        self.operands = f.emit_entry(f"alloca [{max(most, 1)} x ptr], align 8")
        self.status = f.emit_entry("alloca i32, align 4")
        given = [*range(plan.num_params), *plan.outputs, *dict.fromkeys(slot for _, _, slot in plan.lengths)]
        for position, slot in enumerate(given):
            place = f.emit_entry(f"getelementptr ptr, ptr %data, i64 {position}")
            self.places[slot] = f.emit_entry(f"load ptr, ptr {place}, align 8")
        f.do(f"store i32 0, ptr {self.status}")
        self.sizes = SizeText(f, self._dims())
        self.extents = self._extents()
        copied = [plan.held[each.source].size for each in plan.code if isinstance(each, Copy)]
        for size in (*plan.offsets.values(), *copied):
            self.sizes.of(size)  # here, where it is known wherever it is used
        arena = self._arena() if plan.offsets else ""
        self.memory = arena
        for each in plan.code:
            self._instruction(each)
        f.branch("done")
        f.start("done")
        if arena:
            f.do(f"%old = atomicrmw xchg ptr @{ARENA}, ptr {self.block} acq_rel")
            f.do("call void @free(ptr %old)")
        f.do(f"%result = load i32, ptr {self.status}")
        f.do("ret i32 %result")
        parameters = "ptr %data, ptr %dims, ptr %strides, ptr %events"
        f.define(SYMBOL, "i32", parameters, "nounwind", exported=True)
        return f'target triple = "{self.triple}"\n{self.module.render()}'

    def _instruction(self, each: Instruction) -> None:
        match each:
            case Run():
                self._run(each)
            case Copy():
                self._copy(each.source, self.address(each.target))
            case Put():
                self._put(each)
            case PutSlice():
                self._put_slice(each)
            case If():
                self._if(each)
            case Else():
                self._else()
            case Loop():
                self._loop(each)
            case Again():
                self._again(each)
            case Leave():
                self._jump(self._innermost_loop().done)
            case End():
                self._end()

    def _dims(self) -> dict[Var, str]:
        """The values of the symbolic dims."""
        found: dict[Var, str] = {}
        for position, var in enumerate(self.plan.dims):
            place = self.f.emit(f"getelementptr i64, ptr %dims, i64 {position}")
            found[var] = self.f.emit(f"load i64, ptr {place}, align 8")
        return found

    def _extents(self) -> dict[tuple[int, Var], str]:
        """The values of the dims of each call of a symbolic kernel, by the call's id."""
        found: dict[tuple[int, Var], str] = {}
        for run in self.plan.runs:
            kernel = self.kernels[run.kernel]
            if isinstance(kernel, SymbolicKernel):
                bound = kernel.bound([self.plan.held[slot].shape for slot in run.inputs])
                found.update({(id(run), var): self.sizes.of(bound[var]) for var in kernel.dims})
        return found

    def _arena(self) -> str:
        """The arena: what was kept, or new memory; `block` is what is kept of it.

        One of symbolic size begins with its size, and makes room for a larger one.
        """
        f, space = self.f, self.plan.space
        place = f.emit_entry("alloca ptr, align 8")
        needed = self.sizes.of(space)
        kept = f.emit(f"atomicrmw xchg ptr @{ARENA}, ptr null acq_rel")
        f.do(f"store ptr {kept}, ptr {place}")
        is_none = f.emit(f"icmp eq ptr {kept}, null")
        if isinstance(space, int):
            f.branch_if(is_none, "make", "made")
            f.start("make")
        else:
            needed = f.emit(f"add i64 {needed}, {ALIGNMENT}")
            f.branch_if(is_none, "make", "compare")
            f.start("compare")
            has = f.emit(f"load i64, ptr {kept}, align 8")
            f.branch_if(f.emit(f"icmp ult i64 {has}, {needed}"), "grow", "made")
            f.start("grow")
            f.do(f"call void @free(ptr {kept})")
            f.branch("make")
            f.start("make")
        new = f.emit(f"call ptr @aligned_alloc(i64 {ALIGNMENT}, i64 {needed})")
        f.do(f"store ptr {new}, ptr {place}")
        f.branch_if(f.emit(f"icmp eq ptr {new}, null"), "none", "fresh")
        f.start("none")
        f.do(f"ret i32 {NO_MEMORY}")
        f.start("fresh")
        if not isinstance(space, int):
            f.do(f"store i64 {needed}, ptr {new}, align 8")
        f.branch("made")
        f.start("made")
        self.block = f.emit(f"load ptr, ptr {place}")
        if isinstance(space, int):
            return self.block
        return f.emit(f"getelementptr i8, ptr {self.block}, i64 {ALIGNMENT}")

    def address(self, slot: int) -> str:
        """The address of a slot, as an operand."""
        if slot in self.places:
            return self.places[slot]
        if slot in self.plan.constants:
            return self._constant(f"{CONSTANT}{slot}")
        if slot in self.current:
            return self.f.emit(f"load ptr, ptr {self.current[slot]}")
        return self.f.emit(
            f"getelementptr i8, ptr {self.memory}, i64 {self.sizes.of(self.plan.offsets[slot])}"
        )

    def _constant(self, name: str) -> str:
        self.module.define(name, f"@{name} = external global i8")
        return f"@{name}"

    def _operand_count(self, run: Run) -> int:
        constants = len(self.kernels[run.kernel].constants)
        return len(run.inputs) + constants + len(run.outputs) + len(run.lengths)

    def _run(self, run: Run) -> None:
        step = self.step
        self.step += 1
        kernel = self.kernels[run.kernel]
        if isinstance(kernel, EmptyKernel):
            return
        f = self.f
        own = [self._constant(f"{CONSTANT}{run.kernel}_{k}") for k in range(len(kernel.constants))]
        inputs = [self.address(slot) for slot in run.inputs]
        filled = [self.address(slot) for slot in (*run.outputs, *run.lengths)]
        for position, address in enumerate([*inputs, *own, *filled]):
            place = f.emit(f"getelementptr ptr, ptr {self.operands}, i64 {position}")
            f.do(f"store ptr {address}, ptr {place}")
        dims, strides = self._layout(run)
        begin = f.emit("call i64 @now(ptr %events)")
        status = f.call(
            kernel_name(run.kernel),
            "i32",
            [("ptr", self.operands), ("ptr", dims), ("ptr", strides), ("ptr", "null")],
        )
        f.do(f"call void @mark(ptr %events, i64 {step}, i64 {begin})")
        f.do(f"store i32 {status}, ptr {self.status}")
        through = f.label("through")
        f.branch_if(f.emit(f"icmp eq i32 {status}, 0"), through, "done")
        f.start(through)

    def _symbolic_layout(self, kernel: SymbolicKernel, run: Run) -> tuple[str, str]:
        """The values of a kernel's symbolic dims; it asks for no strides."""
        array = self.f.emit_entry(f"alloca [{max(1, len(kernel.dims))} x i64], align 8")
        for position, var in enumerate(kernel.dims):
            place = self.f.emit(f"getelementptr i64, ptr {array}, i64 {position}")
            self.f.do(f"store i64 {self.extents[id(run), var]}, ptr {place}, align 8")
        return array, array

    def _layout(self, run: Run) -> tuple[str, str]:
        """The dims and the strides of a kernel's operands, as constants."""
        number, lengths = run.kernel, len(run.lengths)
        kernel = self.kernels[number]
        if isinstance(kernel, SymbolicKernel):
            return self._symbolic_layout(kernel, run)
        shapes = [slot.shape for slot in kernel.inputs]
        shapes += [constant.shape for constant in kernel.constants]
        shapes += [slot.shape for slot in kernel.outputs]
        shapes += [()] * lengths
        names = []
        for what, rows in (("dims", shapes), ("strides", map(contiguous_strides, shapes))):
            name = f"{what}.{number}"
            numbers = [f"i64 {dim}" for row in rows for dim in row]
            self.module.define(
                name, f"@{name} = private constant [{len(numbers)} x i64] [{', '.join(numbers)}]"
            )
            names.append(f"@{name}")
        return names[0], names[1]

    def _copy(self, source: int, target: str) -> None:
        size = self.sizes.of(self.plan.held[source].size)
        if size != "0":
            self.f.do(
                f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {self.address(source)}, i64 {size}, i1 false)"
            )

    def _put(self, each: Put) -> None:
        f, rows = self.f, self.plan.held[each.rows]
        size = self.plan.held[each.value].size
        place = f.emit(f"load i64, ptr {self.address(each.place)}, align 8")
        is_behind = f.emit(f"icmp slt i64 {place}, 0")
        from_end = f.emit(f"add i64 {place}, {rows.shape[0]}")
        row = f.emit(f"select i1 {is_behind}, i64 {from_end}, i64 {place}")
        inside, put = f.label("inside"), f.label("put")
        f.branch_if(f.emit(f"icmp ult i64 {row}, {rows.shape[0]}"), inside, put)
        f.start(inside)
        target = f.emit(
            f"getelementptr i8, ptr {self.address(each.rows)}, i64 {f.emit(f'mul i64 {row}, {size}')}"
        )
        self._copy(each.value, target)
        f.branch(put)
        f.start(put)

    def _put_slice(self, each: PutSlice) -> None:
        """A loop over what is outside of the axis, with a copy of what lies together."""
        f, whole, part = self.f, self.plan.held[each.whole], self.plan.held[each.part]
        rest = Held(whole.shape[each.axis + 1 :], whole.dtype).size
        count = self.sizes.of(Held(whole.shape[: each.axis], np.dtype(np.int8)).size)
        step, size = self.sizes.of(rest * whole.shape[each.axis]), self.sizes.of(rest * part.shape[each.axis])
        first = self.sizes.of(rest * each.start)
        target = f.emit(f"getelementptr i8, ptr {self.address(each.whole)}, i64 {first}")
        source = self.address(each.part)
        place = f.emit_entry("alloca i64, align 8")
        f.do(f"store i64 0, ptr {place}")
        check, put, done = f.label("check"), f.label("put"), f.label("done")
        f.branch(check)
        f.start(check)
        k = f.emit(f"load i64, ptr {place}")
        f.branch_if(f.emit(f"icmp slt i64 {k}, {count}"), put, done)
        f.start(put)
        there = f.emit(f"getelementptr i8, ptr {target}, i64 {f.emit(f'mul i64 {k}, {step}')}")
        here = f.emit(f"getelementptr i8, ptr {source}, i64 {f.emit(f'mul i64 {k}, {size}')}")
        f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {there}, ptr {here}, i64 {size}, i1 false)")
        f.do(f"store i64 {f.emit(f'add i64 {k}, 1')}, ptr {place}")
        f.branch(check)
        f.start(done)

    def _if(self, each: If) -> None:
        f = self.f
        holds = f.emit(f"load i8, ptr {self.address(each.condition)}")
        opened = _Open(f.label("otherwise"), f.label("joined"))
        then = f.label("then")
        f.branch_if(f.emit(f"icmp ne i8 {holds}, 0"), then, opened.other)
        f.start(then)
        self.open.append(opened)

    def _else(self) -> None:
        self._jump(self.open[-1].done)
        self._start(self.open[-1].other)

    def _loop(self, each: Loop) -> None:
        f = self.f
        opened = _Open(f.label("again"), f.label("left"), each)
        count = len(each.params)
        for k, (param, first) in enumerate(zip(each.params, each.initial, strict=True)):
            self.current[param] = f.emit_entry("alloca ptr, align 8")
            f.do(f"store ptr {self.address(first)}, ptr {self.current[param]}")
            for place, slot in (("next", each.buffers[k]), ("other", each.buffers[count + k])):
                opened.buffers[place, k] = f.emit_entry("alloca ptr, align 8")
                f.do(f"store ptr {self.address(slot)}, ptr {opened.buffers[place, k]}")
        if each.limit >= 0:
            opened.steps = f.emit_entry("alloca i64, align 8")
            f.do(f"store i64 0, ptr {opened.steps}")
        f.branch(opened.other)
        f.start(opened.other)
        self.open.append(opened)

    def _within(self, opened: _Open, limit: int) -> None:
        """Counts a step of a loop; one too many ends the program."""
        f = self.f
        count = f.emit(f"add i64 {f.emit(f'load i64, ptr {opened.steps}')}, 1")
        f.do(f"store i64 {count}, ptr {opened.steps}")
        within, beyond = f.label("within"), f.label("beyond")
        f.branch_if(f.emit(f"icmp ule i64 {count}, {limit}"), within, beyond)
        f.start(beyond)
        f.do(f"store i32 {TOO_MANY_STEPS}, ptr {self.status}")
        f.branch("done")
        f.start(within)

    def _again(self, each: Again) -> None:
        f = self.f
        opened = self._innermost_loop()
        assert opened.loop is not None
        if opened.loop.limit >= 0:
            self._within(opened, opened.loop.limit)
        following: list[tuple[str, str, str]] = []
        for k, value in enumerate(each.values):
            following.append(
                (opened.buffers["next", k], opened.buffers["other", k], self.current[opened.loop.params[k]])
            )
            self._copy(value, f.emit(f"load ptr, ptr {following[-1][0]}"))
        for next_, other, current in following:
            filled, free = f.emit(f"load ptr, ptr {next_}"), f.emit(f"load ptr, ptr {other}")
            f.do(f"store ptr {filled}, ptr {current}")
            f.do(f"store ptr {free}, ptr {next_}")
            f.do(f"store ptr {filled}, ptr {other}")
        self._jump(opened.other)

    def _innermost_loop(self) -> _Open:
        return next(opened for opened in reversed(self.open) if opened.loop is not None)

    def _jump(self, label: str) -> None:
        """End the block, if it has no end yet."""
        if not self.jumped:
            self.f.branch(label)
        self.jumped = True

    def _start(self, label: str) -> None:
        self.f.start(label)
        self.jumped = False

    def _end(self) -> None:
        opened = self.open.pop()
        if opened.loop is None:
            self._jump(opened.done)
        elif not self.jumped:
            self.f.do("unreachable")  # behind branches that both go elsewhere
        self._start(opened.done)


class _Open:
    """An if or a loop that is being written: its labels, and where the addresses of a loop's buffers are kept."""

    def __init__(self, other: str, done: str, loop: Loop | None = None) -> None:
        self.other, self.done, self.loop = other, done, loop
        self.buffers: dict[tuple[str, int], str] = {}
        self.steps = ""  # where they are counted

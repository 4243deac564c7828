"""From a partitioned program to its plan.

A value that several places read is computed once, in the innermost branch or loop that encloses them all
(`ir.scopes`).  A function whose calls of itself are all the last thing that it does becomes a loop where it is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .... import ir
from ....base.arith import AnyDim
from ....base.errors import ExecutorError
from ....base.vocabulary import INT64, dataclass
from ....ir import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    IRModule,
    Let,
    Tuple,
    TupleGetItem,
    Var,
    post_order,
)
from ....ir.loops import LIMIT
from ....ir.scopes import Block
from ....operator import TensorType, TupleType, Type
from ....transform import build
from ..kernel.dims import declared_of
from ..kernel.kernel import Kernel
from ..kernel.segments import Site, is_segment
from .appended import appended_by
from .arena import laid_out
from .donated import Appended, in_donated
from .held import dims_of, given_by, held_of
from .in_place import in_place
from .numbering import NoPlanError, Numbering, Targets
from .plan import (
    Again,
    Copy,
    Donation,
    Else,
    End,
    Held,
    If,
    Instruction,
    Leave,
    Loop,
    Plan,
    Run,
    Slots,
    flatten,
    renamed,
    used,
)
from .tail_calls import TailPositions, calls, is_call


def make_plan(
    module: IRModule,
    sites: Mapping[int, Site],
    kernels: Sequence[Kernel],
    donations: Sequence[Donation] = (),
) -> Plan | str:
    """The plan of a partitioned, typed module's main, or why it has none; `sites`: of segments, by their ids.

    `donations`: the results that take the memory of parameters of their types.

    Raises ExecutorError for a function that does nothing but call itself.
    """
    try:
        return _Planner(module, sites, kernels, tuple(donations)).plan(module["main"])
    except NoPlanError as error:
        return str(error)


class _Planner(Numbering):
    """Writes the code of functions."""

    def __init__(
        self,
        module: IRModule,
        sites: Mapping[int, Site],
        kernels: Sequence[Kernel],
        donations: tuple[Donation, ...],
    ) -> None:
        super().__init__()
        self.module = module
        self.sites = sites
        self.kernels = kernels
        self.puts: set[int] = set()  # the kernels that give tensors with one row replaced
        self.donations = donations
        self.appended: dict[int, Appended] = {}  # slots that are others with a slice replaced
        self.around: list[str] = []  # the functions that are being planned

    def plan(self, main: Function) -> Plan:
        params = [
            self.new(held_of(param.checked_type, f"parameter %{param.name_hint}")) for param in main.params
        ]
        values: list[Slots] = list(params)
        targets = Targets(self, declared_of(main))
        code: list[Instruction] = []
        if calls(main.body, "main"):
            code += self.loop("main", values, targets)
        else:
            body = _Body(self, main.body, dict(zip(map(id, main.params), values, strict=True)), None)
            code += body.finished(targets)
        outputs = tuple([self.place(slot) for slot in targets.slots])
        resolved = in_place([renamed(each, self.place) for each in code], self.puts, outputs)
        if self.donations:
            resolved = self._in_donated(resolved, params, outputs)
        lengths = tuple(
            [
                (position, axis, self.place(length))
                for position, slot in enumerate(targets.slots)
                for axis, length in self.dynamic.get(slot, ())
            ]
        )
        needed = {*outputs, *[slot for each in resolved for slot in used(each)]}
        constants = {slot: array for slot, array in self.constants.items() if slot in needed}
        elsewhere = {*range(len(params)), *constants, *outputs, *_params(resolved)}
        elsewhere.update([slot for _, _, slot in lengths])
        offsets, size = laid_out(resolved, self.held, elsewhere)
        dims = dims_of(self.held[: len(params)], self.held)
        assert targets.structure is not None
        return Plan(
            len(params),
            constants,
            tuple(self.held),
            tuple(resolved),
            outputs,
            targets.structure,
            lengths,
            offsets,
            size,
            dims,
            self.donations,
        )

    def _in_donated(
        self,
        code: Sequence[Instruction],
        params: Sequence[int],
        outputs: Sequence[int],
    ) -> list[Instruction]:
        if any([outputs[each.result] in self.dynamic for each in self.donations]):
            raise NoPlanError("a result whose size depends on data takes the memory of a parameter")
        appended = {
            self.place(slot): replace(each, whole=self.place(each.whole), part=self.place(each.part))
            for slot, each in self.appended.items()
        }
        donated = {outputs[each.result]: params[each.param] for each in self.donations}
        growing = {params[each.param] for each in self.donations if each.grows}
        return in_donated(code, donated, growing, appended, lambda slot: self.new(self.held[slot]))

    def loop(self, callee: str, args: Sequence[Slots], targets: Targets) -> list[Instruction]:
        """The code of a call of a function that calls itself, at its end alone."""
        function = self.module[callee]
        if callee in self.around:
            raise NoPlanError(f"@{callee} calls itself elsewhere than at its end")
        again = [node for node in post_order(function.body) if is_call(node, callee)]
        # what every call hands on as it is needs no buffers
        kept = [all([call.args[k] is param for call in again]) for k, param in enumerate(function.params)]
        slots: dict[int, Slots] = {}
        params: list[int] = []
        initial: list[int] = []
        for param, given, same in zip(function.params, args, kept, strict=True):
            if same:
                slots[id(param)] = given
                continue
            own = self.like(given)
            slots[id(param)] = own
            params.extend(flatten(own))
            initial.extend(flatten(given))
        for call in again:
            self._check_carried(callee, function, call)
        self.around.append(callee)
        carried = tuple([not same for same in kept])
        body = _Body(self, function.body, slots, _Own(callee, carried)).finished(targets)
        self.around.pop()
        if any(slot in self.dynamic for slot in targets.slots):
            raise NoPlanError("a loop gives a tensor whose size depends on data")
        buffers = [self.new(self.held[slot]) for slot in (*params, *params)]
        limit = function.attrs.get(LIMIT, -1)
        assert isinstance(limit, int)
        return [
            Loop(tuple(params), tuple(initial), tuple(buffers), tuple(targets.slots), limit),
            *body,
            End(),
        ]

    @staticmethod
    def _check_carried(callee: str, function: Function, call: Call) -> None:
        for param, arg in zip(function.params, call.args, strict=True):
            if not _is_static(param.checked_type) or arg.checked_type != param.checked_type:
                raise NoPlanError(
                    f"@{callee} carries %{param.name_hint}: {param.checked_type}, and calls itself with "
                    f"{arg.checked_type}; what a loop carries has one shape"
                )


@dataclass(frozen=True, slots=True)
class _Own:
    """The function that a body belongs to, where it calls itself, and which of its params change."""

    name: str
    carried: tuple[bool, ...]


class _Body:
    """The code of one function's body; each block has its own, so that nothing here goes deeper than the text does."""

    def __init__(self, planner: _Planner, expr: Expr, slots: dict[int, Slots], own: _Own | None) -> None:
        self.planner = planner
        self.slots = slots
        self.own = own
        order = post_order(expr, is_segment)
        self.tails = TailPositions(expr, order, None if own is None else own.name)
        self.code: dict[int, list[Instruction | Block]] = {id(block): [] for block in self.tails.own_blocks()}
        self.owner: dict[int, int] = {}  # slot -> id of the block that fills it
        bound: dict[int, list[Var]] = {}  # id(value of a let) -> its variables
        for node in order:
            if isinstance(node, Let):
                bound.setdefault(id(node.value), []).append(node.var)
        for node in order:
            if id(node) in self.tails.blocks.at and not isinstance(node, Function):
                self._enter(node)
                for var in bound.get(id(node), ()):
                    self._bind(node, var)

    def finished(self, targets: Targets) -> list[Instruction]:
        """The whole code, which fills `targets`."""
        for block, tail in self.tails.ends():
            if self.tails.is_own_call(tail):
                self._again(block, tail)
                continue
            value = self._slots(tail)
            targets.accept(value)
            self._fill(block, value, targets.slots)
            if self.own is not None:
                self._add(block, Leave())
        if targets.structure is None:
            assert self.own is not None
            raise ExecutorError(f"@{self.own.name} calls itself whatever its arguments are, and never ends")
        return self._flat()

    def _slots(self, node: Expr) -> Slots:
        found = self.slots.get(id(node))
        if found is None:
            raise NoPlanError(f"it has a value that is no tensor: {node!s:.80}")
        return found

    def _bind(self, node: Expr, var: Var) -> None:
        block = self.tails.home(node)
        self.slots[id(var)], copies = self.planner.bound(self._slots(node), var.checked_type)
        for each in copies:
            self._add(block, each)
            self._own_slots(block, [each.target])

    def _add(self, block: Block, each: Instruction | Block) -> None:
        self.planner.count(1)
        self.code[id(block)].append(each)

    def _enter(self, node: Expr) -> None:
        if isinstance(node, Var | GlobalVar):
            return
        if isinstance(node, Constant):
            self.slots[id(node)] = self.planner.constant(node.data)
        elif isinstance(node, Let):
            if id(node.body) in self.slots:
                self.slots[id(node)] = self.slots[id(node.body)]
        elif isinstance(node, Tuple):
            self.slots[id(node)] = tuple([self._slots(field) for field in node.fields])
        elif isinstance(node, TupleGetItem):
            source = self._slots(node.tuple_value)
            assert isinstance(source, tuple)
            self.slots[id(node)] = source[node.index]
        elif isinstance(node, ir.If):
            self._branch(node)
        elif isinstance(node, Call):
            self._call(node)

    def _call(self, node: Call) -> None:
        block = self.tails.home(node)
        if is_segment(node.op):
            self.slots[id(node)] = self._run(block, node, node.op)
        elif not isinstance(node.op, GlobalVar):
            raise NoPlanError(f"it calls a function by value: {node.op!s:.80}")
        elif self.tails.is_own_call(node):
            if not self.tails.is_last(node):
                raise NoPlanError(f"@{node.op.name} calls itself elsewhere than at its end")
        else:
            targets = Targets(self.planner)
            args = [self._slots(arg) for arg in node.args]
            code = self.planner.loop(node.op.name, args, targets)
            self.code[id(block)].extend(code)
            self.slots[id(node)] = targets.value()
            self._own_slots(block, targets.slots)

    def _run(self, block: Block, node: Call, segment: Function) -> Slots:
        planner = self.planner
        site = planner.sites[id(segment)]
        number, kernel = site.kernel, planner.kernels[site.kernel]
        given = [slot for arg in node.args for slot in flatten(self._slots(arg))]
        inputs = [*[given[k] for k in site.operands], *map(planner.constant, site.precomputed)]
        if any(slot in planner.dynamic for slot in inputs):
            raise NoPlanError(f"{kernel.name} reads a tensor whose size depends on data")
        if kernel.why_not_native is not None:
            raise NoPlanError(kernel.why_not_native)
        if not kernel.lengths and _depends_on_data(
            node.checked_type
        ):  # a hand-written function gives what it gives
            raise NoPlanError(f"{kernel.name} gives a tensor whose size depends on data")
        outputs = [planner.new(each) for each in given_by(kernel, [planner.held[slot] for slot in inputs])]
        count = 1 + max([position for _, _, position in kernel.lengths], default=-1)
        lengths = [planner.new(Held((), np.dtype(np.int64))) for _ in range(count)]
        for output, axis, position in kernel.lengths:
            known = planner.dynamic.get(outputs[output], ())
            planner.dynamic[outputs[output]] = (*known, (axis, lengths[position]))
        if tuple(site.operands) == (0, 1, 2) and not site.precomputed and _is_put(segment):
            planner.puts.add(number)
        appended = appended_by(segment, given) if planner.donations else None
        if appended is not None:
            planner.appended[outputs[0]] = appended
        self._add(block, Run(number, tuple(inputs), tuple(outputs), tuple(lengths)))
        self._own_slots(block, outputs)
        return tuple(outputs) if isinstance(node.checked_type, TupleType) else outputs[0]

    def _own_slots(self, block: Block, slots: Sequence[int]) -> None:
        for slot in slots:
            self.owner[slot] = id(block)

    def _branch(self, node: ir.If) -> None:
        block = self.tails.home(node)
        then, otherwise = self.tails.blocks.inner[id(node)]
        condition = self._slots(node.condition)
        assert isinstance(condition, int)
        targets = Targets(self.planner)
        if not self.tails.is_last(node):
            for side in (then, otherwise):
                value = self._slots(side.tail)
                if any(slot in self.planner.dynamic for slot in flatten(value)):
                    raise NoPlanError("a branch gives a tensor whose size depends on data")
                targets.accept(value)
                self._fill(side, value, targets.slots)
            self.slots[id(node)] = targets.value()
            self._own_slots(block, targets.slots)
        for each in (If(condition, tuple(targets.slots)), then, Else(), otherwise, End()):
            self._add(block, each)

    def _fill(self, block: Block, value: Slots, targets: Sequence[int]) -> None:
        """At the end of a block: what the block itself computes is computed in its place, the rest is copied there."""
        filled = self.planner.filled
        for slot, target in zip(flatten(value), targets, strict=True):
            if self.owner.get(slot) == id(block) and slot not in filled:
                filled[slot] = target
            else:
                self._add(block, Copy(slot, target))

    def _again(self, block: Block, call: Call) -> None:
        assert self.own is not None
        values = [
            slot
            for arg, changes in zip(call.args, self.own.carried, strict=True)
            if changes
            for slot in flatten(self._slots(arg))
        ]
        self._add(block, Again(tuple(values)))

    def _flat(self) -> list[Instruction]:
        found: list[Instruction] = []
        stack = [iter(self.code[id(self.tails.blocks.root)])]
        while stack:
            for each in stack[-1]:
                if isinstance(each, Block):
                    stack.append(iter(self.code[id(each)]))
                    break
                found.append(each)
            else:
                stack.pop()
        return found


def _is_put(segment: Function) -> bool:
    """Whether a segment gives its first param, of known size, with a row at an int64."""
    call = segment.body
    if not isinstance(call, Call) or not build.is_row_update(call):
        return False
    place = call.args[1].checked_type
    static = all([_is_static(arg.checked_type) for arg in call.args])
    return call.args == segment.params and static and isinstance(place, TensorType) and place.dtype is INT64


def _params(code: Sequence[Instruction]) -> list[int]:
    """The slots that loops have beside their buffers: names of what is carried."""
    return [slot for each in code if isinstance(each, Loop) for slot in each.params]


def _depends_on_data(type_: Type) -> bool:
    if isinstance(type_, TupleType):
        return any([_depends_on_data(each) for each in type_.fields])
    return isinstance(type_, TensorType) and any([isinstance(d, AnyDim) for d in type_.shape])


def _is_static(type_: Type) -> bool:
    fields = type_.fields if isinstance(type_, TupleType) else (type_,)
    return all([isinstance(each, TensorType) and each.is_static for each in fields])

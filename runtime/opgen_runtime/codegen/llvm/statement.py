"""Statements of loop IR to LLVM basic blocks: loops, branches, storage, and parallel loops as outlined functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ...base.arith.expr import Const, Expr, Var
from ...base.errors import CodegenError
from ...base.vocabulary import INDEX
from ...lower.tir.nodes.stmt import (
    Allocate,
    Block,
    Buffer,
    For,
    ForKind,
    If,
    LetStmt,
    Outlined,
    Prefetch,
    Repetition,
    Stmt,
    Store,
    TransposedLoad,
)
from . import arithmetic, loops, memory, outline, transposes
from .aliasing import Aliasing
from .closure import Body, Closure
from .conversion import cast
from .expression import ExpressionEmitter, flat_index
from .extents import entry_size
from .memory import Memory
from .temporaries import ALIGNMENT, block_of, give, taken, taken_at_entry
from .text import FunctionText, ModuleText, Value, constant, register
from .text.types import memory_type, register_type

_STACK_BYTES: Final = 32768  # a temporary up to this size lies on the stack
FUNCTION_ATTRIBUTES: Final = "#0"


class StatementEmitter:
    """Writes the body of one function: the kernel, or one that `outline.py` takes out of it.

    `operands`: of each parameter of the kernel its position in `data`, and metadata of loads of its address.
    `is_alone`: one thread at a time runs the function for a call of the kernel.
    """

    def __init__(
        self,
        module: ModuleText,
        name: str,
        aliasing: Aliasing,
        operands: Mapping[Buffer, tuple[int, str]],
        closure: tuple[Body, str] | None = None,
        is_alone: bool = True,
    ) -> None:
        self.module = module
        self.name = name
        self.is_alone = is_alone
        self.f = FunctionText(module)
        self._aliasing = aliasing
        self._operands = operands
        self._variables: dict[Var, Value] = {}
        self._buffers: dict[Buffer, Memory] = {}
        self.expressions = ExpressionEmitter(self.f, self)
        self.closure = None if closure is None else Closure(closure[0], closure[1], [])
        self._data: str | None = "%data" if closure is None else None
        self._status: str | None = None if closure is None else closure[1]
        self._inner = 0
        self._heap: list[str] = []  # temporaries of unknown size, in the scope that is being written
        self._hoisted: list[tuple[str, str]] = []  # (pointer, bytes) of temporaries made once a call
        self.can_fail = False
        self._streams = False  # whether a store goes past the caches

    # names

    def define_variable(self, var: Var, value: Value) -> None:
        self._variables[var] = value

    def define_buffer(
        self, buffer: Buffer, pointer: str, facts: str = "", like: Buffer | None = None
    ) -> None:
        """`like`: a buffer of the kernel that is accessed in the same way, where `buffer` is not of the kernel."""
        load, store = self._aliasing.metadata(buffer if like is None else like)
        self._buffers[buffer] = Memory(buffer.name, pointer, buffer.dtype, load, store, facts)

    def variable(self, var: Var) -> Value:
        """The value of a variable, captured from the function around if it is not of this one."""
        value = self._variables.get(var)
        if value is None:
            if self.closure is None:
                raise CodegenError(f"variable {var.name} is used outside the statement that defines it")
            outer = self.closure.outer.variable(var)
            if outer.literal is not None:
                value = outer
            elif outer.lanes > 1:
                raise CodegenError(f"the vector {var.name} is used across the border of a parallel loop")
            else:
                operand = self.closure.outer.f.vector(outer, 1)
                is_size = self.closure.outer.f.is_size(operand)
                text = self.capture(register_type(outer.dtype), operand, is_size=is_size)
                value = register(outer.dtype, 1, text, clean=outer.clean, nonnegative=outer.nonnegative)
            self.define_variable(var, value)
        return value

    def buffer(self, buffer: Buffer) -> Memory:
        """The memory of a buffer, captured likewise."""
        found = self._buffers.get(buffer)
        if found is None:
            if self.closure is None:
                return self._operand(buffer)
            outer = self.closure.outer.buffer(buffer)
            pointer = self.capture("ptr", outer.pointer, outer.facts)
            found = replace(outer, pointer=pointer)
            self._buffers[buffer] = found
        return found

    def _operand(self, buffer: Buffer) -> Memory:
        if buffer not in self._operands:
            raise CodegenError(f"buffer {buffer.name} is used but never allocated")
        position, facts = self._operands[buffer]
        slot = self.f.emit_entry(f"getelementptr i8, ptr %data, i64 {8 * position}")
        pointer = self.f.emit_entry(f"load ptr, ptr {slot}, align 8, !invariant.load !{{}}{facts}")
        self.define_buffer(buffer, pointer, facts)
        return self._buffers[buffer]

    def capture(self, kind: str, operand: str, facts: str = "", is_size: bool = False) -> str:
        """The operand of the function around, in this one."""
        assert self.closure is not None
        self.closure.values.append((kind, operand))
        slot = len(self.closure.values)
        address = self.f.emit_entry(f"getelementptr i8, ptr {self.closure.pointer}, i64 {8 * slot}")
        emit = self.f.emit_size if is_size else self.f.emit_entry
        return emit(f"load {kind}, ptr {address}, align 8, !invariant.load !{{}}{facts}")

    def data(self) -> str:
        """The addresses of the kernel's operands, one after the other."""
        if self._data is None:
            assert self.closure is not None
            self._data = self.capture("ptr", self.closure.outer.data())
        return self._data

    def inner(self, role: str, is_alone: bool) -> StatementEmitter:
        """The writer of a function that is called by this one with a closure as its first argument."""
        name = f"{self.name}.{role}{self._inner}"
        self._inner += 1
        closure = (self, "%closure")
        return StatementEmitter(self.module, name, self._aliasing, self._operands, closure, is_alone)

    # statements

    def emit(self, stmt: Stmt) -> None:
        """Emit one statement at the end of the function."""
        match stmt:
            case Block(body):
                for part in body:
                    self.emit(part)
            case Store():
                self.store(stmt)
            case For():
                self._for(stmt)
            case If():
                self._if(stmt)
            case Allocate():
                self._allocate(stmt)
            case LetStmt():
                self.let(stmt)
                self.emit(stmt.body)
            case TransposedLoad():
                transposes.load(self, stmt)
                self.emit(stmt.body)
            case Outlined():
                outline.function(self, stmt.body)
            case Repetition():
                outline.repetition(self, stmt)
            case Prefetch():
                memory.prefetch(self.f, self.buffer(stmt.buffer), self._index(stmt.indices[0]))
            case _:
                raise CodegenError(f"statement {type(stmt).__name__} cannot be compiled")

    def operand_position(self, buffer: Buffer) -> int:
        """Which of the kernel's operands a buffer is."""
        return self._operands[buffer][0]

    def let(self, stmt: LetStmt) -> None:
        """What follows may use the variable."""
        self.expressions.forget()
        self.define_variable(stmt.var, self.expressions.emit(stmt.value))

    def evaluate(self, expr: Expr) -> Value:
        """A scalar, where the statements so far are written.  Raises CodegenError for a vector."""
        self.expressions.forget()
        value = self.expressions.emit(expr)
        if value.lanes != 1:
            raise CodegenError("a vector is used where a statement needs a scalar")
        return value

    def _index(self, expr: Expr) -> Value:
        return cast(self.f, self.evaluate(expr), INDEX)

    def store(self, stmt: Store) -> None:
        expressions = self.expressions
        expressions.forget()
        expressions.accumulates(stmt)
        value = expressions.emit(stmt.value)
        index = expressions.emit(flat_index(stmt.buffer, stmt.indices))
        mask = None if stmt.mask is None else expressions.emit(stmt.mask)
        if stmt.nontemporal:
            self._streams = True
            memory.store_nontemporal(self.f, self.buffer(stmt.buffer), index, value)
        else:
            memory.store(self.f, self.buffer(stmt.buffer), index, value, mask)

    def _if(self, stmt: If) -> None:
        f = self.f
        condition = self.evaluate(stmt.condition)
        if condition.literal is not None:
            taken = stmt.then if condition.literal else stmt.otherwise
            if taken is not None:
                self.emit(taken)
            return
        then, done = f.label("if"), f.label("endif")
        otherwise = done if stmt.otherwise is None else f.label("else")
        f.branch_if(f.vector(condition, 1), then, otherwise)
        known = f.known()
        f.start(then, known)
        self.emit(stmt.then)
        f.branch(done)
        if stmt.otherwise is not None:
            f.start(otherwise, known)
            self.emit(stmt.otherwise)
            f.branch(done)
        f.start(done, known)

    def _for(self, stmt: For) -> None:
        if stmt.kind is ForKind.VECTORIZED:
            raise CodegenError(f"loop {stmt.var.name} is still vectorized; vectorize_loop must expand it")
        minimum, extent = self._index(stmt.minimum), self._index(stmt.extent)
        if isinstance(extent.literal, int) and extent.literal <= 1 and stmt.condition is None:
            if extent.literal == 1:
                self.define_variable(stmt.var, minimum)
                self.emit(stmt.body)
            return
        is_shared = stmt.kind is ForKind.PARALLEL and self.module.target.num_threads > 1
        if is_shared and self.is_alone:
            outline.parallel(self, stmt, minimum, extent)
        else:
            end = arithmetic.binary(self.f, "add", minimum, extent)
            self.loop(stmt, minimum, end, guarded=not isinstance(extent.literal, int))

    def loop(self, stmt: For, minimum: Value, end: Value, guarded: bool) -> None:
        """A loop with its test at the bottom, entered through a test if it may be empty."""
        loops.loop(self, stmt, minimum, end, guarded)

    # storage

    def _allocate(self, stmt: Allocate) -> None:
        buffer = stmt.buffer
        if len(buffer.shape) != 1:
            raise CodegenError(
                f"buffer {buffer.name} has {len(buffer.shape)} dims; storage_flatten must leave one"
            )
        size = buffer.shape[0]
        elements = size if isinstance(size, int) else size.value if isinstance(size, Const) else None
        kind = memory_type(buffer.dtype)
        if elements is not None and elements * buffer.dtype.itemsize <= _STACK_BYTES:
            count = max(1, int(elements))
            pointer = self.f.emit_entry(f"alloca [{count} x {kind}], align {ALIGNMENT}")
            self.define_buffer(buffer, pointer)
            self.emit(stmt.body)
            return
        space = str(int(elements) * buffer.dtype.itemsize) if elements is not None else None
        if space is None and isinstance(size, Expr):
            dims_product = entry_size(self.f, size, lambda var: self.f.vector(self.variable(var), 1))
            if dims_product is not None:
                space = self.f.emit_entry(f"mul i64 {dims_product}, {buffer.dtype.itemsize}")
        if space is not None:
            # Once a call of the function, not once an iteration of the loops around.
            pointer = f"%heap{len(self._hoisted)}"
            self._hoisted.append((pointer, self._rounded(space)))
            self.define_buffer(buffer, pointer)
            self.emit(stmt.body)
            return
        assert isinstance(size, Expr)
        total = arithmetic.binary(self.f, "mul", self._index(size), constant(INDEX, buffer.dtype.itemsize))
        padded = arithmetic.binary(self.f, "add", total, constant(INDEX, 2 * ALIGNMENT - 1))
        rounded = self.f.emit(f"and i64 {self.f.vector(padded, 1)}, {-ALIGNMENT}")
        pointer = self.f.emit(taken(self.module, rounded))
        self.fail_if(self.f.emit(f"icmp eq ptr {pointer}, null"))
        self.define_buffer(buffer, pointer)
        self._heap.append(pointer)
        self.emit(stmt.body)
        self._heap.pop()
        give(self.f, pointer)

    def _rounded(self, space: str) -> str:
        """A number of bytes, known at the entry, up to whole lines."""
        if space.isdigit():
            return str(max(1, -(-int(space) // ALIGNMENT)) * ALIGNMENT)
        emit = self.f.emit_entry
        some = emit(
            f"icmp sgt i64 {space}, 0"
        )  # what windows read of an extent of 0 may be less than nothing
        least = emit(f"select i1 {some}, i64 {space}, i64 0")
        padded = emit(f"add i64 {least}, {2 * ALIGNMENT - 1}")
        return emit(f"and i64 {padded}, {-ALIGNMENT}")

    def fail_if(self, condition: str) -> None:
        """Leave the function with a non-zero status, giving back what it holds."""
        f = self.f
        leave, fine = f.label("leave"), f.label("fine")
        f.branch_if(condition, leave, fine)
        f.start(leave)
        for pointer in reversed(self._heap):
            give(self.f, pointer)
        f.branch("failed")
        self.can_fail = True
        f.start(fine)

    def finish(self, result: str, parameters: str, *, is_kernel: bool) -> None:
        """Close the function and add it to the module."""
        f = self.f
        success = "ret i32 0" if is_kernel else "ret void"
        f.branch("finished")
        f.start("finished")
        self._free_hoisted()
        if self._streams:  # such stores are seen by others in any order
            call, declaration = self.module.target.architecture.stores_fence
            if call:
                self.module.source(declaration)
                f.do(call)
        f.do(success)
        prologue = self._prologue()
        if self.can_fail:
            f.start("failed")
            self._free_hoisted()
            if self._status is not None:
                f.do(f"store atomic i64 1, ptr {self._status} monotonic, align 8")
            f.do("ret i32 1" if is_kernel else success)
        f.define(self.name, result, parameters, FUNCTION_ATTRIBUTES, exported=is_kernel, prologue=prologue)

    def _free_hoisted(self) -> None:
        for pointer, size in self._hoisted:
            give(self.f, block_of(pointer, size))

    def _prologue(self) -> list[str]:
        """Allocate what the function needs for its whole run; all at once, so that one test is enough."""
        if not self._hoisted:
            return []
        self.can_fail = True
        return taken_at_entry(self.module, self._hoisted, "failed", "start")

"""The text form of expressions and modules, which `parser.py` reads back.

    free_var %x: Tensor[(3, 3), float32];
    %0 = exp(%x);
    %1 = sum(%0, axis=[1], keepdims=True);
    divide(%0, %1)

Every operation has a line of its own and is bound to `%<number>` in the innermost block that holds all its uses, so
that sharing survives and the text grows with the number of nodes, not of paths.  Attrs are printed where they
differ from their defaults; an op that is not of its first version has it behind its name, `scaled@2(%x)`.  The text
depends on the structure and the name hints alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ..base.vocabulary import dataclass
from ..operator import Op, value_text
from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Tuple, TupleGetItem, Var
from .forward import version_of
from .module import IRModule
from .scopes import Block, blocks_of, tails_of
from .text import ConstantSection, Names, TypePrinter, op_text
from .visitor import free_vars, post_order

_INLINE_DEPTH = 4  # tuples that are nested deeper get lines of their own


def to_text(program: Expr | IRModule, show_types: bool = False) -> str:
    """The text of an expression or a module; with `show_types`, each line ends in a comment with its type."""
    printer = _Printer(show_types)
    if isinstance(program, IRModule):
        for var, function in program.functions.items():
            printer.definition(var, function)
    else:
        printer.program(program)
    return "\n".join([*printer.lines, *printer.constants.lines()])


@dataclass(frozen=True, slots=True)
class _Line:
    """A finished line."""

    text: str
    indent: int


@dataclass(frozen=True, slots=True)
class _Member:
    """A node that is to be bound to a number, or to be written where it is used."""

    node: Expr
    indent: int


@dataclass(frozen=True, slots=True)
class _Statement:
    """`prefix` node `suffix`, over as many lines as the node's own blocks take.

    `spelled`: the node itself is written, though it has a name already.
    """

    prefix: str
    node: Expr
    suffix: str
    indent: int
    spelled: bool = False


@dataclass(frozen=True, slots=True)
class _Contents:
    """The lines of a block."""

    block: Block
    indent: int


_Task = _Line | _Member | _Statement | _Contents


class _Printer:
    def __init__(self, show_types: bool) -> None:
        self.show_types = show_types
        self.lines: list[str] = []
        self.types = TypePrinter()
        self.constants = ConstantSection()
        self.vars = Names()
        self.operands: dict[int, str] = {}  # id(node) -> how it is written as an operand
        self.nesting: dict[int, int] = {}  # id(node) -> depth of the tuples written in place
        self.inner: Mapping[int, tuple[Block, ...]] = {}
        self.uses: Counter[int] = Counter()
        self.deferred: set[int] = set()  # written by their only user, not on a line of their own
        self.temporaries = 0

    def program(self, expr: Expr) -> None:
        self.lines.extend([f"free_var {self.binder(v)};" for v in free_vars(expr)])
        self.body(expr, 0)

    def definition(self, var: GlobalVar, function: Function) -> None:
        if self.lines:
            self.lines.append("")
        self.temporaries = 0
        self.lines.append(f"def @{var.name}{self.header(function)} {{")
        self.body(function.body, 1)
        self.lines.append("}")

    def body(self, expr: Expr, indent: int) -> None:
        """Write `expr` and all that it needs."""
        order = post_order(expr)
        blocks = blocks_of(expr, order)
        self.inner = blocks.inner
        self.uses = Counter([id(child) for node in order for child in node.children()])
        self.deferred = {id(node) for node in self._written_by_user(expr, order)}
        stack: list[_Task] = [_Contents(blocks.root, indent)]
        while stack:
            task = stack.pop()
            if isinstance(task, _Line):
                self.lines.append("  " * task.indent + task.text)
            elif isinstance(task, _Member):
                stack.extend(reversed(self.member(task)))
            elif isinstance(task, _Statement):
                stack.extend(reversed(self.statement(task)))
            else:
                stack.extend(reversed(self.contents(task)))

    def _written_by_user(self, expr: Expr, order: list[Expr]) -> list[Expr]:
        """Tails of blocks and values of lets that nothing else uses."""
        found = [
            n for node in order for n in (*tails_of(node), *((node.value,) if isinstance(node, Let) else ()))
        ]
        return [n for n in found if self.uses[id(n)] == 1] + ([] if self.uses[id(expr)] else [expr])

    def contents(self, task: _Contents) -> list[_Task]:
        members: list[_Task] = [
            _Member(node, task.indent) for node in task.block.members if id(node) not in self.deferred
        ]
        return [*members, _Statement("", task.block.tail, "", task.indent)]

    def member(self, task: _Member) -> list[_Task]:
        node = task.node
        if self.in_place(node):
            return []
        name = self.operands[id(node)] = f"%{self.temporaries}"
        self.temporaries += 1
        comment = f"  /* {self.types.text(node.checked_type)} */" if self.show_types else ""
        return [_Statement(f"{name} = ", node, f";{comment}", task.indent, spelled=True)]

    def in_place(self, node: Expr) -> bool:
        """Whether `node` is written where it is used; if so its text is kept."""
        if id(node) in self.operands:
            return True
        if isinstance(node, Var):
            self.operands[id(node)] = self.vars.of(node, node.name_hint, "%")
        elif isinstance(node, GlobalVar):
            self.operands[id(node)] = f"@{node.name}"
        elif isinstance(node, Constant):
            self.operands[id(node)] = self.constants.text(node)
        elif isinstance(node, Tuple | TupleGetItem) and self.uses[id(node)] <= 1:
            depth = 1 + max([self.nesting.get(id(child), 0) for child in node.children()], default=0)
            if depth > _INLINE_DEPTH:
                return False
            self.nesting[id(node)] = depth
            self.operands[id(node)] = self.flat(node)
        else:
            return False
        return True

    def operand(self, node: Expr) -> str:
        text = self.operands.get(id(node))
        if text is None:
            self.in_place(node)
            text = self.operands[id(node)]
        return text

    def statement(self, task: _Statement) -> list[_Task]:
        node, indent = task.node, task.indent
        inner = self.inner.get(id(node), ())
        written = self.operands.get(id(node))
        if written is not None and not task.spelled:
            return [_Line(f"{task.prefix}{written}{task.suffix}", indent)]
        if isinstance(node, If):
            return [
                _Line(f"{task.prefix}if ({self.operand(node.condition)}) {{", indent),
                _Contents(inner[0], indent + 1),
                _Line("} else {", indent),
                _Contents(inner[1], indent + 1),
                _Line(f"}}{task.suffix}", indent),
            ]
        if isinstance(node, Function):
            return [
                _Line(f"{task.prefix}fn {self.header(node)} {{", indent),
                _Contents(inner[0], indent + 1),
                _Line(f"}}{task.suffix}", indent),
            ]
        if isinstance(node, Let):
            if task.prefix:
                block = _Statement("", node, "", indent + 1, spelled=True)
                return [_Line(f"{task.prefix}{{", indent), block, _Line(f"}}{task.suffix}", indent)]
            let = f"let {self.binder(node.var)} = "
            return [_Statement(let, node.value, ";", indent), _Contents(inner[0], indent)]
        return [_Line(f"{task.prefix}{self.flat(node)}{task.suffix}", indent)]

    def flat(self, node: Expr) -> str:
        """A node without blocks of its own, over its operands."""
        if isinstance(node, Call):
            items = [self.operand(arg) for arg in node.args]
            attrs = node.attrs.to_text(self.types.dim) if node.attrs is not None else ""
            types = f"[{', '.join(map(self.types.text, node.type_args))}]" if node.type_args else ""
            function = _callee(node.op) if isinstance(node.op, Op) else self.operand(node.op)
            return f"{function}{types}({', '.join([*items, attrs] if attrs else items)})"
        if isinstance(node, Tuple):
            items = [self.operand(f) for f in node.fields]
            return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
        if isinstance(node, TupleGetItem):
            return f"{self.operand(node.tuple_value)}.{node.index}"
        return self.operand(node)

    def binder(self, var: Var) -> str:
        name = self.operand(var)
        return name if var.type is None else f"{name}: {self.types.text(var.type)}"

    def header(self, function: Function) -> str:
        generic = self.types.type_params(function.type_params)
        attrs = [f"{name}={value_text(value)}" for name, value in function.attrs.items()]
        params = ", ".join([*[self.binder(p) for p in function.params], *attrs])
        result = "" if function.ret_type is None else f" -> {self.types.text(function.ret_type)}"
        return f"{generic}({params}){result}"


def _callee(op: Op) -> str:
    version = version_of(op)
    return op_text(op.name) if version == 1 else f"{op_text(op.name)}@{version}"

"""Names and stages of expressions: every name is bound, every call fits, static places hold static values."""

from __future__ import annotations

from dataclasses import field, replace

from opgen_runtime.base.vocabulary import dataclass

from ..diagnostics import Diagnostics, Edit, Place, Suggestion
from . import syntax as s
from .scope import ELEMENTS, TENSORS, Kind, Local, Namespace
from .vocabulary import AT_MOST, CONSTANTS, DTYPE_NAMES, LIBRARY, OPS, ORDERS, REDUCTIONS

_LOOPS = frozenset({"range", "ndindex"})
_UNROLLING = frozenset({"tuple", "sorted"})


@dataclass(frozen=True, slots=True)
class Section:
    """Where an expression stands: which kinds of names it sees, and whether elements may be read."""

    title: str  # "bounds", for messages
    sees: frozenset[Kind]
    static: bool = True
    unknown: str = "unknown-name"  # the code of a name that nothing binds


_TYPES = frozenset({Kind.INPUT, Kind.VARIADIC, Kind.ATTR, Kind.DIM, Kind.DIMS, Kind.DTYPE})
BOUNDS = Section("bounds", _TYPES)
PATTERN = Section("an input's shape", _TYPES, unknown="unbound-dim")
ATTRS_ONLY = Section("an upgrade of an attr", frozenset({Kind.ATTR}))
LET = Section("let", _TYPES | {Kind.LET, Kind.DEF})
REQUIRE = Section("require", LET.sees)
SHAPE = Section("a shape", LET.sees, unknown="unbound-dim")
DTYPE = Section("a dtype", LET.sees)
STATIC = Section("static code", frozenset(Kind))
COMPUTE = Section("compute", frozenset(Kind), static=False)


@dataclass(slots=True)
class NameChecker:
    """Checks expressions against a namespace.

    `hidden` holds names that are bound further down, `branched` those that some branch of an `if` binds.
    """

    namespace: Namespace
    diagnostics: Diagnostics
    hidden: set[str] = field(default_factory=set)
    branched: set[str] = field(default_factory=set)

    def error(self, code: str, message: str, place: Place, hint: str | None = None) -> None:
        self.diagnostics.error(code, message, place, hint)

    def check(self, node: s.Expression | s.Slice | s.Star, section: Section, local: Local) -> None:
        """Report everything that is wrong with the names, calls and stages of one expression."""
        match node:
            case s.Literal():
                pass
            case s.Name():
                self._name(node, section, local)
            case s.Attribute():
                self._attribute(node, section, local)
            case s.Star():
                self.check(node.value, section, local)
            case s.Slice():
                self._slice(node, section, local)
            case s.Subscript():
                self._subscript(node, section, local)
            case s.Call():
                self._call(node, section, local)
            case s.OpCall():
                self._op_call(node, section, local)
            case s.Comprehension():
                self._comprehension(node, section, local)
            case s.Unary(_, _, operand):
                self._operand(operand, section, local)
            case s.Binary(_, _, left, right):
                self._operand(left, section, local)
                self._operand(right, section, local)
            case s.Compare():
                self._compare(node, section, local)
            case _:
                for child in s.children(node):
                    self.check(child, section, local)  # type: ignore[arg-type]  # the rest hold expressions only

    def bind(self, names: tuple[s.Name, ...], kind: Kind, local: Local) -> dict[str, Kind]:
        """The local names with fresh ones added."""
        found = dict(local)
        for name in names:
            if self.namespace.is_fresh(name.name, name.place, found):
                found[name.name] = kind
            else:
                found.setdefault(name.name, kind)
        return found

    def kind(self, name: str, local: Local) -> Kind | None:
        if name in local:
            return local[name]
        symbol = self.namespace.symbols.get(name)
        return None if symbol is None else symbol.kind

    def is_unknown(self, name: str, local: Local) -> bool:
        """True of a name that nothing binds, here or further down."""
        known = name in LIBRARY or name in CONSTANTS or name in DTYPE_NAMES or name in self.hidden
        return not known and name not in self.namespace.lost and self.kind(name, local) is None

    def is_element(self, node: s.Node, local: Local) -> bool:
        """True if the value certainly depends on an index, a loop variable or a tensor element."""
        match node:
            case s.Name(_, name):
                return self.kind(name, local) in ELEMENTS
            case s.Subscript(_, s.Name(_, name)) if self.kind(name, local) in TENSORS:
                return True
            case s.Attribute() | s.Literal():
                return False
            case s.Call(_, function, arguments):
                return function.name != "len" and any(self.is_element(item, local) for item in arguments)
            case s.Compare(_, _, ((("is-none" | "is-not-none"), _),)):
                return False
            case s.Comprehension():
                return False  # its own names are not known here; the builder decides
            case _:
                return any(self.is_element(child, local) for child in s.children(node))

    def need_static(self, node: s.Node, what: str, local: Local) -> None:
        if self.is_element(node, local):
            self.error(
                "stage", f"{what} must be static, but this depends on an index or an element", node.place
            )

    # ---------------------------------------------------------------- one method a construct

    def _name(self, node: s.Name, section: Section, local: Local) -> None:
        name = node.name
        if name in local or name in DTYPE_NAMES or name in CONSTANTS:
            return
        symbol = self.namespace.symbols.get(name)
        if symbol is not None and symbol.kind is Kind.DEF:
            self.error("call", f"`{name}` is a function; call it: `{name}(...)`", node.place)
        elif symbol is not None and symbol.kind not in section.sees:
            text = f"`{name}` is {symbol.kind.value}, which {section.title} does not see"
            self.error("unknown-name", text, node.place)
        elif symbol is None:
            self._unknown(node, section, local)

    def _unknown(self, node: s.Name, section: Section, local: Local) -> None:
        name = node.name
        if name in self.hidden:
            self.error("unknown-name", f"`{name}` is used before it is bound", node.place)
            return
        if name in self.namespace.lost:
            return
        if name in self.branched:
            text = f"`{name}` is bound in one branch of an `if` only, and can be used only there"
            where = f"bind `{name}` above the `if`, or in both branches"
            self.error("unknown-name", text, node.place, where)
            return
        if name in LIBRARY:
            self.error("call", f"`{name}` is a function; call it: `{name}(...)`", node.place)
            return
        hint = self.namespace.hint(name, local)
        if section.unknown == "unbound-dim":
            self.error(
                "unbound-dim", f"`{name[:60]}` is bound by no input pattern, attr or `let`", node.place, hint
            )
        else:
            self.error("unknown-name", f"nothing binds the name `{name[:60]}`", node.place, hint)
        self.namespace.lost |= {name}  # told once

    def _attribute(self, node: s.Attribute, section: Section, local: Local) -> None:
        value = node.value
        self.check(value, STATIC if isinstance(value, s.Subscript) else section, local)
        if isinstance(value, s.Name):
            kind = self.kind(value.name, local)
            symbol = None if value.name in local else self.namespace.symbols.get(value.name)
            known = kind in TENSORS or kind in (None, Kind.LOCAL, Kind.PARAMETER, Kind.LET, Kind.STATIC)
            known = known or (symbol is not None and symbol.has_fields)
            if not known and kind is not None:
                hint = (
                    f"write `{value.name}[0].{node.name}`" if kind in (Kind.VARIADIC, Kind.OUTPUTS) else None
                )
                self.error(
                    "value", f"`{value.name}` is {kind.value}, it has no `.{node.name}`", node.place, hint
                )

    def _slice(self, node: s.Slice, section: Section, local: Local) -> None:
        for end in (node.lower, node.upper, node.step):
            if end is not None:
                self.check(end, section, local)
                self.need_static(end, "the end of a slice", local)

    def _subscript(self, node: s.Subscript, section: Section, local: Local) -> None:
        self.check(node.value, section, local)
        for index in node.indices:
            self.check(index, section, local)
        if not isinstance(node.value, s.Name):
            return
        kind = self.kind(node.value.name, local)
        if kind in TENSORS and section.static:
            self.error("stage", f"{section.title} cannot read elements of `{node.value.name}`", node.place)
        elif kind in TENSORS and any(isinstance(index, s.Slice) for index in node.indices):
            text = f"an element of `{node.value.name}` is read with one index a dim; slices are for tuples"
            hint = f"run over the dim, as in `sum({node.value.name}[i, k] for k in range(K))`, or name it on the left"
            self.error("index", text, node.place, hint)
        elif kind in (Kind.VARIADIC, Kind.OUTPUTS, Kind.INDICES) and _is_single(node):
            self.need_static(node.indices[0], f"a subscript of {kind.value}", local)

    def _operand(self, node: s.Expression, section: Section, local: Local) -> None:
        """An operand of arithmetic: a tensor itself is none."""
        if isinstance(node, s.Name):
            kind = self.kind(node.name, local)
            if kind in TENSORS or kind in (Kind.VARIADIC, Kind.OUTPUTS):
                text = f"`{node.name}` is {kind.value}; an element of it is `{node.name}[...]`"
                self.error("rank", text, node.place)
                return
        self.check(node, section, local)

    def _compare(self, node: s.Compare, section: Section, local: Local) -> None:
        if any(operand is None for _, operand in node.rest):
            self.check(node.first, section, local)
            return
        for operand in (node.first, *(operand for _, operand in node.rest)):
            if operand is not None:
                self._operand(operand, section, local)

    def _call(self, node: s.Call, section: Section, local: Local) -> None:
        name = node.function.name
        symbol = self.namespace.symbols.get(name)
        if self._is_hidden(node.function, local):
            pass
        elif symbol is not None:
            count = symbol.parameters
            self._arity(node, count - symbol.star, None if symbol.star else count)
        elif name in LIBRARY:
            self._arity(node, *LIBRARY[name])
        elif name in DTYPE_NAMES:
            self.error("call", f"`{name}` is a dtype, not a function", node.place, _conversion(node))
        elif name == AT_MOST:
            text = f"`{AT_MOST}(n)` stands in the condition of a `while`"
            self.error("call", text, node.place, f"write `while x[i] > 1 and {AT_MOST}(100):`")
        elif name not in self.namespace.lost:
            hint = self.namespace.hint(name)
            self.error("unknown-name", f"there is no function `{name[:60]}`", node.function.place, hint)
            self.namespace.lost |= {name}  # told once
        if name in ORDERS and symbol is None:
            text = f"`{name}` gives a tensor, which has a name before its elements are read"
            self.error("op-call", text, node.place, f"write `y = {name}(x, axis)` and read `y[*i]`")
            return
        for argument in node.arguments:
            if isinstance(argument, s.Name) and name in LIBRARY and symbol is None:
                self._argument(argument, name, section, local)
            else:
                self.check(argument, section, local)

    def _op_call(self, node: s.OpCall, section: Section, local: Local) -> None:
        self._is_hidden(s.Name(node.op.place, OPS), local)
        for operand in node.operands:
            self.check(operand, section, local)
        for attr, value in node.attrs:
            self.check(value, section, local)
            self.need_static(value, f"the attr `{attr.name[:60]}` of a call", local)

    def check_order(self, node: s.Call, section: Section) -> None:
        """A sort, whose first operand is a tensor, and the rest of which is static."""
        name = node.function.name
        self._is_hidden(node.function, {})
        self._arity(node, *LIBRARY[name])
        for position, argument in enumerate(node.arguments):
            self.check(argument, section, {})
            if position:
                self.need_static(argument, f"argument {position} of `{name}`", {})
        first = node.arguments[0] if node.arguments else None
        is_tensor = isinstance(first, s.Name) and self.kind(first.name, {}) in TENSORS
        if not is_tensor and first is not None:
            hint = f"define a tensor, `key[*i]: x.shape = ...`, and write `{name}(key, ...)`"
            self.error("rank", f"`{name}` takes a tensor, and an axis", first.place, hint)

    def _argument(self, node: s.Name, function: str, section: Section, local: Local) -> None:
        """A name given to a function of the library: a tensor itself is no value."""
        kind = self.kind(node.name, local)
        if kind not in TENSORS:
            self.check(node, section, local)
            return
        hint = None
        if function in REDUCTIONS:
            hint = f"write `{function}({node.name}[*k] for k in ndindex({node.name}.shape))`"
        elif function == "len":
            hint = f"write `{node.name}.ndim`, or `{node.name}.shape[0]`"
        assert kind is not None
        text = f"`{node.name}` is {kind.value}; an element of it is `{node.name}[...]`"
        self.error("rank", text, node.place, hint)

    def _is_hidden(self, function: s.Name, local: Local) -> bool:
        """True, and reported, if a name that the declaration binds hides the function."""
        name = function.name
        kind = self.kind(name, local)
        if kind is Kind.DEF or (kind is None and name not in self.hidden):
            return False
        what = "bound further down" if kind is None else kind.value
        if name not in LIBRARY:
            self.error("call", f"`{name[:60]}` is {what}, not a function", function.place)
        elif kind is None:
            self.error("call", f"`{name}` is {what} and hides the function", function.place)
        else:
            bare = what.removeprefix("an ").removeprefix("a ")
            text = f"`{name}` is {what} here and hides the function; give the {bare} another name"
            self.error("call", text, function.place)
        return True

    def _arity(self, node: s.Call, least: int, most: int | None) -> None:
        count = len(node.arguments)
        if any(isinstance(argument, s.Star) for argument in node.arguments):
            return
        if count < least or (most is not None and count > most):
            wanted = (
                str(least) if most == least else f"at least {least}" if most is None else f"{least} to {most}"
            )
            text = (
                f"`{node.function.name}` takes {wanted} argument{'' if wanted == '1' else 's'}, found {count}"
            )
            self.error("call", text, node.place)

    def _comprehension(self, node: s.Comprehension, section: Section, local: Local) -> None:
        if not self._is_hidden(node.function, local) and self.namespace.is_def(node.function.name):
            text = f"`{node.function.name}` is a `def` here, which takes no comprehension"
            self.error("call", text, node.function.place)
        for clause in node.clauses:
            self._iterable(clause.iterable, section, local)
            unrolls = node.function.name in _UNROLLING or section.static
            if unrolls:
                self.need_static_range(clause.iterable, local)
            kind = Kind.LOOP if not unrolls and is_loop(clause.iterable) else Kind.LOCAL
            local = self.bind(clause.targets, kind, local)
            for condition in clause.conditions:
                self.check(condition, section, local)
        self.check(node.element, section, local)
        if node.default is not None:
            self.check(node.default, section, local)

    def _iterable(self, node: s.Expression, section: Section, local: Local) -> None:
        if isinstance(node, s.Name) and self.kind(node.name, local) in TENSORS:
            text = f"a `for` runs over positions, not over the tensor `{node.name}`"
            self.error(
                "rank", text, node.place, f"write `range({node.name}.shape[0])`, and read `{node.name}[k]`"
            )
        else:
            self.check(node, section, local)

    def need_static_range(self, node: s.Expression, local: Local) -> None:
        """What unrolls has static bounds; it may hold element values."""
        if is_loop(node):
            self.need_static(node, "what a tuple's comprehension runs over", local)


def _conversion(node: s.Call) -> Suggestion:
    """How `float32(x)` is written."""
    name = node.function.name
    closing = replace(node.place.end, column=node.place.end_column - 1)
    edits = (Edit("cast", place=node.function.place), Edit(f", {name})", place=closing))
    return Suggestion(f"write `cast(x, {name})`", *(edits if len(node.arguments) == 1 else ()))


def _is_single(node: s.Subscript) -> bool:
    """True for `t[k]`."""
    return len(node.indices) == 1 and not isinstance(node.indices[0], s.Slice | s.Star)


def is_loop(node: s.Expression) -> bool:
    """True for `range(...)`, `ndindex(...)` and their `reversed(...)`."""
    if isinstance(node, s.Call) and node.function.name == "reversed" and len(node.arguments) == 1:
        inner = node.arguments[0]
        return not isinstance(inner, s.Star) and is_loop(inner)
    return isinstance(node, s.Call) and node.function.name in _LOOPS

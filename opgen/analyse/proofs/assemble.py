"""The objects that a generated module makes, made in memory from the same translated trees."""

from __future__ import annotations

import ast
import typing
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

from opgen_runtime.operator import types
from opgen_runtime.operator.attrs import Attrs, attr

from ...expression.translate import at, place_of
from ...model import (
    BoundRule,
    CheckedAttr,
    CheckedOutput,
    CheckedSignature,
    LetRule,
    Rule,
    ShapeEntry,
    StaticEntry,
)
from .meter import Meter, MeteredLibrary, metered_builtins

_CHECKED: Final = {ast.Add: "checked_add", ast.Sub: "checked_sub", ast.Mult: "checked_mul"}


@dataclass(frozen=True, slots=True)
class Assembled:
    """What `lang.build` and `Signature.bind` need of an op."""

    signature: types.Signature
    compute: Callable[..., None] | None
    attrs: type[Attrs] | None


class Assembler:
    """Compiles translated trees.  `+ - *` become checked functions; calls are counted by `meter`."""

    def __init__(self) -> None:
        self.meter = Meter()
        self._globals = {
            "__builtins__": {},
            "_l": MeteredLibrary(self.meter),
            "_b": metered_builtins(self.meter),
            "_t": typing,
            "_tick": self.meter.tick,
            "_star": self.meter.star,
            "_made": self.meter.made,
        }

    def function(self, tree: ast.Lambda) -> Callable[..., Any]:
        """The function of a lambda; its code's file name is the declaration's path."""
        body = _Checked().copy(tree)
        code = compile(ast.Expression(body), place_of(tree).path, "eval", dont_inherit=True)
        made: Callable[..., Any] = eval(code, self._globals)
        return made

    def compute(self, tree: ast.FunctionDef) -> Callable[..., None]:
        body = _Checked().copy(tree)
        code = compile(ast.Module([body], []), place_of(tree).path, "exec", dont_inherit=True)
        names: dict[str, Any] = {}
        _run(code, self._globals, names)
        made: Callable[..., None] = names["compute"]
        return made

    def attrs(self, op: str, fields: tuple[CheckedAttr, ...]) -> type[Attrs] | None:
        """The Attrs class."""
        if not fields:
            return None
        body: dict[str, Any] = {"type_key": f"attrs.{op}"}
        for field in fields:
            keywords: dict[str, Any] = {"optional": field.optional, "doc": field.doc}
            if not field.required:
                keywords["default"] = field.default
            if field.bound is not None:
                keywords["bounds"] = field.bound.text
                if field.bound.check is not None:
                    keywords["check"] = self.function(field.bound.check)
            body[field.name] = attr(field.kind, **keywords)
        return type("DeclaredAttrs", (Attrs,), body)

    def signature(self, signature: CheckedSignature) -> types.Signature:
        return types.Signature(
            inputs=tuple(
                types.Input(
                    operand.name,
                    None if operand.shape is None else self._entries(operand.shape),
                    operand.dtype,
                    operand.doc,
                    operand.optional,
                    operand.variadic,
                    None if operand.layout is None else (operand.layout.attr, operand.layout.canonical),
                )
                for operand in signature.inputs
            ),
            rules=tuple(self._rule(rule) for rule in signature.rules),
            outputs=tuple(self._output(output) for output in signature.outputs),
            dtypes=signature.dtypes,
            dynamic={name: self.function(tree) for name, tree in signature.dynamic.items()},
        )

    def _rule(self, rule: Rule) -> types.Bound | types.Let | types.Require:
        names = rule.names if isinstance(rule, LetRule) else ()
        function = self.function(rule.function if len(names) < 2 else _unpacked(rule.function, len(names)))
        if isinstance(rule, BoundRule):
            return types.Bound(rule.attr, function, rule.text)
        if isinstance(rule, LetRule):
            return types.Let(rule.names, function, rule.text)
        return types.Require(function, rule.text, rule.error, rule.binds)

    def _entries(self, entries: tuple[ShapeEntry, ...]) -> tuple[Any, ...]:
        return tuple(self._entry(entry) for entry in entries)

    def _entry(self, entry: ShapeEntry) -> Any:
        if not isinstance(entry, StaticEntry):
            return entry
        function = self.function(entry.function)
        return types.Spread(function, entry.text) if entry.spread else types.Static(function, entry.text)

    def _output(self, output: CheckedOutput) -> types.Output:
        shape, dtype = output.shape, output.dtype
        return types.Output(
            output.name,
            self._entries(shape) if isinstance(shape, tuple) else self._maybe(shape),
            self._maybe(dtype),
            output.doc,
            None if output.variadic is None else self.function(output.variadic),
            None if output.layout is None else (output.layout.attr, output.layout.canonical),
            output.variadic_index or "j",
        )

    def _maybe(self, value: str | ast.Lambda) -> Any:
        return value if isinstance(value, str) else self.function(value)


def _run(code: CodeType, names: dict[str, Any], local: dict[str, Any]) -> None:
    """Define the functions of a compiled module."""
    exec(code, names, local)


class _Checked:
    """Copies a tree with what keeps static work within limits.

    `a + b` is `_l.checked_add(a, b)`; each function and lambda ticks; `*t` and tuples are counted.
    """

    def copy(self, node: Any) -> Any:
        """The copied node; annotations are left out."""
        if isinstance(node, list):
            return [self.copy(item) for item in node]
        if not isinstance(node, ast.AST):
            return node
        fields = {name: self.copy(value) for name, value in ast.iter_fields(node) if name not in _ANNOTATIONS}
        made = ast.copy_location(type(node)(**fields), node)
        if isinstance(made, ast.BinOp):
            return _at(node, _call("_l", _CHECKED[type(made.op)], made.left, made.right))
        if isinstance(made, ast.Assign) and isinstance(made.targets[0], ast.Tuple):
            made.value = _unpack(made.value, len(made.targets[0].elts))
        if isinstance(made, ast.Starred) and isinstance(made.ctx, ast.Load):
            made.value = _at(node, _call("_star", None, made.value))
        elif isinstance(made, ast.Tuple) and isinstance(made.ctx, ast.Load):
            return _at(node, _call("_made", None, made))
        elif isinstance(made, ast.Subscript):
            made.slice = _unwrapped(made.slice)
        elif isinstance(made, ast.Lambda) and (made.args.args or made.args.vararg):
            made.body = _at(node, ast.BoolOp(ast.Or(), [_at(node, _call("_tick")), made.body]))
        elif isinstance(made, ast.FunctionDef):
            made.body.insert(0, _at(node, ast.Expr(_at(node, _call("_tick")))))
        return made


def _unpack(value: ast.expr, count: int) -> ast.expr:
    """`_l.checked_unpack(value, count)` at the place of the value."""
    made: ast.expr = _at(value, _call("_l", "checked_unpack", value, _at(value, ast.Constant(count))))
    return made


def _unpacked(tree: ast.Lambda, count: int) -> ast.Lambda:
    """The lambda of a rule that binds several names."""
    return at(ast.Lambda(tree.args, _unpack(tree.body, count)), place_of(tree))


def _unwrapped(index: Any) -> Any:
    """The tuple of `t[i, j]` as it stands: it is no value of the declaration, and slices stand in no call."""
    is_made = isinstance(index, ast.Call) and isinstance(index.func, ast.Name) and index.func.id == "_made"
    return index.args[0] if is_made else index


_ANNOTATIONS: Final = frozenset({"annotation", "returns"})


def _call(name: str, attribute: str | None = None, *arguments: ast.expr) -> ast.Call:
    """`name(arguments)` or `name.attribute(arguments)`."""
    function: ast.expr = ast.Name(name, ast.Load())
    if attribute is not None:
        function = ast.Attribute(function, attribute, ast.Load())
    return ast.Call(function, list(arguments), [])


def _at(place: ast.AST, node: Any) -> Any:
    """The node with the place of another on it and on the parts that have none."""
    for part in (node, getattr(node, "func", None), getattr(getattr(node, "func", None), "value", None)):
        if part is not None and not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return node

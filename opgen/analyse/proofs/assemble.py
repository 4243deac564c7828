"""The objects that a generated module makes, made in memory from the syntax trees that the module prints."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import CodeType, MappingProxyType, SimpleNamespace
from typing import Any, Final
from weakref import ref

from opgen_runtime.base.vocabulary import dataclass
from opgen_runtime.compute.lang.failures import Poisoned
from opgen_runtime.declaration import lang, statement
from opgen_runtime.operator import types
from opgen_runtime.operator.attrs import Attrs

from ...expression.translate import at, place_of
from ...model import CheckedAttr, CheckedCallee, CheckedSignature, LetRule, Rule
from ...model.statement import attr_tree, signature_options, signature_parts, tree
from .meter import Meter, MeteredLibrary, metered_builtins

_CHECKED: Final = {ast.Add: "checked_add", ast.Sub: "checked_sub", ast.Mult: "checked_mul"}


@dataclass(frozen=True, slots=True)
class Assembled:
    """What `lang.build` and `Signature.bind` need of an op."""

    signature: types.Signature
    compute: Callable[..., None] | None
    attrs: type[Attrs] | None


@dataclass(frozen=True, slots=True)
class AssembledCallee(Assembled):
    """What `lang.expand` needs of an op that is called."""

    full_name: str


class Assembler:
    """Compiles translated trees.  `+ - *` become checked functions; calls are counted by `meter`.

    `callees`: the ops that a compute function may call, by their names in the registry.
    """

    def __init__(self, callees: Mapping[str, CheckedCallee] = MappingProxyType({})) -> None:
        self.meter = Meter()
        self._callees = callees
        self._called: dict[str, AssembledCallee] = {}
        self._globals = {
            "__builtins__": {},
            "_l": MeteredLibrary(self.meter),
            "_b": metered_builtins(self.meter),
            "_tick": self.meter.tick,
            "_star": self.meter.star,
            "_made": self.meter.made,
            "_d": SimpleNamespace(called=partial(_called, ref(self))),
        }

    def function(self, tree: ast.Lambda) -> Callable[..., Any]:
        """The function of a lambda; its code's file name is the declaration's path."""
        body = _Checked().copy(tree)
        code = _compiled(ast.Expression(body), place_of(tree).path, "eval")
        made: Callable[..., Any] = eval(code, self._globals)
        return made

    def compute(self, tree: ast.FunctionDef) -> Callable[..., None]:
        body = _Checked().copy(tree)
        code = _compiled(ast.Module([body], []), place_of(tree).path, "exec")
        names: dict[str, Any] = {}
        _run(code, self._globals, names)
        made: Callable[..., None] = names["compute"]
        return made

    def callee(self, name: str) -> AssembledCallee:
        """The op of that name, assembled once.  Raises Poisoned for one that cannot be called, which is reported."""
        if name not in self._called:
            callee = self._callees.get(name)
            if callee is None:
                raise Poisoned(name)
            made = self.attrs(callee.name, callee.attrs)
            signature = self.signature(callee.signature, callee.attrs, made)
            compute = None if callee.compute is None else self.compute(callee.compute)
            self._called[name] = AssembledCallee(signature, compute, made, callee.full_name)
        return self._called[name]

    def attrs(self, op: str, fields: tuple[CheckedAttr, ...]) -> type[Attrs] | None:
        """The Attrs class."""
        if not fields:
            return None
        body = self._made(tree({field.name: attr_tree(field) for field in fields}))
        return type("DeclaredAttrs", (Attrs,), {"type_key": f"attrs.{op}", **body})

    def signature(
        self, signature: CheckedSignature, fields: tuple[CheckedAttr, ...], attrs: type[Attrs] | None
    ) -> types.Signature:
        """The signature of an op whose Attrs class is `attrs`; a hand-written type relation is left out."""
        counted = replace(signature, rules=tuple(_counted(rule) for rule in signature.rules))
        parts = self._made(tree(tuple(signature_parts(counted, fields))))
        options = self._made(tree(signature_options(signature)))
        return statement.signature(*parts, attrs=attrs, **{**options, "relation": None})

    def _made(self, stated: ast.expr) -> Any:
        """What a statement makes, whose lambdas keep their places in the declarations."""
        functions = _Functions(self.function)
        body = ast.fix_missing_locations(ast.Expression(functions.visit(stated)))
        code = compile(body, "<statement>", "eval", dont_inherit=True)
        return eval(code, {"__builtins__": {}, "_d": statement, "_l": lang, **functions.made})


def _called(assembler: ref[Assembler], name: str) -> AssembledCallee:
    """The op of that name, for functions, which do not hold what made them: whoever runs them does."""
    found = assembler()
    assert found is not None
    return found.callee(name)


class _Functions(ast.NodeTransformer):
    """Puts names for the lambdas of a statement, and makes their functions."""

    def __init__(self, make: Callable[[ast.Lambda], Callable[..., Any]]) -> None:
        self._make = make
        self.made: dict[str, Callable[..., Any]] = {}

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        name = f"_f{len(self.made)}"
        self.made[name] = self._make(node)
        return ast.Name(name, ast.Load())


def _compiled(tree: ast.Module | ast.Expression, path: str, mode: str) -> CodeType:
    """The code of a declaration; what Python warns of there (`None[i]`) is found where it is run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code: CodeType = compile(tree, path, mode, dont_inherit=True)
    return code


def _run(code: CodeType, names: dict[str, Any], local: dict[str, Any]) -> None:
    """Define the functions of a compiled module."""
    exec(code, names, local)


_COPIED: Final = (ast.AST, list)
_SHARED: Final = frozenset({ast.Name, ast.Constant, ast.Load, ast.Store})
_CHANGED: Final = frozenset(
    {ast.BinOp, ast.Assign, ast.Starred, ast.Tuple, ast.Subscript, ast.Lambda, ast.FunctionDef}
)


class _Checked:
    """Copies a tree with what keeps static work within limits.

    `a + b` is `_l.checked_add(a, b)`; each function and lambda ticks; `*t` and tuples are counted.
    """

    def copy(self, node: Any) -> Any:
        """The copied node; annotations are left out, and parts in which nothing changes are shared."""
        kind = type(node)
        if kind in _SHARED:
            return node
        if kind is list:
            return [self.copy(item) if isinstance(item, ast.AST) else item for item in node]
        made: Any = ast.AST.__new__(kind)
        fields = made.__dict__ = dict(vars(node))  # and its place
        for name in kind._fields:
            part = fields.get(name)
            if name in _ANNOTATIONS:
                fields.pop(name, None)
            elif isinstance(part, _COPIED):
                fields[name] = self.copy(part)
        if kind not in _CHANGED:
            return made
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


def _counted(rule: Rule) -> Rule:
    """The rule; one that binds several names says what is wrong where it has not as many values."""
    if not isinstance(rule, LetRule) or len(rule.names) < 2:
        return rule
    function = rule.function
    body = _unpack(function.body, len(rule.names))
    return replace(rule, function=at(ast.Lambda(function.args, body), place_of(function)))


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

"""`let:` statements as rules: names and a lambda each.

a = axis % data.ndim      ("a",), lambda axis, data: _l.floormod(axis, data.ndim)
def f(p): return p + a    ("f",), lambda a: lambda p: p + a
if c: a = 1               ("a",), lambda ...: _l.select(c, lambda: 1, lambda: 2)
else: a = 2
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from opgen_runtime.base.vocabulary import dataclass

from . import syntax as s
from .scope import Kind, Local, Namespace
from .translate import Translator, at, make_lambda
from .translate_composed import translate_types

_WHOLE: Final = (s.Def, s.Composition)  # what no condition chooses


@dataclass(frozen=True, slots=True)
class LetItem:
    """The names that one statement gives, their value as a tree, and whether a `def` gives it."""

    names: tuple[str, ...]
    value: s.Expression | s.Def | s.Composition


def flatten_let(block: s.Block) -> list[LetItem]:
    """The statements without `if`: a name bound in both branches becomes a conditional value."""
    found: list[LetItem] = []
    for item in block:
        if isinstance(item, s.Def):
            found.append(LetItem((item.name,), item))
        elif isinstance(item, s.Composition):
            found.append(LetItem(tuple(target.name for target in item.targets), item))
        elif isinstance(item, s.Assign):
            found.append(LetItem(tuple(target.name for target in item.targets), item.value))
        elif isinstance(item, s.If):
            found += _join(item)
    return found


def _join(item: s.If) -> list[LetItem]:
    other = {entry.names: entry.value for entry in flatten_let(item.otherwise)}
    found: list[LetItem] = []
    for entry in flatten_let(item.then):
        value = other.get(entry.names)
        if value is not None and not isinstance(value, _WHOLE) and not isinstance(entry.value, _WHOLE):
            chosen = s.Conditional(item.place, item.condition, entry.value, value)
            found.append(LetItem(entry.names, chosen))
    return found


def translate_let(item: LetItem, namespace: Namespace, known_ops: Mapping[str, str]) -> ast.Lambda:
    """The rule's function: its parameters are the names that the value needs.  `known_ops`: as a `Translator`'s."""
    own = _bound_inside(item.value)
    needs = [name for name in namespace.used(item.value) if name not in item.names and name not in own]
    if isinstance(item.value, s.Def):
        return make_lambda(needs, _def(item.value, namespace), item.value.place)
    translator = Translator(namespace, static=True, known_ops=known_ops)
    if isinstance(item.value, s.Composition):
        return make_lambda(needs, translate_types(item.value, translator), item.value.place)
    return make_lambda(needs, translator.expression(item.value, {}), item.value.place)


def _bound_inside(value: s.Node) -> set[str]:
    """Names of parameters, locals and loops; `compute` may use them again for something else."""
    clauses = [n for n in s.walk(value) if isinstance(n, s.Clause | s.Assign)]
    found = {target.name for clause in clauses for target in clause.targets}
    return found | {n.name for n in s.walk(value) if isinstance(n, s.Parameter)}


def _def(item: s.Def, namespace: Namespace) -> ast.Lambda:
    """A `def` as a lambda; a local name is the parameter of a lambda that is called at once."""
    translator = Translator(namespace, static=False)
    local: Local = {p.name: Kind.INDICES if p.star else Kind.PARAMETER for p in item.parameters}
    values: list[tuple[s.Assign, ast.expr]] = []
    for line in item.locals:
        values.append((line, translator.expression(line.value, local)))
        local = {**local, **{target.name: Kind.LOCAL for target in line.targets}}
    body = translator.expression(item.result, local)
    for line, value in reversed(values):
        inner = make_lambda([target.name for target in line.targets], body, line.place)
        given = value if len(line.targets) == 1 else at(ast.Starred(value, ast.Load()), line.place)
        body = at(ast.Call(inner, [given], []), line.place)
    plain = [parameter.name for parameter in item.parameters if not parameter.star]
    star = next((parameter.name for parameter in item.parameters if parameter.star), None)
    return make_lambda(plain, body, item.place, star)

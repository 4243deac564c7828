"""Names of `let:`, and of the `def`s that `let:` and `compute:` hold."""

from __future__ import annotations

from collections.abc import Collection

from ..diagnostics import Place
from . import syntax as s
from .names import LET, NameChecker, Section
from .paths import assigned
from .scope import Kind, Local, Symbol


def declare_defs(block: s.Block, checker: NameChecker) -> None:
    """Add the `def`s of a block to the namespace; a `def` that calls itself is reported."""
    defs = {item.name: item for item in block if isinstance(item, s.Def)}
    for item in block:
        if isinstance(item, s.Def):
            star = any(parameter.star for parameter in item.parameters)
            count = len(item.parameters)
            checker.namespace.declare(Symbol(item.name, Kind.DEF, item.place, count, star))
    calls = {name: _called(item) & set(defs) for name, item in defs.items()}
    for name, item in defs.items():
        if name in _reachable(name, calls):
            checker.error(
                "cyclic", f"`def {name}` calls itself; `def`s are inlined, they cannot recurse", item.place
            )


def _called(item: s.Def) -> set[str]:
    return {node.function.name for node in s.walk(item) if isinstance(node, s.Call)}


def _reachable(start: str, calls: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    stack = list(calls[start])
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(calls[name])
    return found


def check_let(block: s.Block, checker: NameChecker) -> None:
    """`let:`: each name is bound once, before use, on every path; the names enter the namespace."""
    declare_defs(block, checker)
    checker.hidden |= assigned(block)
    _LetChecker(checker).block(block)
    checker.hidden.clear()
    for item in block:
        if isinstance(item, s.Def):
            check_def(item, LET, checker)


class _LetChecker:
    def __init__(self, checker: NameChecker) -> None:
        self.checker = checker

    def block(self, block: s.Block) -> None:
        for item in block:
            if isinstance(item, s.Composition):  # its names are none that a declaration could give
                for target in item.targets:
                    self.checker.namespace.symbols[target.name] = Symbol(target.name, Kind.LET, target.place)
            elif isinstance(item, s.Assign):
                self.checker.check(item.value, LET, {})
                declare(item.targets, Kind.LET, self.checker)
                self.checker.hidden -= {target.name for target in item.targets}
            elif isinstance(item, s.If):
                self.checker.check(item.condition, LET, {})
                self._branches(item)

    def _branches(self, item: s.If) -> None:
        """Both branches bind the same names; each is checked as if the other were not there."""
        symbols = self.checker.namespace.symbols
        before = dict(symbols)
        hidden = set(self.checker.hidden)
        self.block(item.then)
        self.checker.hidden |= hidden
        then = {name: symbol for name, symbol in symbols.items() if name not in before}
        for name in then:
            del symbols[name]
        self.block(item.otherwise)
        other = {name: symbol for name, symbol in symbols.items() if name not in before}
        same_paths(then, other, item.place, self.checker)
        symbols.update(then)


def same_paths(then: Collection[str], other: Collection[str], place: Place, checker: NameChecker) -> None:
    """Report the names that one branch of an `if` binds alone."""
    for name in sorted(set(then) ^ set(other)):
        which = "`else`" if name in then else "the branch taken if it holds"
        checker.error(
            "undefined", f"every path binds the same names, but {which} does not bind `{name}`", place
        )


def declare(names: tuple[s.Name, ...], kind: Kind, checker: NameChecker) -> None:
    """Add names to the namespace."""
    for name in names:
        checker.namespace.declare(Symbol(name.name, kind, name.place))


def check_def(item: s.Def, section: Section, checker: NameChecker) -> None:
    """The body of a `def` in its parameters and locals."""
    local: Local = {}
    for parameter in item.parameters:
        name = s.Name(parameter.place, parameter.name)
        local = checker.bind((name,), Kind.PARAMETER, local)
    for line in item.locals:
        checker.check(line.value, section, local)
        local = checker.bind(line.targets, Kind.LOCAL, local)
    checker.check(item.result, section, local)

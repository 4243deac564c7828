"""MergeComposite: ops that are of a pattern become a function of their own, called in their place.

    MergeComposite((("mylib.dense_relu", "relu(dense(?x, ?w))", None),))
    relu(dense(%a, %b))      fn (%a, %b, Composite="mylib.dense_relu") { relu(dense(%a, %b)) }(%a, %b)

A pattern is written as in rules (docs/declare-a-rewrite.md), or made by `transform.pattern`; attrs that it does not
name may be any.  What it captures are the function's parameters, but for constants, which stand in it.  Patterns are
tried in their order, each from the results of the function backwards; a call belongs to one function at most.  Calls
whose values are read elsewhere, too, are not merged into what reads them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import MappingProxyType
from typing import Final, TypeAlias

from ..base.contract import handed_in
from ..base.errors import PassError
from ..base.forks import importing
from ..declaration.patterns import Apply, with_any_attrs
from ..ir import Call, Expr, Function, IRModule, Tuple, post_order
from ..ir.scopes import Blocks, blocks_of
from .context import PassContext
from .define import function_pass
from .infer_type import InferType
from .info import Option
from .matching import Bound, matches
from .regions import COMPOSITE, Region, is_closed, outlined

Check: TypeAlias = "Callable[[Call], bool] | None"
Row: TypeAlias = "tuple[str, str | Apply] | tuple[str, str | Apply, Check]"
OPTIONS: Final = {
    "patterns": Option(
        (), "(name, pattern) or (name, pattern, check) of each; a check is a function of the last call."
    )
}


@function_pass(opt_level=0, required=(InferType,), preserves=("InferType",), options=OPTIONS)
def MergeComposite(
    function: Function, module: IRModule, context: PassContext, *, patterns: tuple[Row, ...]
) -> Function:
    """Calls that are of a pattern, and pass its check, are one function.

    Raises PassError for a row that is none, a pattern that cannot be read, and a check that raises.
    """
    for row in patterns:
        name, pattern, check = _read(row)
        function = _merged(function, name, pattern, check)
    return function


def _read(row: Row) -> tuple[str, Apply, Check]:
    if not (isinstance(row, tuple) and len(row) in (2, 3) and isinstance(row[0], str)):
        raise PassError(f"MergeComposite takes rows of (name, pattern, check), found {row!r:.80}")
    name, given, check = row if len(row) == 3 else (*row, None)
    with importing:  # and with it Python's parser
        from ..declaration.pattern_text import parse_pattern
    pattern = parse_pattern(given) if isinstance(given, str) else given
    if not isinstance(pattern, Apply):
        raise PassError(f"MergeComposite: {name}: the pattern is {given!r:.80}, expected the call of an op")
    if check is not None and not callable(check):
        raise PassError(f"MergeComposite: {name}: the check is {check!r:.80}, expected a function or None")
    return name, with_any_attrs(pattern), check


def _merged(function: Function, name: str, pattern: Apply, check: Check) -> Function:
    order = post_order(function, is_closed)
    blocks = blocks_of(function, order)
    users = Counter([id(child) for node in order for child in node.children()])
    taken: set[int] = set()
    regions: list[Region] = []
    for root in reversed(order):
        if not isinstance(root, Call) or id(root) in taken:
            continue
        for bound in matches(pattern, root, is_operand=True):
            members = _between(root, bound)
            if _is_apart(members, users, blocks, taken) and _passes(name, check, root):
                taken.update(map(id, members))
                calls = [each for each in members if not isinstance(each, Tuple)]
                regions.append(Region(calls, [root], MappingProxyType({COMPOSITE: name})))
                break
    return outlined(function, regions)


def _between(root: Call, bound: Bound) -> list[Expr]:
    """The nodes of a match, operands first: those from its result to what is captured."""
    captured: set[int] = set()
    for value in bound.values():
        captured.update(
            [id(each) for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, Expr)]
        )
    return [
        node
        for node in post_order(root, lambda node: id(node) in captured)
        if id(node) not in captured and isinstance(node, Call | Tuple)
    ]


def _is_apart(members: list[Expr], users: Counter[int], blocks: Blocks, taken: set[int]) -> bool:
    """Whether a match is in one block, in no other match, and read from outside at its result alone."""
    *inner, root = members
    own = Counter([id(child) for node in members for child in node.children()])
    return all([id(node) not in taken for node in members]) and all(
        [own[id(node)] == users[id(node)] and blocks.at[id(node)] is blocks.at[id(root)] for node in inner]
    )


def _passes(name: str, check: Check, root: Call) -> bool:
    if check is None:
        return True
    with handed_in(f"MergeComposite: {name}: its check", PassError):
        return bool(check(root))

"""Functions that call themselves at their ends, as loops.

def @f(%n, %x) { if (%n > 0) { @f(%n - 1, sin(%x)) } else { %x } }

again       whether the function calls itself once more      %n > 0
following   what it calls itself with                        (%n - 1, sin(%x))
done        what it gives in the end                         %x
"""

from __future__ import annotations

from ....base.vocabulary import dataclass
from ....ir import Call, Expr, Function, GlobalVar, If, Tuple, Var, const, post_order
from ....ir.loops import ends_of, with_ends
from ..emit import op
from ..errors import ExportError


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """A loop over the values of `params`.  `fixed`: those that no step changes, which `following` leaves out."""

    params: tuple[Var, ...]
    fixed: tuple[bool, ...]
    again: Expr
    following: Expr
    done: Expr


def calls_itself(name: str, function: Function) -> bool:
    """Whether a function calls the function of that name."""
    return any([_is_call(node, name) for node in post_order(function.body)])


def loop_of_function(name: str, function: Function) -> Loop:
    """The loop that a function is.  Raises ExportError where it calls itself elsewhere than at its ends."""
    calls = [node for node in post_order(function.body) if _is_call(node, name)]
    ends = ends_of(function.body)
    if not all([any([call is end for end in ends]) for call in calls]):
        raise ExportError(
            f"function @{name} calls itself elsewhere than at its end, which is no loop of ONNX"
        )
    fixed = tuple(
        [
            all([isinstance(call, Call) and call.args[k] is param for call in calls])
            for k, param in enumerate(function.params)
        ]
    )

    def following(end: Expr) -> Expr | None:
        if not isinstance(end, Call) or not _is_call(end, name):
            return None
        return Tuple(tuple([arg for arg, keeps in zip(end.args, fixed, strict=True) if not keeps]))

    again = _again(function.body, name)
    more = with_ends(function.body, following)
    done = with_ends(function.body, lambda end: None if _is_call(end, name) else end)
    if more is None or done is None or isinstance(again, bool):
        raise ExportError(f"function @{name} calls itself and never ends")
    return Loop(function.params, fixed, again, more, done)


def _again(body: Expr, name: str) -> Expr | bool:
    """Whether the body ends with a call of the function: a condition, or what it is in any case."""
    if not isinstance(body, If):
        return _is_call(body, name)
    then, otherwise = _again(body.then, name), _again(body.otherwise, name)
    if isinstance(then, bool) and isinstance(otherwise, bool):
        if then == otherwise:
            return then
        return body.condition if then else op.logical_not(body.condition)
    return If(body.condition, _condition(then), _condition(otherwise))


def _condition(given: Expr | bool) -> Expr:
    return const(given) if isinstance(given, bool) else given


def _is_call(node: Expr, name: str) -> bool:
    return isinstance(node, Call) and isinstance(node.op, GlobalVar) and node.op.name == name

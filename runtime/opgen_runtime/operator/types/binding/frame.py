"""The state of one binding: the names known so far, the assumptions made, and how its errors read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ....base.arith import eq, structural_equal, sub
from ....base.arith.expr import AnyDim, Binary, Const, Dim, Expr
from ....base.errors import OpgenError, ShapeError, UndecidedError, call_site, shown
from ....base.vocabulary import DType
from ..layout import Layout, check_layouts, parse_layout, to_canonical, to_stored
from ..recall import simplified
from ..relation import Assumption
from ..rules import Input, Output
from ..shapes import certainly_different, dim_text, prefer, shape_text
from ..signature import Signature
from ..type import TensorType

MISSING: Final = object()
# What a declared expression can raise on values that its declaration did not foresee.
EVALUATION_ERRORS: Final = (
    IndexError, KeyError, ValueError, TypeError, ZeroDivisionError, AttributeError, OverflowError, StopIteration,
)  # fmt: skip


class MismatchError(Exception):
    """Two values that must be equal and are not; turned into a user error by who knows the place."""


class RuleFailedError(Exception):
    """A declared expression that could not be evaluated; `error` is the user error to raise."""

    def __init__(self, error: OpgenError) -> None:
        super().__init__(str(error))
        self.error = error


class Frame:
    """One binding under way."""

    __slots__ = (
        "arg_names",
        "attrs",
        "groups",
        "names",
        "op_name",
        "refusing",
        "signature",
        "site",
        "spans",
        "undecided",
    )

    def __init__(
        self,
        signature: Signature,
        op_name: str,
        attrs: Any,
        groups: Sequence[Any],
        arg_names: Sequence[str | None] | None = None,
        site: object | None = None,
    ) -> None:
        self.signature = signature
        self.op_name = op_name
        self.attrs = attrs
        self.groups = groups
        self.arg_names = arg_names
        self.site = site
        self.undecided: list[Assumption] = []
        self.spans: dict[object, tuple[int, int]] = {}
        self.refusing: tuple[object, ...] = ()  # the steps that an error is due to
        self.names: dict[str, Any] = {} if attrs is None else attrs.as_dict()
        for declared, group in zip(signature.inputs, groups, strict=True):
            self.names[declared.name] = group if declared.layout is None else self.canonical(declared, group)

    # layouts

    def layouts(self, operand: Input | Output) -> tuple[Layout, Layout]:
        """The stored and the canonical layout of an operand that declares one."""
        assert operand.layout is not None
        attr, canonical = operand.layout
        stored = self.names[attr] or canonical
        try:
            layouts = parse_layout(stored), parse_layout(canonical)
            check_layouts(*layouts)
        except OpgenError as error:
            raise self.error(type(error), f"attr {attr!r}: {error}") from None
        return layouts

    def canonical(self, declared: Input, group: Any) -> Any:
        """The type(s) of an operand with the canonical shape."""
        if declared.layout is None:
            return group
        if isinstance(group, tuple):
            return tuple(self.canonical(declared, t) for t in group)
        if not isinstance(group, TensorType):
            return group
        stored, canonical = self.layouts(declared)
        if stored is canonical:
            return group
        try:
            return TensorType(to_canonical(group.shape, stored, canonical), group.dtype)
        except ShapeError as error:
            raise self.error(ShapeError, f"{self.argument(declared.name)} is {group}: {error}") from None

    def stored_shape(self, operand: Input | Output, shape: Sequence[Dim]) -> Sequence[Dim]:
        """A canonical shape of an operand in its stored layout."""
        if operand.layout is None:
            return shape
        stored, canonical = self.layouts(operand)
        try:
            return shape if stored is canonical else to_stored(shape, stored, canonical)
        except ShapeError as error:
            raise self.error(ShapeError, f"{operand.name!r} of shape {shape_text(shape)}: {error}") from None

    # values

    def evaluate(self, function: Any, needs: tuple[str, ...], what: str) -> Any:
        """The value of a declared expression. Raises RuleFailedError with the error to show, or UndecidedError."""
        names = self.names
        try:
            return function(*[names[name] for name in needs])
        except UndecidedError:
            raise
        except OpgenError as error:  # under no name here what is raised: it will hold this frame
            raise RuleFailedError(self._placed(error)) from error
        except EVALUATION_ERRORS as error:
            detail = f"cannot evaluate {what}: {error} ({type(error).__name__}){self.where(needs)}"
            raise RuleFailedError(self.error(ShapeError, detail)) from error

    def _placed(self, error: OpgenError) -> OpgenError:
        """The same error with the op's name and the call's place."""
        text = str(error)
        placed = type(error)(
            text if text.startswith(f"{self.op_name}: ") else f"{self.op_name}: {text}\n  at {self.place()}"
        )
        placed.__dict__.update(error.__dict__)  # such as its code, which diagnostics print
        return placed

    def merge(self, known: Any, found: Any, what: str) -> Any:
        """The one value of two that must be equal. Raises MismatchError where they cannot be.

        What the shapes alone do not decide is recorded as assumed.
        """
        if known is found:
            return known
        if isinstance(known, (tuple, list)) and isinstance(found, (tuple, list)):
            if len(known) != len(found):
                raise MismatchError
            return tuple(
                [self.merge(a, b, f"{what}[{k}]") for k, (a, b) in enumerate(zip(known, found, strict=True))]
            )
        if not isinstance(known, Expr) and not isinstance(found, Expr):
            if known != found:
                raise MismatchError
            return known
        if (
            not isinstance(known, (int, Expr))
            or not isinstance(found, (int, Expr))
            or certainly_different(known, found)
        ):
            raise MismatchError
        unknown = isinstance(known, AnyDim) or isinstance(found, AnyDim)
        if not unknown:
            apart = _difference(known, found)
            if apart == 0:
                return known
            if apart is not None:
                raise MismatchError
        text = f"{what}: {dim_text(known)} == {dim_text(found)}"
        self.undecided.append(Assumption(text, None if unknown else eq(known, found)))
        return prefer(known, found)

    # messages

    def place(self) -> str:
        return str(self.site) if self.site is not None else call_site()

    def error(self, kind: type[OpgenError], message: str) -> OpgenError:
        """A user error that names the op and the call's place."""
        return kind(f"{self.op_name}: {message}\n  at {self.place()}")

    def argument(self, name: str, element: int | None = None) -> str:
        """How messages call an operand: `argument 'data' (%x)`."""
        position = next(k for k, declared in enumerate(self.signature.inputs) if declared.name == name)
        given = self.arg_names[position] if self.arg_names and position < len(self.arg_names) else None
        return (
            f"argument {name!r}"
            + ("" if element is None else f"[{element}]")
            + (f" ({given})" if given else "")
        )

    def where(self, needs: Sequence[str]) -> str:
        """` with axis = 1, data: Tensor[(3, 3), float32]`: the values that a rule used."""
        values = [(name, self.names[name]) for name in needs if name in self.names]
        texts = [f"{name}{value_of(value)}" for name, value in values if not callable(value)]
        return f" with {', '.join(texts)}" if texts else ""


def _difference(a: Dim, b: Dim) -> int | None:
    """`a - b` where that is a number whatever the symbols' values are."""
    if isinstance(a, Expr) and isinstance(b, Expr) and structural_equal(a, b):
        return 0
    if not isinstance(a, Binary) and not isinstance(b, Binary):
        return None
    apart = simplified(sub(a, b))
    return int(apart.value) if isinstance(apart, Const) else None


def value_of(value: Any) -> str:
    """A name's value in a message, with its sign: `: Tensor[...]` for an operand, ` = 3` for the rest."""
    if isinstance(value, TensorType):
        return f": {value}"
    if isinstance(value, tuple) and value and isinstance(value[0], TensorType):
        return f": ({', '.join(map(str, value))})"
    if isinstance(value, tuple) and all(isinstance(v, (int, Expr)) for v in value):
        return f" = {shape_text(value)}"
    if isinstance(value, Expr):
        return f" = {dim_text(value)}"
    return f" = {value!s}" if isinstance(value, DType) else f" = {shown(value)}"

"""The steps of a binding: element types, patterns, bounds, `let`, `require`.

A step says which names it `needs` and which it `gives`; `run(frame)` takes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from ....base.arith.expr import Const, Expr
from ....base.errors import AttrError, DTypeError, OpgenError, ShapeError, UndecidedError
from ....base.vocabulary import DTYPE_CLASSES, DType
from ..recall import decided
from ..relation import Assumption
from ..rules import Bound, Input, Let, Require, needs_of
from ..signature import Signature
from ..type import TensorType
from .frame import Frame, MismatchError, value_of
from .patterns import Pattern, PatternEntry


class Step:
    """One step."""

    needs: frozenset[str] = frozenset()
    gives: frozenset[str] = frozenset()
    explains = False  # whether a failure of it says more than a failed evaluation elsewhere

    def ready(self, known: AbstractSet[str]) -> bool:
        return self.needs <= known

    @property
    def names(self) -> frozenset[str]:
        """The names whose values it looks at."""
        return self.needs

    def run(self, frame: Frame) -> None:
        raise NotImplementedError


def elements(frame: Frame, declared: Input) -> Iterator[tuple[int | None, TensorType]]:
    """The types of an operand: one, or those of a variadic one with their positions; none if it is absent."""
    group = frame.names[declared.name]
    if isinstance(group, tuple):
        yield from enumerate(group)
    elif group is not None:
        yield None, group


def allowed_dtypes(spec: str | tuple[str, ...]) -> tuple[DType, ...]:
    """The dtypes of a class, of a name, or of a tuple of them."""
    if isinstance(spec, tuple):
        return tuple(d for one in spec for d in allowed_dtypes(one))
    return DTYPE_CLASSES[spec] if spec in DTYPE_CLASSES else (DType(spec),)


class DTypeStep(Step):
    """Checks the element type of an operand and binds its dtype variable."""

    def __init__(self, signature: Signature, declared: Input) -> None:
        self.declared = declared
        spec = declared.dtype
        self.variable = spec if isinstance(spec, str) and spec in signature.dtypes else None
        self.spec = signature.dtypes[self.variable] if self.variable is not None else spec
        self.allowed = frozenset(allowed_dtypes(self.spec))
        self.needs = frozenset((declared.name,))
        self.gives = frozenset(() if self.variable is None else (self.variable,))

    def run(self, frame: Frame) -> None:
        group = frame.names[self.declared.name]
        if type(group) is TensorType:  # the common case, without a generator
            self._check(frame, None, group)
            return
        for element, t in elements(frame, self.declared):
            self._check(frame, element, t)

    def _check(self, frame: Frame, element: int | None, t: TensorType) -> None:
        dtype = t.dtype
        if dtype not in self.allowed:
            who = frame.argument(self.declared.name, element)
            raise frame.error(
                DTypeError, f"{who} has dtype {dtype}, expected {_class_text(self.spec)}; found {t}"
            )
        if self.variable is None:
            return
        known = frame.names.setdefault(self.variable, dtype)
        if known is None:
            frame.names[self.variable] = dtype
        elif known is not dtype:
            raise self._mixed(frame, element, t, known)

    def _mixed(self, frame: Frame, element: int | None, t: TensorType, known: DType) -> OpgenError:
        who = frame.argument(self.declared.name, element)
        first = f"dtype variable {self.variable}"
        for declared in frame.signature.inputs:
            if declared.dtype == self.variable and frame.names[declared.name] is not None:
                first = frame.argument(declared.name, 0 if declared.variadic else None)
                break
        return frame.error(
            DTypeError,
            f"{who} has dtype {t.dtype}, but {first} has dtype {known}; element types do not mix: "
            f'cast one of them, for example cast({self.declared.name}, "{known}")',
        )


def _class_text(spec: str | tuple[str, ...]) -> str:
    names = ", ".join(allowed_dtypes(spec))
    if isinstance(spec, str) and spec in DTYPE_CLASSES:
        return f"{spec} ({names})"
    return names if len(allowed_dtypes(spec)) == 1 else f"one of {names}"


class PatternStep(Step):
    """Matches an operand's shape."""

    def __init__(self, declared: Input, pattern: Pattern) -> None:
        self.declared, self.pattern = declared, pattern
        self.needs = frozenset((declared.name,))
        self.gives = pattern.binds

    def ready(self, known: AbstractSet[str]) -> bool:
        return self.needs <= known and self.pattern.unresolved(known) <= 1

    @property
    def names(self) -> frozenset[str]:
        return self.needs | self.pattern.names

    def run(self, frame: Frame) -> None:
        group = frame.names[self.declared.name]
        if type(group) is TensorType:
            self.pattern.match(frame, group, None)
            return
        for element, t in elements(frame, self.declared):
            self.pattern.match(frame, t, element)


class EquationStep(Step):
    """Checks one equation of a pattern that has been matched."""

    def __init__(self, declared: Input, pattern: Pattern, entry: PatternEntry) -> None:
        self.declared, self.pattern, self.entry = declared, pattern, entry
        self.needs = frozenset((declared.name, f"{declared.name}:matched", *entry.needs))

    @property
    def names(self) -> frozenset[str]:
        return self.needs | self.pattern.names

    def run(self, frame: Frame) -> None:
        for element, t in elements(frame, self.declared):
            self.pattern.check_equation(frame, self.entry, t, element)


class AbsentStep(Step):
    """Gives None to the names that only absent operands would bind."""

    def __init__(self, names: AbstractSet[str]) -> None:
        self.gives = frozenset(names)

    def run(self, frame: Frame) -> None:
        for name in self.gives:
            frame.names.setdefault(name, None)


class BoundStep(Step):
    """Checks the bounds of an attr, for a list those of each element."""

    explains = True

    def __init__(self, rule: Bound) -> None:
        self.rule = rule
        self.parameters = needs_of(rule.function)
        self.needs = frozenset((*self.parameters, rule.attr))

    def run(self, frame: Frame) -> None:
        rule, names = self.rule, frame.names
        value = names[rule.attr]
        if value is None:
            return
        if not isinstance(value, tuple):
            self._check(frame, value, value)
            return
        try:
            for item in value:
                names[rule.attr] = item
                self._check(frame, value, item)
        finally:
            names[rule.attr] = value

    def _check(self, frame: Frame, value: Any, item: Any) -> None:
        if decide(
            frame, self.rule.function, self.parameters, self.rule.text or f"bounds of {self.rule.attr}"
        ):
            return
        found = f"attr {self.rule.attr!r} is {value!r}" + (
            f" (element {item!r})" if value is not item else ""
        )
        others = frame.where([name for name in self.parameters if name != self.rule.attr])
        bound = self._bounds(frame)
        error = frame.error(AttrError, f"{found}, outside its bounds: {bound}{others}")
        raise AttrError(str(error), op=frame.op_name, attr=self.rule.attr, value=value, bound=bound)

    def _bounds(self, frame: Frame) -> str:
        """The whole declared text; the rule's own is only the part that needs inputs."""
        whole = (field.bounds for field in frame.attrs.fields() if field.name == self.rule.attr)
        return next(whole, None) or self.rule.text


class LetStep(Step):
    """Gives the names of a `let`."""

    def __init__(self, rule: Let) -> None:
        self.rule = rule
        self.parameters = needs_of(rule.function)
        self.needs = frozenset(self.parameters)
        self.gives = frozenset(rule.names)
        self.what = rule.text or f"let {', '.join(rule.names)}"

    def run(self, frame: Frame) -> None:
        try:
            value = frame.evaluate(self.rule.function, self.parameters, self.what)
        except UndecidedError as error:
            raise frame.error(UndecidedError, f"{self.what}: {error}{frame.where(self.parameters)}") from None
        if len(self.rule.names) == 1:
            frame.names[self.rule.names[0]] = value
        elif isinstance(value, tuple) and len(value) == len(self.rule.names):
            frame.names.update(zip(self.rule.names, value, strict=True))
        else:
            wanted = f"a tuple of {len(self.rule.names)}"
            raise frame.error(ShapeError, f"{self.what}: expected {wanted}, found{value_of(value)}")


class RequireStep(Step):
    """Checks a predicate, or equates a name with a value."""

    explains = True

    def __init__(self, rule: Require, fixed_names: AbstractSet[str], dtype_names: AbstractSet[str]) -> None:
        self.rule = rule
        self.parameters = needs_of(rule.function)
        self.needs = frozenset(self.parameters)
        self.gives = frozenset(() if rule.binds is None else (rule.binds,))
        self.what = rule.text or "a requirement"
        on_dtypes = ".dtype" in rule.text or bool(self.needs & dtype_names)
        only_attrs = bool(self.needs) and self.needs <= fixed_names and rule.binds is None
        self.kind: type[OpgenError] = AttrError if only_attrs else DTypeError if on_dtypes else ShapeError

    def run(self, frame: Frame) -> None:
        before = len(frame.undecided)
        self._require(frame)
        if self.rule.error is not None:
            own = [replace(each, error=self.rule.error) for each in frame.undecided[before:]]
            frame.undecided[before:] = own

    def verdict(self, frame: Frame) -> bool | None:
        """What a predicate says; None where that depends on extents that are symbols.  Raises like `Frame.evaluate`."""
        value = frame.evaluate(self.rule.function, self.parameters, self.what)
        if isinstance(value, Expr):
            return bool(value.value) if isinstance(value, Const) else None
        return bool(value)

    def _require(self, frame: Frame) -> None:
        rule, names = self.rule, frame.names
        if rule.binds is None:
            if not decide(frame, rule.function, self.parameters, self.what):
                raise self._broken(frame, frame.where(self.parameters))
            return
        try:
            value = frame.evaluate(rule.function, self.parameters, self.what)
        except UndecidedError as error:
            raise frame.error(UndecidedError, f"{self.what}: {error}{frame.where(self.parameters)}") from None
        if value is None:
            return
        if isinstance(value, list):
            value = tuple(value)
        known = names.get(rule.binds)
        if known is None:
            names[rule.binds] = value
            return
        try:
            names[rule.binds] = frame.merge(known, value, self.what)
        except MismatchError:
            found = f" with {rule.binds}{value_of(known)}, right-hand side{value_of(value)}"
            others = frame.where(self.parameters).replace(" with ", ", ", 1)
            raise self._broken(frame, found + others) from None

    def _broken(self, frame: Frame, found: str) -> OpgenError:
        message = self.rule.error or f"requires {self.what}"
        return frame.error(self.kind, f"{message}{';' if self.rule.error else ', found'}{found}")


def decide(frame: Frame, function: Any, parameters: tuple[str, ...], text: str) -> bool:
    """Whether a condition holds; what cannot be decided is assumed, and recorded."""
    try:
        value = frame.evaluate(function, parameters, text)
    except UndecidedError:
        frame.undecided.append(Assumption(text))
        return True
    if isinstance(value, Expr):
        if isinstance(value, Const):
            return bool(value.value)
        known = decided(value)  # dims are at least 0: that decides some
        if known is None:
            frame.undecided.append(Assumption(text, value))
        return known is not False
    return bool(value)

"""How operators are mapped: rules, by domain, operator and the opset from which they hold.

A mapping is a function whose signature says all that the front end needs:

    @converts("Reshape", since=5)
    def reshape(data: Expr, shape: Ints, *, allowzero: int = 0) -> Expr: ...

Positional parameters are the node's inputs.  `Expr` is an expression, `Ints` a tuple of ints, `Array` an array,
`Scalar` one Python number: a value that decides the program, a constant or specialised on at call time.  `Dims` and
`Dim` are `Ints` and `Scalar` that may be made of sizes, too, of which dims are open.  `Sequence` is a list of
expressions, `Texts` an array of strings, `Tensor` a tensor of any element type: an expression, a `Narrow` or `Texts`.
`... | None` says that the input may be absent; `*xs: Expr` takes any number.
Keyword-only parameters are the node's attributes, required where there is no default.  The annotation says which
values they have: `Literal[...]`, `Flag`, `Positive`, `Natural`, `Positives`, `Naturals`, or anything that the
operator's schema allows.  `node: NodeView` is the node itself.  Tables of renamed operators (`Rename`) are turned
into such functions.
"""

from __future__ import annotations

import inspect
from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final, TypeAlias, TypeVar

from ...base.errors import RegistryError
from ...base.vocabulary import dataclass
from ...ir import Expr
from .emit import op
from .narrow import Narrow
from .texts import Texts

F = TypeVar("F", bound=Callable[..., Any])

Flag: TypeAlias = int
"""An attribute that is 0 or 1; ONNX does not say what another number means."""
Positive: TypeAlias = int
Natural: TypeAlias = int
Positives: TypeAlias = "Sequence[int]"
Naturals: TypeAlias = "Sequence[int]"
"""Attributes with a lower bound of 1 or 0, on each of their numbers."""

_BOUNDS: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "Flag": ("0 or 1", lambda value: value in (0, 1)),
    "Positive": ("a number of at least 1", lambda value: value >= 1),
    "Natural": ("a number of at least 0", lambda value: value >= 0),
    "Positives": ("numbers of at least 1", lambda values: min(values, default=1) >= 1),
    "Naturals": ("numbers of at least 0", lambda values: min(values, default=0) >= 0),
}
Tensor: TypeAlias = "Expr | Narrow | Texts"
KINDS: Final = frozenset(
    {"Expr", "Tensor", "Texts", "Ints", "Dims", "Dim", "Array", "Scalar", "Sequence", "object"}
)


@dataclass(frozen=True, slots=True)
class InputRule:
    """One input: its name, what the conversion wants of it, and whether it may be absent."""

    name: str
    kind: str
    optional: bool


@dataclass(frozen=True, slots=True)
class AttributeRule:
    """One attribute: its default, REQUIRED where there is none, and the values that it may have."""

    default: object = None
    expected: str = ""
    allows: Callable[[Any], bool] | None = None

    def why_not(self, name: str, value: object) -> str | None:
        """Why the attribute cannot have this value; None if it can."""
        if self.allows is None or self.allows(value):
            return None
        return f"attribute {name!r} is {value!r:.80}, expected {self.expected}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A conversion and what its signature says.

    `folds`: what it gives for constants becomes one; else it stays what it is made of, for passes to see.
    """

    operator: str
    since: int
    convert: Callable[..., Any]
    inputs: tuple[InputRule, ...]
    rest: InputRule | None
    attributes: Mapping[str, AttributeRule]
    wants_node: bool
    ops: tuple[str, ...] = ()
    """The declared ops of a rename."""
    folds: bool = True


@dataclass(frozen=True, slots=True)
class Rename:
    """An operator that is a declared op under another name.

    `attributes`: ONNX name -> attr of the op (None: accepted and without effect); `fixed`: attrs always given;
    `defaults`: ONNX's defaults where they differ from the op's.  `chain`: a binary op
    that takes any number of operands.
    """

    operator: str
    op: str
    since: int = 1
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)
    fixed: Mapping[str, object] = field(default_factory=dict)
    arity: int = 1
    chain: bool = False


REQUIRED: Final = inspect.Parameter.empty
BODY: Final = "body"
"""What a conversion gives for a node that is left to the body of the operator's schema."""
_rules: Final[dict[tuple[str, str], list[Rule]]] = {}


def converts(operator: str, since: int = 1, domain: str = "", folds: bool = True) -> Callable[[F], F]:
    """Registers a function as the conversion of `operator` from opset `since` on."""

    def register(function: F) -> F:
        _add(domain, replace(_rule(operator, since, function), folds=folds))
        return function

    return register


def renames(table: Iterable[Rename], domain: str = "") -> None:
    """Registers a table of renamed operators."""
    for entry in table:
        wanted = {onnx: AttributeRule(entry.defaults.get(onnx)) for onnx in entry.attributes}
        inputs = tuple([InputRule(f"input {k}", "Expr", False) for k in range(entry.arity)])
        rest = InputRule("inputs", "Expr", False) if entry.chain else None
        _add(
            domain,
            Rule(
                entry.operator,
                entry.since,
                _renamed(entry),
                () if rest else inputs,
                rest,
                wanted,
                False,
                (entry.op,),
            ),
        )


def find(domain: str, operator: str, version: int) -> Rule | None:
    """The rule of an operator at an opset: the latest that holds there."""
    best = None
    for rule in _rules.get((domain, operator), ()):
        if rule.since <= version and (best is None or rule.since > best.since):
            best = rule
    return best


def mapped_operators(domain: str = "") -> list[str]:
    """The operators that have a rule."""
    return sorted([name for of, name in _rules if of == domain])


def _add(domain: str, rule: Rule) -> None:
    known = _rules.setdefault((domain, rule.operator), [])
    if any(other.since == rule.since for other in known):
        raise RegistryError(
            f"ONNX operator {domain or 'ai.onnx'}.{rule.operator} has a conversion from opset {rule.since} on already"
        )
    known.append(rule)


def _renamed(entry: Rename) -> Callable[..., Any]:
    def convert(*operands: Any, **attributes: Any) -> Any:
        attrs = dict(entry.fixed)
        for onnx, target in entry.attributes.items():
            value = attributes.get(onnx)
            if target is not None and value is not None:
                attrs[target] = value
        build = getattr(op, entry.op)
        if not entry.chain:
            return build(*operands, **attrs)
        result = operands[0]
        for operand in operands[1:]:
            result = build(result, operand, **attrs)
        return result

    return convert


def _rule(operator: str, since: int, function: Callable[..., Any]) -> Rule:
    inputs: list[InputRule] = []
    rest = None
    attributes: dict[str, AttributeRule] = {}
    wants_node = False
    for parameter in inspect.signature(function).parameters.values():
        written, _, absent = str(parameter.annotation).partition(" | ")
        kind = written.partition("[")[0]
        if parameter.kind is parameter.KEYWORD_ONLY:
            if parameter.name == "node":
                wants_node = True
            else:
                attributes[parameter.name] = _attribute_rule(written, parameter.default)
            continue
        assert kind in KINDS, f"{operator}: input {parameter.name!r} is annotated {parameter.annotation}"
        rule = InputRule(parameter.name, kind, absent == "None")
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = rule
        else:
            inputs.append(rule)
    return Rule(operator, since, function, tuple(inputs), rest, attributes, wants_node)


def _attribute_rule(written: str, default: object) -> AttributeRule:
    if written in _BOUNDS:
        return AttributeRule(default, *_BOUNDS[written])
    if not written.startswith("Literal["):
        return AttributeRule(default)
    choices = literal_eval(f"({written[8:-1]},)")
    return AttributeRule(default, f"one of {', '.join(map(repr, choices))}", choices.__contains__)

"""What a generated module states about its op."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from ..base.errors import RegistryError
from ..base.vocabulary import OpPattern, dataclass
from ..operator import AttrField, Attrs, Op, Signature


@dataclass(frozen=True, slots=True)
class StrategyEntry:
    """One entry of a declaration's `strategy:`.

    `schedule`: a function of `opgen_runtime.lower.library.schedules`, or `package.module:function`.  `kernel`:
    `package.module:kernel`, loop IR that computes the op where it takes the call's operands.  `target`: keys it is
    for, or features of an instruction set, "" for every target.  `when`: a condition whose parameter names say which
    names of the binding it needs; `when_text` is its source.  The applicable entry with the highest `plevel` is used.
    `layouts`: those that it would have the operands in, by layout attr.
    """

    name: str
    target: str = ""
    schedule: str = ""
    when: Callable[..., Any] | None = None
    when_text: str | None = None
    plevel: int = 10
    layouts: Mapping[str, str] = field(default_factory=dict, hash=False)
    kernel: str = ""


@dataclass(frozen=True, slots=True)
class Decomposition:
    """One entry of a declaration's `decompose:`: the ops that a call of known sizes becomes, where `when` holds.

    `into`: expressions of the operands to the result, a tuple of several; the names of its parameters say which names
    of the binding it needs, as those of `when` do, whose source is `when_text`.
    """

    into: Callable[..., Any]
    when: Callable[..., Any] | None = None
    when_text: str | None = None


@dataclass(frozen=True, slots=True)
class Upgrade:
    """One entry of a declaration's `upgrades:`: how a call of one version becomes one of the next.

    `inputs`: the operands that the version had, in order; None where they are those of the next.  `attrs`: the
    attrs that it had otherwise.  `becomes`: an operand or attr of the next version, from those of this one by name.
    `require`: a predicate of attrs, with its text.  `result`: what stands for the call, from the next version's
    results, too.  `extern`: `package.module:function(inputs, attrs)` gives both of the next version, by name.
    """

    inputs: tuple[str, ...] | None = None
    attrs: Mapping[str, AttrField] = field(default_factory=dict)
    becomes: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    require: tuple[Callable[..., Any], str] | None = None
    result: Callable[..., Any] | None = None
    extern: str | None = None


@dataclass(frozen=True, eq=False, slots=True)
class OpDeclaration:
    """One declared op, as its generated module writes it.

    `arity`: the number of operands, -1 if it varies.  `compute`: the index-level definition, or None where `extern`
    names a hand-written function `package.module:function(*arrays, **attrs)`, or `te` one of te tensors.  `traits`:
    plain data that passes read.  `gradients`: declared ones, by input, as functions of expressions;
    `decompositions`: other ops that calls become, by the first that applies.  `source`: the file of the declaration.
    `digest`: of the declaration with all that it extends.  `namespace`: the project's, "" for the built-in ops.
    `version`: a greater one for each change that broke callers; `upgrades`: by the version that is upgraded.
    `calls`: the ops that `compute` calls, by their names in the registry.
    Of a derived op `base` is the op whose derivative it is, and `derive` makes the tensors:
    `(binding, operands) -> tensors`.
    """

    name: str
    doc: str
    support_level: int
    arity: int
    attrs: type[Attrs] | None
    signature: Signature
    compute: Callable[..., None] | None
    extern: str | None
    pattern: OpPattern
    traits: Mapping[str, object] = field(default_factory=dict)
    gradients: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    strategy: tuple[StrategyEntry, ...] = ()
    source: str = ""
    digest: str = ""
    namespace: str = ""
    version: int = 1
    upgrades: Mapping[int, Upgrade] = field(default_factory=dict)
    te: str | None = None
    base: OpDeclaration | None = None
    derive: Callable[..., Any] | None = None
    calls: tuple[str, ...] = ()
    decompositions: tuple[Decomposition, ...] = ()

    @property
    def full_name(self) -> str:
        """The name in the registry."""
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


def called(name: str) -> OpDeclaration:
    """The declaration of an op that a compute function calls.  Raises RegistryError for one that is not declared."""
    found: OpDeclaration | None = Op.get(name).get_attr("declaration", None)
    if found is None:
        raise RegistryError(f"op {name!r} has no declaration, so that no other op can be made of it")
    return found

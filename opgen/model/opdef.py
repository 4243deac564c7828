"""A declaration as read: every expression parsed, no name resolved yet.

`analyse` turns an `OpDef` into a `CheckedOp`.  Texts that are still YAML nodes are checked there.
"""

from __future__ import annotations

from collections.abc import Mapping

from opgen_runtime.base.vocabulary import dataclass

from ..diagnostics import Place
from ..document import TextNode
from ..expression import syntax as s

ShapeTrees = tuple[s.Expression | s.Star, ...]


@dataclass(frozen=True, slots=True, eq=False)
class DTypeDef:
    """A dtype variable and what it may be."""

    name: str
    place: Place
    classes: tuple[TextNode, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LayoutDef:
    attr: TextNode
    canonical: TextNode


@dataclass(frozen=True, slots=True, eq=False)
class InputDef:
    name: str
    place: Place
    shape: ShapeTrees | None
    shape_text: str | None
    dtype: tuple[TextNode, ...]  # empty: any
    doc: str
    optional: bool
    variadic: bool
    layout: LayoutDef | None


@dataclass(frozen=True, slots=True, eq=False)
class AttrDef:
    name: str
    place: Place
    kind: str
    default: tuple[TextNode, ...] | None
    optional: bool
    bounds: s.Expression | None
    bounds_text: str | None
    doc: str
    values: tuple[str, ...] = ()  # of an enum


@dataclass(frozen=True, slots=True, eq=False)
class OutputDef:
    name: str
    place: Place
    shape: ShapeTrees
    shape_text: str
    dtype: s.Expression
    dtype_text: str
    doc: str
    variadic: tuple[s.Name, s.Expression] | None
    layout: LayoutDef | None


@dataclass(frozen=True, slots=True, eq=False)
class RequireDef:
    predicate: s.Expression
    text: str
    error: str | None


@dataclass(frozen=True, slots=True, eq=False)
class RelationDef:
    name: TextNode | None
    requires: tuple[RequireDef, ...]
    extern: TextNode | None


@dataclass(frozen=True, slots=True, eq=False)
class DynamicDef:
    name: str
    place: Place
    bound: s.Expression


@dataclass(frozen=True, slots=True, eq=False)
class StrategyDef:
    name: TextNode
    target: TextNode | None
    schedule: TextNode | None
    kernel: TextNode | None
    when: s.Expression | None
    when_text: str | None
    plevel: int
    layouts: Mapping[str, TextNode]


@dataclass(frozen=True, slots=True, eq=False)
class GradientDef:
    input: str
    place: Place
    text: TextNode


@dataclass(frozen=True, slots=True, eq=False)
class DecompositionDef:
    when: s.Expression | None
    when_text: str | None
    into: TextNode


@dataclass(frozen=True, slots=True, eq=False)
class SavedAttrDef:
    name: str
    place: Place
    kind: str
    default: tuple[TextNode, ...] | None
    optional: bool
    values: tuple[str, ...] = ()  # of an enum


@dataclass(frozen=True, slots=True, eq=False)
class UpgradeDef:
    """One entry of `upgrades:`.  `becomes`: each name with its place and text."""

    version: int
    place: Place
    inputs: tuple[TextNode, ...] | None
    attrs: tuple[SavedAttrDef, ...]
    require: TextNode | None
    becomes: tuple[tuple[str, Place, TextNode], ...]
    result: TextNode | None
    extern: TextNode | None


@dataclass(frozen=True, slots=True, eq=False)
class CaseDef:
    """One test: each name with its texts and the place of the name."""

    entries: tuple[tuple[str, Place, tuple[TextNode, ...]], ...]
    place: Place


@dataclass(frozen=True, slots=True, eq=False)
class OpDef:
    """One declaration, with all that it extends merged in."""

    name: str
    place: Place  # of the name
    doc: str
    support_level: int
    since: str | None
    version: int
    deprecated: str | None
    abstract: bool
    arity: int | None  # as declared
    arity_place: Place
    traits: Mapping[str, object]
    dtypes: tuple[DTypeDef, ...]
    inputs: tuple[InputDef, ...]
    attrs: tuple[AttrDef, ...]
    relation: RelationDef
    let: s.Block
    let_text: str
    outputs: tuple[OutputDef, ...]
    dynamic: tuple[DynamicDef, ...]
    compute: s.Block | None
    compute_text: str
    compute_place: Place
    extern: TextNode | None
    expression: TextNode | None  # of a function of te tensors
    pattern: TextNode | None
    strategy: tuple[StrategyDef, ...]
    gradients: tuple[GradientDef, ...]
    decompositions: tuple[DecompositionDef, ...]
    upgrades: tuple[UpgradeDef, ...]  # from the oldest version
    reference: TextNode | None
    tests: tuple[CaseDef, ...]
    lost: frozenset[str]  # names that statements which could not be read would have bound
    partial: frozenset[str]  # keys of which something could not be read ("inputs", "let", "compute", ...)
    path: str
    document: int
    extends: tuple[str, ...]
    digest: str

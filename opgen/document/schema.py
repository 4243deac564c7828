"""The document model: which keys a declaration may have, and what each holds.

`opgen schema` prints the JSON Schema of this very model, and `validate.py` reads documents with it.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from .fields import EmptyIsMapping, Extern, Filled, Flag, OneOrMany, OpName, Text, Texts, Whole, choice
from .kinds import KINDS
from .node import TextNode

AttrKind = Annotated[TextNode, *choice(KINDS)]
Pattern = Annotated[
    TextNode,
    *choice(("elemwise", "broadcast", "injective", "comm_reduce", "out_elemwise_fusable", "tuple", "opaque")),
]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class LayoutPart(_Part):
    """The storage order of an operand, given by an attr; patterns and indices are canonical."""

    attr: Filled
    canonical: Filled


class InputPart(_Part):
    """One operand."""

    shape: Text | None = Field(None, description="A shape pattern such as `*A, M, K`; without it any shape.")
    dtype: Texts | None = Field(
        None, description="A dtype, a dtype class, a dtype variable, or a list of dtypes."
    )
    doc: Text | None = None
    optional: Flag = False
    variadic: Flag = False
    layout: LayoutPart | None = None


class AttrPart(_Part):
    """One attribute."""

    type: AttrKind | None = None
    default: Texts | None = Field(None, description="Without it the attr must be given.")
    bounds: Filled | None = Field(None, description="A chained comparison or a membership.")
    doc: Text | None = None
    optional: Flag = Field(False, description="Admits None.")


class OutputPart(_Part):
    """One result."""

    shape: Text | None = Field(None, description="A shape such as `*A, M, N` or `data.shape`.")
    dtype: Text | None = Field(
        None, description="A dtype, a dtype variable or an expression such as `data.dtype`."
    )
    doc: Text | None = None
    variadic: Filled | None = Field(None, description="`j in range(E)`: a group of E tensors.")
    layout: LayoutPart | None = None


class RequirePart(_Part):
    """A predicate with its own error text."""

    require: Filled
    error: Filled | None = None


def _require(value: object) -> object:
    return {"require": value} if isinstance(value, TextNode) else value


class RelationPart(_Part):
    """A built-in relation and further predicates, or a hand-written function."""

    name: Filled | None = None
    require: Annotated[list[Annotated[RequirePart, BeforeValidator(_require)]], OneOrMany] = []
    error: Filled | None = None
    python: Extern | None = None


class StrategyPart(_Part):
    """One implementation."""

    name: Filled
    target: Filled | None = None
    schedule: Filled
    when: Filled | None = None
    plevel: Whole = 10


class GradientPart(_Part):
    """What is said of a gradient that is derived."""

    domain: Filled | None = Field(None, description="Where it is tested: `data > 0`, `-1 < a < 1 and b > 0`.")
    ties: Annotated[TextNode, *choice(("first", "shared"))] | None = Field(
        None, description="Which of equal extrema get it: all, in equal parts, or the first."
    )
    none: Filled | None = Field(None, description="Why there is none.")


def _compute(value: object) -> object:
    return {"text": value} if isinstance(value, TextNode) else value


def _relation(value: object) -> object:
    return {"name": value} if isinstance(value, TextNode) else value


class ComputePart(_Part):
    """The definition: text of the compute language, or an extern: a function of arrays, or of te tensors."""

    text: Filled | None = None
    python: Extern | None = None
    te: Extern | None = None


class DeclarationPart(_Part):
    """One op declaration."""

    op: OpName
    doc: Text | None = None
    support_level: Whole = 10
    arity: Whole | None = Field(None, description="Checked against the inputs; -1 is variadic.")
    since: Filled | None = None
    version: Whole = Field(1, description="A new one for each change that breaks callers.")
    extends: OpName | None = Field(
        None, description="Take over another declaration; keys given here replace its."
    )
    abstract: Flag = Field(False, description="Only a base of others; nothing is generated.")
    operator: Filled | None = Field(None, description='The Python operator that calls this op, such as "+".')
    traits: Annotated[dict[str, Any], EmptyIsMapping] = {}
    dtypes: Annotated[dict[str, Texts], EmptyIsMapping] = {}
    inputs: Annotated[dict[str, Annotated[InputPart, EmptyIsMapping]], EmptyIsMapping] = {}
    attrs: Annotated[dict[str, Annotated[AttrPart, EmptyIsMapping]], EmptyIsMapping] = {}
    type_relation: Annotated[RelationPart, BeforeValidator(_relation)] | None = None
    let: Filled | None = None
    outputs: Annotated[dict[str, Annotated[OutputPart, EmptyIsMapping]], EmptyIsMapping] = {}
    dynamic: Annotated[dict[str, Filled], EmptyIsMapping] = {}
    compute: Annotated[ComputePart, BeforeValidator(_compute)] | None = None
    pattern: Pattern | None = Field(None, description="An assertion; the pattern is derived.")
    strategy: list[StrategyPart] = []
    grad: Annotated[dict[str, Filled], EmptyIsMapping] = {}
    gradient: Annotated[GradientPart, EmptyIsMapping] | None = None
    reference: Filled | None = None
    tests: list[dict[str, Texts]] = []
    deprecated: Filled | None = None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of one declaration."""
    schema = DeclarationPart.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "opgen op declaration"
    return schema

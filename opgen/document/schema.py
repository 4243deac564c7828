"""The document model: which keys a declaration may have, and what each holds.

`opgen schema` prints the JSON Schema of this very model, and `validate.py` reads documents with it.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from .fields import (
    EmptyIsMapping,
    Extern,
    Filled,
    Flag,
    OneOrMany,
    OpName,
    ShapeText,
    Text,
    Texts,
    Whole,
    choice,
)
from .kinds import KINDS
from .node import TextNode

KindName = Annotated[TextNode, *choice(KINDS)]
Pattern = Annotated[
    TextNode,
    *choice(("elemwise", "broadcast", "injective", "comm_reduce", "out_elemwise_fusable", "tuple", "opaque")),
]


class _Part(BaseModel):
    # Built when the whole declaration is first read: parts are built in it, and none by itself.
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, defer_build=True)


class LayoutPart(_Part):
    """The storage order of an operand, given by an attr; patterns and indices are canonical."""

    attr: Filled = Field(description="The attr that holds the layout.", examples=["layout"])
    canonical: Filled = Field(description="The order of patterns and indices.", examples=["NCHW"])


class InputPart(_Part):
    """One operand."""

    shape: ShapeText | None = Field(
        None, description="A shape pattern; without it any shape.", examples=["*A, M, K", "N, 2 * N"]
    )
    dtype: Texts | None = Field(
        None,
        description="A dtype, a dtype class, a dtype variable, or a list of dtypes.",
        examples=["float", "T", "[float32, float64]"],
    )
    doc: Text | None = Field(None, description="A sentence for the documentation.", examples=["The logits."])
    optional: Flag = Field(
        False, description="The operand may be left out: it is None then.", examples=[True]
    )
    variadic: Flag = Field(False, description="Any number of tensors, as one operand.", examples=[True])
    layout: LayoutPart | None = Field(
        None,
        description="The storage order, where an attr gives it.",
        examples=["{attr: layout, canonical: NCHW}"],
    )


class AttrPart(_Part):
    """One attribute."""

    type: KindName | None = Field(None, description="The kind of its values.", examples=["int", "floats"])
    default: Texts | None = Field(
        None, description="Without it the attr must be given.", examples=["0", "[1, 1]"]
    )
    bounds: Filled | None = Field(
        None,
        description="A chained comparison or a membership.",
        examples=["0 <= axis < data.ndim", 'mode in ("mean", "sum")'],
    )
    values: list[Text] | None = Field(
        None, description="The texts that an enum may be.", examples=["[mean, sum]"]
    )
    doc: Text | None = Field(None, description="A sentence for the documentation.", examples=["The axis."])
    optional: Flag = Field(False, description="Admits None.", examples=[True])


class OutputPart(_Part):
    """One result."""

    shape: ShapeText | None = Field(
        None, description="The dims, or an expression of a shape.", examples=["*A, M, N", "data.shape"]
    )
    dtype: Text | None = Field(
        None, description="A dtype, a dtype variable or an expression.", examples=["T", "data.dtype"]
    )
    doc: Text | None = Field(None, description="A sentence for the documentation.", examples=["The sums."])
    variadic: Filled | None = Field(
        None, description="A group of as many tensors.", examples=["j in range(parts)"]
    )
    layout: LayoutPart | None = Field(
        None,
        description="The storage order, where an attr gives it.",
        examples=["{attr: layout, canonical: NCHW}"],
    )


class RequirePart(_Part):
    """A predicate with its own error text."""

    require: Filled = Field(description="What must hold of shapes and attrs.", examples=["M % groups == 0"])
    error: Filled | None = Field(
        None, description="What the error says instead.", examples=["the channels are not divisible"]
    )


def _require(value: object) -> object:
    return {"require": value} if isinstance(value, TextNode) else value


class RelationPart(_Part):
    """A built-in relation and further predicates, or a hand-written function."""

    name: Filled | None = Field(None, description="A relation that is built in.", examples=["broadcast"])
    require: Annotated[list[Annotated[RequirePart, BeforeValidator(_require)]], OneOrMany] = Field(
        [], description="What must hold of shapes and attrs.", examples=["M % groups == 0"]
    )
    error: Filled | None = Field(
        None, description="What the error says instead.", examples=["the channels are not divisible"]
    )
    python: Extern | None = Field(
        None, description="A function that decides the types.", examples=["myops.relations:spread"]
    )


class StrategyPart(_Part):
    """One implementation."""

    name: Filled = Field(description="What the implementation is called.", examples=["small_rows"])
    target: Filled | None = Field(
        None,
        description="Keys or features of the target it is for; all without it.",
        examples=["x86", "avx512f"],
    )
    schedule: Filled | None = Field(
        None,
        description="A schedule of the library, or a function.",
        examples=["reduce", "myops.schedules:rows"],
    )
    kernel: Filled | None = Field(
        None, description="A kernel written by hand, instead.", examples=["myops.kernels:product"]
    )
    when: Filled | None = Field(None, description="When it applies.", examples=["K <= 64"])
    plevel: Whole = Field(10, description="The greatest that applies is used.", examples=[15])
    layouts: Annotated[dict[str, Filled], EmptyIsMapping] = Field(
        {},
        description="The layouts that it would have the operands in, by layout attr.",
        examples=["{data_layout: NHWC}"],
    )


class DecomposePart(_Part):
    """Other ops that a call of known sizes becomes."""

    when: Filled | None = Field(None, description="For which sizes and attrs.", examples=["N > 64"])
    into: Filled = Field(
        description="Lines `name = ...` of calls of ops, which bind the results.",
        examples=["out = matmul(a, b)"],
    )


class GradientPart(_Part):
    """What is said of a gradient that is derived."""

    domain: Filled | None = Field(
        None, description="Where it is tested.", examples=["data > 0", "-1 < a < 1 and b > 0"]
    )
    ties: Annotated[TextNode, *choice(("first", "shared"))] | None = Field(
        None,
        description="Which of equal extrema get it: all, in equal parts, or the first.",
        examples=["first"],
    )
    none: Filled | None = Field(
        None, description="Why there is none.", examples=["The result is a position."]
    )


class SavedAttrPart(_Part):
    """One attribute as an older version had it."""

    type: KindName = Field(description="The kind of its values.", examples=["int"])
    default: Texts | None = Field(None, description="What it was where nothing was said.", examples=["0"])
    optional: Flag = Field(False, description="Admitted None.", examples=[True])
    values: list[Text] | None = Field(
        None, description="The texts that an enum was.", examples=["[mean, sum]"]
    )


class UpgradePart(_Part):
    """How a call that one version saved becomes one of the next."""

    inputs: list[Filled] | None = Field(
        None, description="The operands that the version had, in order.", examples=["[x, y]"]
    )
    attrs: Annotated[dict[str, SavedAttrPart], EmptyIsMapping] = Field(
        {},
        description="The attributes that it had otherwise.",
        examples=["{exponent: {type: int, default: 1}}"],
    )
    require: Filled | None = Field(
        None, description="Only calls where this holds are upgraded.", examples=["mode == 'sum'"]
    )
    becomes: Annotated[dict[str, Filled], EmptyIsMapping] = Field(
        {},
        description="Attrs and operands of the next version: expressions of attrs, and calls of ops.",
        examples=["{power: 2 * exponent}", "{bias: zeros_like(x)}"],
    )
    result: Filled | None = Field(
        None, description="What stands for the call: calls of ops.", examples=["negative(out)"]
    )
    python: Extern | None = Field(
        None, description="A function of operands and attrs by name.", examples=["myops.upgrades:from_first"]
    )


def _compute(value: object) -> object:
    return {"text": value} if isinstance(value, TextNode) else value


def _relation(value: object) -> object:
    return {"name": value} if isinstance(value, TextNode) else value


class ComputePart(_Part):
    """The definition: text of the compute language, or an extern: a function of arrays, or of te tensors."""

    text: Filled | None = Field(
        None, description="Definitions by indices.", examples=["out[*i] = exp(x[*i])"]
    )
    python: Extern | None = Field(
        None, description="A hand-written function of arrays.", examples=["myops.sorting:sort"]
    )
    te: Extern | None = Field(
        None, description="A hand-written function of te tensors.", examples=["myops.tensors:product"]
    )


class DeclarationPart(_Part):
    """One op declaration."""

    op: OpName = Field(description="The op's name, in snake_case.", examples=["axis_abs"])
    doc: Text | None = Field(
        None,
        description="What the op computes, in a sentence.",
        examples=["The sum of `data` along an axis."],
    )
    support_level: Whole = Field(10, description="Relay's level of support, 1 to 10.", examples=[3])
    arity: Whole | None = Field(None, description="Checked against the inputs; -1 is variadic.", examples=[2])
    since: Filled | None = Field(
        None, description="The version of the project that had it first.", examples=["1.2"]
    )
    version: Whole = Field(1, description="A new one for each change that breaks callers.", examples=[2])
    upgrades: Annotated[dict[str, Annotated[UpgradePart, EmptyIsMapping]], EmptyIsMapping] = Field(
        {},
        description="How calls of each older version become ones of the next.",
        examples=["{1: {becomes: {power: 2 * exponent}}}"],
    )
    extends: OpName | None = Field(
        None, description="Take over another declaration; keys given here replace its.", examples=["relu"]
    )
    abstract: Flag = Field(False, description="Only a base of others; nothing is generated.", examples=[True])
    operator: Filled | None = Field(
        None, description="The Python operator that calls this op.", examples=["+"]
    )
    traits: Annotated[dict[str, Any], EmptyIsMapping] = Field(
        {}, description="Plain data that passes read.", examples=["{self_inverse: true}"]
    )
    dtypes: Annotated[dict[str, Texts], EmptyIsMapping] = Field(
        {},
        description="Dtype variables, which stand for one dtype in a call.",
        examples=["{T: [float32, int32]}"],
    )
    inputs: Annotated[dict[str, Annotated[InputPart, EmptyIsMapping]], EmptyIsMapping] = Field(
        {}, description="The operands, in order.", examples=['{data: {shape: "N, M", dtype: float}}']
    )
    attrs: Annotated[dict[str, Annotated[AttrPart, EmptyIsMapping]], EmptyIsMapping] = Field(
        {}, description="The attributes, in order.", examples=["{axis: {type: int, default: 0}}"]
    )
    type_relation: Annotated[RelationPart, BeforeValidator(_relation)] | None = Field(
        None, description="What must hold of types beyond the patterns.", examples=["{require: M % 2 == 0}"]
    )
    let: Filled | None = Field(
        None, description="Static values with names.", examples=["rest = data.shape[:axis]"]
    )
    outputs: Annotated[dict[str, Annotated[OutputPart, EmptyIsMapping]], EmptyIsMapping] = Field(
        {}, description="The results, in order.", examples=["{out: {shape: data.shape, dtype: data.dtype}}"]
    )
    dynamic: Annotated[dict[str, Filled], EmptyIsMapping] = Field(
        {}, description="Dims that values of operands decide, with their bounds.", examples=["{L: N}"]
    )
    compute: Annotated[ComputePart, BeforeValidator(_compute)] | None = Field(
        None, description="What each element is.", examples=["out[*i] = exp(data[*i])"]
    )
    composed: Filled | None = Field(
        None,
        description="What the results are of whole tensors, by calls of ops and operators.",
        examples=["where(x > 0, x, alpha * expm1(x))"],
    )
    pattern: Pattern | None = Field(
        None, description="An assertion; the pattern is derived.", examples=["elemwise"]
    )
    strategy: list[StrategyPart] = Field(
        [], description="Implementations, with conditions.", examples=["[{name: rows, schedule: reduce}]"]
    )
    decompose: list[DecomposePart] = Field(
        [],
        description="Other ops that a call of known sizes becomes; the first that applies.",
        examples=["[{when: N > 64, into: out = matmul(a, b)}]"],
    )
    grad: Annotated[dict[str, Filled], EmptyIsMapping] = Field(
        {}, description="Gradients in terms of ops, by input.", examples=["{data: grad * out}"]
    )
    gradient: Annotated[GradientPart, EmptyIsMapping] | None = Field(
        None, description="What is said of a gradient that is derived.", examples=["{ties: first}"]
    )
    reference: Filled | None = Field(
        None, description="The same in numpy; it runs in tests only.", examples=["out = np.exp(data)"]
    )
    tests: list[dict[str, Texts]] = Field(
        [],
        description="Calls: operands as `dtype[dims]`, attrs.",
        examples=['[{data: "float32[3, 4]", axis: 1}]'],
    )
    deprecated: Filled | None = Field(
        None, description="A notice for the documentation.", examples=["Use `softmax`."]
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema of one declaration."""
    schema = DeclarationPart.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "opgen op declaration"
    return schema

"""What analysis has proved about one declaration: everything that views, templates and commands print.

A `CheckedOp` holds no YAML and no syntax tree of the language any more.  Code is carried as Python `ast` trees
that are already translated (calls of `_l.<name>` are functions of `opgen_runtime.compute.lang`, `_b` is `builtins`,
`_d` is `opgen_runtime.declaration.statement`, `_np` is numpy and `_math` is math), with the line and column of the
YAML source on every node:

    ast.Lambda        one expression; its parameter NAMES say which bound names it needs
    ast.FunctionDef   `compute` and `reference`, complete but for the docstring (see `CheckedOp.formula`)

All values are immutable in use: a view copies what it wants to change.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import field

from opgen_runtime.base.vocabulary import OpPattern, dataclass

from ..diagnostics import Place
from ..document.kinds import AttrValue


@dataclass(frozen=True, slots=True)
class CheckedBound:
    """`bounds:` of one attr.  The whole text documents; the two parts are checked at different times."""

    text: str  # as declared, one line: "0 <= axis < data.ndim"
    check: (
        ast.Lambda | None
    )  # `lambda <attr>, attrs: ...`: the part without inputs; other attrs are `attrs.<name>`
    check_text: str | None  # the text of that part: "0 <= axis"
    function: ast.Lambda | None  # `lambda <attr>, data, ...: ...`: the rest, a rule of the type relation
    function_text: str | None  # the text of the rest: "axis < data.ndim"


@dataclass(frozen=True, slots=True)
class CheckedAttr:
    """One attr.  On a list kind a bound holds for each element; None (optional) passes every bound."""

    name: str
    kind: str  # one of document.kinds.KINDS
    required: bool  # no default
    default: AttrValue  # normalised to the kind (ints: a tuple); None where required
    optional: bool  # admits None
    bound: CheckedBound | None
    choices: (
        tuple[AttrValue, ...] | None
    )  # of `bounds: mode in ("a", "b")` with literals only, for documentation; the values of an enum
    doc: str
    place: Place

    @property
    def values(self) -> tuple[AttrValue, ...]:
        """The values of an enum, which are its bounds; of another kind none."""
        return self.choices or () if self.kind == "enum" else ()


@dataclass(frozen=True, slots=True)
class StaticEntry:
    """A shape entry that is computed: `Static(lambda C, groups: C // groups)`, or `Spread` of a tuple."""

    function: ast.Lambda
    spread: bool  # starred: the value is a tuple
    text: str  # "C // groups", "*broadcast(A, B)"


ShapeEntry = str | int | StaticEntry
"""One entry of a shape: a name that binds or is read ("M", "*A"), a literal, or a computed entry."""


@dataclass(frozen=True, slots=True)
class LayoutView:
    """`layout: {attr: data_layout, canonical: NCHW}`: the storage order that an attr gives."""

    attr: str
    canonical: str


@dataclass(frozen=True, slots=True)
class CheckedInput:
    """One operand.  `shape` None: any shape."""

    name: str
    shape: tuple[ShapeEntry, ...] | None
    shape_text: str | None  # as declared, for documentation
    dtype: str | tuple[str, ...]  # a dtype, a dtype class, a dtype variable, or a tuple of dtypes
    doc: str
    optional: bool
    variadic: bool
    layout: LayoutView | None
    place: Place


@dataclass(frozen=True, slots=True)
class CheckedOutput:
    """One result.

    `shape` is a tuple of entries, or a lambda that gives the whole tuple, or text `"<input>.shape"` for exactly
    an input's shape (so that it runs backwards).  `dtype` is a dtype, a dtype variable, text `"<input>.dtype"`,
    or a lambda.  `variadic` is a lambda that gives the number of tensors; `variadic_index` is then the
    leading parameter of `shape` and `dtype` lambdas (the position in the group).
    """

    name: str
    shape: tuple[ShapeEntry, ...] | ast.Lambda | str
    shape_text: str
    dtype: str | ast.Lambda
    dtype_text: str
    doc: str
    variadic: ast.Lambda | None
    variadic_index: str | None
    layout: LayoutView | None
    place: Place


@dataclass(frozen=True, slots=True)
class BoundRule:
    """`Bound(attr, function, text)`."""

    attr: str
    function: ast.Lambda
    text: str


@dataclass(frozen=True, slots=True)
class LetRule:
    """`Let(names, function)`: one statement of `let:`.  With one name the lambda gives the value itself.

    A `def` of `let:` is such a rule too; its value is a function.
    """

    names: tuple[str, ...]
    function: ast.Lambda
    text: str


@dataclass(frozen=True, slots=True)
class RequireRule:
    """`Require(function, text, error=..., binds=...)`: a predicate; `require: F == e` may bind `F`.

    When `binds` is a name, `function` gives the value of the right side and is compared if the name is known.
    """

    function: ast.Lambda
    text: str
    error: str | None
    binds: str | None


Rule = BoundRule | LetRule | RequireRule


@dataclass(frozen=True, slots=True)
class CheckedSignature:
    """The arguments of `Signature(...)`, in order."""

    inputs: tuple[CheckedInput, ...]
    rules: tuple[Rule, ...]
    outputs: tuple[CheckedOutput, ...]
    dtypes: Mapping[str, str | tuple[str, ...]]  # dtype variable -> dtype class, dtype or tuple of dtypes
    dynamic: Mapping[str, ast.Lambda]  # data-dependent dim -> its storage bound
    relation: str | None  # a built-in relation named by `type_relation:`
    relation_extern: str | None  # `package.module:function`


@dataclass(frozen=True, slots=True)
class CheckedStrategy:
    """One entry of `strategy:`."""

    name: str
    target: str
    schedule: str  # a function of `opgen_runtime.lower.library.schedules`, or `package.module:function`; "" of a kernel
    kernel: str  # `package.module:kernel`, or ""
    when: ast.Lambda | None
    when_text: str | None
    plevel: int
    layouts: Mapping[str, str]  # layout attr -> the layout that it asks for


@dataclass(frozen=True, slots=True)
class CheckedCase:
    """One entry of `tests:`.

    `inputs` maps each operand to `"int32[4, 4, 1]"`, to None (an absent optional), or to a tuple of texts (a
    variadic).  A text may end in a range of values: `"int64[3] in 0..4"` (0 <= value < 4).
    """

    inputs: Mapping[str, str | tuple[str, ...] | None]
    attrs: Mapping[str, AttrValue]
    place: Place


@dataclass(frozen=True, slots=True)
class BoundProbe:
    """Values of an attr on both sides of one end of its bound, for one case."""

    case: int  # position in `CheckedOp.tests`
    attr: str
    inside: AttrValue
    outside: AttrValue
    accepted: bool = True  # whether the call with the value inside fits otherwise


@dataclass(frozen=True, slots=True)
class Refusal:
    """A case that the type relation refuses, and the class of the error."""

    case: CheckedCase
    error: str


@dataclass(frozen=True, slots=True)
class Inference:
    """The operands that follow from the rest of a call and its result."""

    alone: tuple[str, ...] = ()  # while no other operand is unknown
    together: tuple[str, ...] = ()  # while all operands are unknown


@dataclass(frozen=True, slots=True)
class CheckedGradient:
    """The declared gradient for one input, in terms of ops."""

    input: str
    function: ast.Lambda
    text: str


@dataclass(frozen=True, slots=True)
class CheckedFormulas:
    """What the example of an op computes, in LaTeX; nothing where that is no formula."""

    value: str | None = None
    gradients: Mapping[str, str | None] = field(default_factory=dict)  # of operands whose adjoint is derived


@dataclass(frozen=True, slots=True)
class CheckedDecomposition:
    """An entry of `decompose:`: `def decompose_<k>(a, ..., N)` gives the results, in terms of ops."""

    when: ast.Lambda | None
    when_text: str | None
    into: ast.FunctionDef


@dataclass(frozen=True, slots=True)
class CheckedUpgrade:
    """The arguments of `Upgrade(...)`, and the version that is upgraded."""

    version: int
    inputs: tuple[str, ...] | None
    attrs: tuple[CheckedAttr, ...]
    becomes: Mapping[str, ast.Lambda]
    require: tuple[ast.Lambda, str] | None
    result: ast.Lambda | None
    extern: str | None


@dataclass(frozen=True, slots=True)
class CheckedCallee:
    """An op that a `compute` calls: what a call binds, and what it expands to."""

    name: str
    full_name: str  # in the registry
    attrs: tuple[CheckedAttr, ...]
    signature: CheckedSignature
    compute: ast.FunctionDef | None  # None: an extern


@dataclass(frozen=True, slots=True)
class CheckedOp:
    """One op, checked."""

    name: str
    doc: str
    support_level: int
    since: str | None
    deprecated: str | None  # the message
    arity: int  # number of operands; -1 variadic
    attrs: tuple[CheckedAttr, ...]
    signature: CheckedSignature
    compute: ast.FunctionDef | None  # `def compute(data: _d.Any, ..., out: _d.Any) -> None`; None: an extern
    extern: str | None  # `package.module:function` of an extern
    expression: str | None  # the same of a function of te tensors
    formula: str  # the compute text as declared, without the final newline, for docstrings and documentation
    let_text: str  # the `let:` text as declared
    reference: (
        ast.FunctionDef | None
    )  # `def reference(data, axis, ...)`: all inputs, then all attrs; returns outputs
    tests: tuple[CheckedCase, ...]
    probes: tuple[BoundProbe, ...]
    traits: Mapping[str, object]  # plain data; `operator: "+"` is the trait "operator"
    strategy: tuple[CheckedStrategy, ...]  # empty: the generic one of the pattern
    gradients: tuple[CheckedGradient, ...]
    gradient_kinds: Mapping[str, str]  # operand -> gather, update, override, zero or none with the reason
    pattern: OpPattern
    pattern_reason: str
    family: str  # the folder under opdefs, "" at the top
    source: str  # path of the file, as given to `check_project`
    document: int  # which document of that file, from 0
    line: int  # of `op:`
    extends: tuple[str, ...]  # names of all ancestors, nearest first
    digest: str  # hex sha256 of the declaration with all that it extends
    sampled: tuple[
        CheckedCase, ...
    ] = ()  # further cases for the suite: other shapes, dtypes and attrs that fit
    example_number: int = 0  # of the test that documentation shows
    formulas: CheckedFormulas = field(default_factory=CheckedFormulas)
    refused: tuple[Refusal, ...] = ()  # cases of a wrong dtype or shape
    version: int = 1  # a new one for each change that breaks callers
    upgrades: tuple[CheckedUpgrade, ...] = ()  # from the oldest version
    decompositions: tuple[CheckedDecomposition, ...] = ()
    calls: tuple[str, ...] = ()  # the ops that `compute` calls, by their names in the registry
    callees: Mapping[str, CheckedCallee] = field(
        default_factory=dict
    )  # these and what they call, by these names
    inferred: tuple[Inference, ...] = ()  # of `tests` and `sampled`; empty for a hand-written type relation

    @property
    def gradient_texts(self) -> Mapping[str, str]:
        """What is said of the gradient for each float operand."""
        return {
            name: f"derived ({kind})" if kind in ("gather", "update") else kind
            for name, kind in self.gradient_kinds.items()
        }

    @property
    def example(self) -> CheckedCase | None:
        """The test that documentation shows."""
        return self.tests[self.example_number] if self.tests else None

    @property
    def inputs(self) -> tuple[CheckedInput, ...]:
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[CheckedOutput, ...]:
        return self.signature.outputs

    @property
    def externs(self) -> tuple[str, ...]:
        """Every `python:` and `te:` reference of the declaration."""
        schedules = (entry.schedule for entry in self.strategy if ":" in entry.schedule)
        kernels = (entry.kernel for entry in self.strategy if entry.kernel)
        upgrades = (each.extern for each in self.upgrades)
        found = (
            self.extern,
            self.expression,
            self.signature.relation_extern,
            *schedules,
            *kernels,
            *upgrades,
        )
        return tuple(extern for extern in found if extern is not None)

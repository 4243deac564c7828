"""`reference:`: a checked subset of Python statements over numpy, emitted again from its syntax tree.

Only nodes that are rebuilt here reach the generated suite.  There is no import, no attribute or function that is
not listed, no name that begins with `_`, nothing that touches files and no loop but `for`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from typing import Any, Final

from ..diagnostics import Diagnostics, Place, did_you_mean
from ..document import TextNode
from .convert import Rejected
from .text import Text, make_text, parse_python
from .translate import at, make_arguments, name

_BUILTINS: Final = frozenset(
    [
        "abs",
        "all",
        "any",
        "bool",
        "dict",
        "divmod",
        "enumerate",
        "float",
        "int",
        "len",
        "list",
        "max",
        "min",
        "pow",
        "range",
        "reversed",
        "round",
        "set",
        "slice",
        "sorted",
        "sum",
        "tuple",
        "zip",
    ]
)
_MATH: Final = frozenset(
    [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "ceil",
        "comb",
        "copysign",
        "cos",
        "cosh",
        "degrees",
        "e",
        "erf",
        "erfc",
        "exp",
        "expm1",
        "fabs",
        "floor",
        "fmod",
        "gamma",
        "gcd",
        "hypot",
        "inf",
        "isclose",
        "isfinite",
        "isinf",
        "isnan",
        "lgamma",
        "log",
        "log10",
        "log1p",
        "log2",
        "nan",
        "pi",
        "pow",
        "prod",
        "radians",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "tau",
        "trunc",
    ]
)
_NUMPY: Final = frozenset(
    [
        "abs",
        "absolute",
        "add",
        "all",
        "amax",
        "amin",
        "any",
        "append",
        "apply_along_axis",
        "apply_over_axes",
        "arange",
        "arccos",
        "arccosh",
        "arcsin",
        "arcsinh",
        "arctan",
        "arctan2",
        "arctanh",
        "argmax",
        "argmin",
        "argpartition",
        "argsort",
        "argwhere",
        "around",
        "array",
        "array_split",
        "asarray",
        "ascontiguousarray",
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "average",
        "bincount",
        "bitwise_and",
        "bitwise_not",
        "bitwise_or",
        "bitwise_xor",
        "block",
        "bool",
        "bool_",
        "broadcast_arrays",
        "broadcast_shapes",
        "broadcast_to",
        "cbrt",
        "ceil",
        "choose",
        "clip",
        "column_stack",
        "compress",
        "concatenate",
        "convolve",
        "copy",
        "copysign",
        "correlate",
        "cos",
        "cosh",
        "count_nonzero",
        "cross",
        "cumprod",
        "cumsum",
        "delete",
        "diag",
        "diagonal",
        "diff",
        "digitize",
        "divide",
        "divmod",
        "dot",
        "dsplit",
        "dstack",
        "einsum",
        "empty",
        "empty_like",
        "equal",
        "exp",
        "exp2",
        "expand_dims",
        "expm1",
        "extract",
        "eye",
        "fabs",
        "finfo",
        "flatnonzero",
        "flip",
        "fliplr",
        "flipud",
        "float16",
        "float32",
        "float64",
        "float_power",
        "floor",
        "floor_divide",
        "fmax",
        "fmin",
        "fmod",
        "full",
        "full_like",
        "gcd",
        "greater",
        "greater_equal",
        "heaviside",
        "histogram",
        "hsplit",
        "hstack",
        "hypot",
        "identity",
        "iinfo",
        "imag",
        "in1d",
        "indices",
        "inf",
        "inner",
        "insert",
        "int16",
        "int32",
        "int64",
        "int8",
        "interp",
        "intersect1d",
        "invert",
        "isclose",
        "isfinite",
        "isin",
        "isinf",
        "isnan",
        "isneginf",
        "isposinf",
        "issubdtype",
        "ix_",
        "kron",
        "lcm",
        "ldexp",
        "left_shift",
        "less",
        "less_equal",
        "lexsort",
        "linspace",
        "log",
        "log10",
        "log1p",
        "log2",
        "logaddexp",
        "logaddexp2",
        "logical_and",
        "logical_not",
        "logical_or",
        "logical_xor",
        "matmul",
        "max",
        "maximum",
        "mean",
        "median",
        "meshgrid",
        "min",
        "minimum",
        "mod",
        "moveaxis",
        "multiply",
        "nan",
        "nan_to_num",
        "nancumsum",
        "nanmax",
        "nanmean",
        "nanmin",
        "nansum",
        "ndenumerate",
        "ndim",
        "ndindex",
        "negative",
        "newaxis",
        "nextafter",
        "nonzero",
        "not_equal",
        "ones",
        "ones_like",
        "outer",
        "pad",
        "partition",
        "percentile",
        "pi",
        "place",
        "polyval",
        "positive",
        "power",
        "prod",
        "promote_types",
        "ptp",
        "put",
        "put_along_axis",
        "putmask",
        "quantile",
        "radians",
        "ravel",
        "ravel_multi_index",
        "real",
        "reciprocal",
        "remainder",
        "repeat",
        "reshape",
        "resize",
        "result_type",
        "right_shift",
        "rint",
        "roll",
        "rollaxis",
        "rot90",
        "round",
        "searchsorted",
        "select",
        "setdiff1d",
        "shape",
        "sign",
        "signbit",
        "sin",
        "sinc",
        "sinh",
        "size",
        "sort",
        "spacing",
        "split",
        "sqrt",
        "square",
        "squeeze",
        "stack",
        "std",
        "subtract",
        "sum",
        "swapaxes",
        "take",
        "take_along_axis",
        "tan",
        "tanh",
        "tensordot",
        "tile",
        "trace",
        "transpose",
        "tri",
        "tril",
        "tril_indices",
        "triu",
        "triu_indices",
        "true_divide",
        "trunc",
        "uint16",
        "uint32",
        "uint64",
        "uint8",
        "unique",
        "unravel_index",
        "unwrap",
        "vander",
        "var",
        "vdot",
        "vectorize",
        "vsplit",
        "vstack",
        "where",
        "zeros",
        "zeros_like",
        "errstate",
        "integer",
        "floating",
        "signedinteger",
        "unsignedinteger",
        "number",
    ]
)
# Functions that are reached through a ufunc or a submodule.
_DOTTED: Final = frozenset(
    ["np.lib.stride_tricks.sliding_window_view", "np.linalg.norm", "np.linalg.inv", "np.linalg.det"]
    + [
        f"np.{ufunc}.{method}"
        for ufunc in (
            "add",
            "multiply",
            "maximum",
            "minimum",
            "subtract",
            "logical_and",
            "logical_or",
            "bitwise_xor",
        )
        for method in ("at", "reduce", "accumulate", "outer")
    ]
)
# Attributes and methods of arrays, tuples and lists.
_ATTRIBUTES: Final = frozenset(
    [
        "shape",
        "ndim",
        "size",
        "dtype",
        "T",
        "itemsize",
        "real",
        "imag",
        "flat",
        "kind",
        "eps",
        "max",
        "min",
        "tiny",
        "bits",
    ]
)
_METHODS: Final = frozenset(
    [
        "all",
        "any",
        "append",
        "argmax",
        "argmin",
        "argpartition",
        "argsort",
        "astype",
        "choose",
        "clip",
        "compress",
        "conj",
        "copy",
        "count",
        "cumprod",
        "cumsum",
        "diagonal",
        "dot",
        "extend",
        "fill",
        "flatten",
        "index",
        "insert",
        "item",
        "items",
        "keys",
        "max",
        "mean",
        "min",
        "nonzero",
        "pop",
        "prod",
        "ptp",
        "ravel",
        "repeat",
        "reshape",
        "resize",
        "reverse",
        "round",
        "searchsorted",
        "sort",
        "squeeze",
        "startswith",
        "std",
        "sum",
        "swapaxes",
        "take",
        "tolist",
        "trace",
        "transpose",
        "values",
        "var",
        "view",
    ]
)
_NODES: Final = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
_RESERVED: Final = _BUILTINS | {"np", "math"}


def check_reference(
    node: TextNode, parameters: Sequence[str], outputs: Sequence[str], place: Place, diagnostics: Diagnostics
) -> ast.FunctionDef | None:
    """`def reference(<parameters>)` that returns the outputs, or None if any statement was refused (reported)."""
    text = make_text(node, one_line=False)
    tree = parse_python(text, diagnostics)
    if tree is None:
        return None
    checker = _Reference(text, parameters, diagnostics)
    body = checker.block(tree.body)
    missing = [output for output in outputs if output not in checker.bound]
    for output in missing:
        diagnostics.error("reference", f"the reference never assigns the output `{output}`", node.place)
    if checker.failed or missing:
        return None
    results: list[ast.expr] = [name(output, place) for output in outputs]
    value = results[0] if len(results) == 1 else at(ast.Tuple(results, ast.Load()), place)
    body.append(at(ast.Return(value), place))
    made = ast.FunctionDef(
        "reference", make_arguments(parameters, place), body, [], returns=None, type_comment=None
    )
    return at(made, place)


class _Reference:
    """Rebuilds the allowed nodes; everything else is reported at its place."""

    def __init__(self, text: Text, parameters: Sequence[str], diagnostics: Diagnostics) -> None:
        self.text = text
        self.diagnostics = diagnostics
        self.parameters = frozenset(parameters)
        self.bound: set[str] = set(parameters)
        self.failed = False
        self._expressions: dict[type[ast.AST], Callable[[Any], ast.expr]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.Constant: self._constant,
            ast.GeneratorExp: self._comprehension,
            ast.ListComp: self._comprehension,
        }
        for plain in (
            ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript, ast.Slice, ast.Tuple, ast.List,
            ast.Starred, ast.Dict,
        ):  # fmt: skip
            self._expressions[plain] = self._plain

    def reject(self, node: ast.AST, message: str, hint: str | None = None) -> Rejected:
        self.failed = True
        self.diagnostics.error("reference", message, self.text.place(node), hint)
        return Rejected()

    # ---------------------------------------------------------------- statements

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for node in body:
            try:
                made.append(at(self._statement(node), self.text.place(node)))
            except Rejected:
                continue
        return made

    def _statement(self, node: ast.stmt) -> ast.stmt:
        match node:
            case ast.Assign(targets=[target], value=value):
                made = self.expression(value)
                return ast.Assign([self._target(target)], made)
            case ast.AugAssign(target=target, op=op, value=value):
                made = self.expression(value)
                return ast.AugAssign(self._target(target), op, made)
            case ast.Expr(value=ast.Call() as value):
                return ast.Expr(self.expression(value))
            case ast.If(test=test, body=body, orelse=orelse):
                made = self.expression(test)
                return ast.If(made, self.block(body), self.block(orelse))
            case ast.For(target=target, iter=source, body=body, orelse=[]):
                made = self.expression(source)
                return ast.For(self._target(target), made, self.block(body), [], None)
            case ast.Continue():
                return ast.Continue()
            case ast.Break():
                return ast.Break()
        what = type(node).__name__.lower()
        raise self.reject(
            node, f"a reference holds assignments, `if`, `for` and calls; `{what}` is none of these"
        )

    def _target(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name):
            self._bind(node)
            return at(ast.Name(node.id, ast.Store()), self.text.place(node))
        if isinstance(node, ast.Tuple):
            return at(
                ast.Tuple([self._target(item) for item in node.elts], ast.Store()), self.text.place(node)
            )
        if isinstance(node, ast.Starred):
            return at(ast.Starred(self._target(node.value), ast.Store()), self.text.place(node))
        if isinstance(node, ast.Subscript):
            value, index = self.expression(node.value), self.expression(node.slice)
            return at(ast.Subscript(value, index, ast.Store()), self.text.place(node))
        raise self.reject(node, "a name or `name[...]` is assigned to")

    def _bind(self, node: ast.Name) -> None:
        if node.id.startswith("_") or not node.id.isascii():
            raise self.reject(node, f"a name begins with a letter, not `{node.id[:40]}`")
        if node.id in _RESERVED or node.id in dir(builtins):
            raise self.reject(node, f"`{node.id}` has a meaning in Python already; choose another name")
        self.bound.add(node.id)

    # ---------------------------------------------------------------- expressions

    def expression(self, node: ast.expr) -> ast.expr:
        convert = self._expressions.get(type(node))
        if convert is None:
            raise self.reject(node, f"a reference does not have this ({type(node).__name__})")
        return at(convert(node), self.text.place(node))

    def _plain(self, node: ast.expr) -> ast.expr:
        """The same node over rebuilt children."""
        fields: dict[str, Any] = {}
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                fields[field] = self.expression(value)
            elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                fields[field] = [self.expression(item) for item in value]
            elif value is None or isinstance(value, (*_NODES, list)):
                fields[field] = value
            else:
                raise self.reject(node, f"a reference does not have this ({type(node).__name__})")
        if isinstance(node, ast.Dict) and any(key is None for key in node.keys):
            raise self.reject(node, "a reference does not have `**`")
        return type(node)(**fields)

    def _constant(self, node: ast.Constant) -> ast.expr:
        if (
            node.value is not None
            and node.value is not Ellipsis
            and not isinstance(node.value, bool | int | float | str)
        ):
            raise self.reject(node, f"a reference does not have {type(node.value).__name__} literals")
        return ast.Constant(node.value)

    def _name(self, node: ast.Name) -> ast.expr:
        if node.id in self.bound:
            return ast.Name(node.id, ast.Load())
        if node.id in ("np", "math"):
            raise self.reject(node, f"`{node.id}` is used as `{node.id}.<function>`")
        if node.id in ("float", "int", "bool"):
            return ast.Name(node.id, ast.Load())
        hint = did_you_mean(node.id, [*self.bound, *_BUILTINS])
        raise self.reject(node, f"nothing assigns the name `{node.id[:60]}`", hint)

    def _dotted(self, node: ast.expr) -> str | None:
        """`np.exp` of an attribute of a module, else None."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id in ("np", "math") and node.id not in self.bound:
            return ".".join([node.id, *reversed(parts)])
        return None

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        dotted = self._dotted(node)
        if dotted is not None:
            return self._module(node, dotted)
        if node.attr not in _ATTRIBUTES:
            hint = did_you_mean(node.attr, [*_ATTRIBUTES, *_METHODS])
            raise self.reject(node, f"a reference does not have `.{node.attr[:60]}`", hint)
        return ast.Attribute(self.expression(node.value), node.attr, ast.Load())

    def _module(self, node: ast.expr, dotted: str) -> ast.expr:
        module, _, rest = dotted.partition(".")
        known = _NUMPY if module == "np" else _MATH
        if rest not in known and dotted not in _DOTTED:
            hint = did_you_mean(rest, known)
            raise self.reject(node, f"a reference does not have `{dotted[:80]}`", hint)
        value: ast.expr = at(ast.Name(module, ast.Load()), self.text.place(node))
        for part in rest.split("."):
            value = at(ast.Attribute(value, part, ast.Load()), self.text.place(node))
        return value

    def _call(self, node: ast.Call) -> ast.expr:
        keywords: list[ast.keyword] = []
        function = self._function(node.func)
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg.startswith("_"):
                raise self.reject(node, "a reference does not have `**`")
            keywords.append(
                at(ast.keyword(keyword.arg, self.expression(keyword.value)), self.text.place(keyword))
            )
        return ast.Call(function, [self.expression(argument) for argument in node.args], keywords)

    def _function(self, node: ast.expr) -> ast.expr:
        place = self.text.place(node)
        if isinstance(node, ast.Name):
            if node.id not in _BUILTINS:
                hint = did_you_mean(node.id, _BUILTINS)
                raise self.reject(node, f"a reference does not call `{node.id[:60]}`", hint)
            return at(ast.Name(node.id, ast.Load()), place)
        dotted = self._dotted(node)
        if dotted is not None:
            return self._module(node, dotted)
        if isinstance(node, ast.Attribute):
            if node.attr not in _METHODS:
                hint = did_you_mean(node.attr, _METHODS)
                raise self.reject(node, f"a reference does not call `.{node.attr[:60]}`", hint)
            return at(ast.Attribute(self.expression(node.value), node.attr, ast.Load()), place)
        if isinstance(node, ast.Call) and self._dotted(node.func) == "np.vectorize":
            return self.expression(node)
        raise self.reject(node, "a reference calls functions of numpy and math, and methods of arrays")

    def _comprehension(self, node: ast.GeneratorExp | ast.ListComp) -> ast.expr:
        clauses: list[ast.comprehension] = []
        before = set(self.bound)
        for clause in node.generators:
            source = self.expression(clause.iter)
            target = self._target(clause.target)
            tests = [self.expression(test) for test in clause.ifs]
            clauses.append(ast.comprehension(target, source, tests, 0))
        element = self.expression(node.elt)
        self.bound = before
        return type(node)(element, clauses)

"""Expressions of the compute language as nodes."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .onnx_reads import Reads
from .onnx_values import (
    TYPES,
    Definition,
    Element,
    Index,
    Like,
    Place,
    Refused,
    Static,
    Value,
    entries,
    folded,
    type_number,
)

_BINARY: Final[dict[type[ast.operator], str]] = {
    ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div", ast.Pow: "Pow",
    ast.BitAnd: "BitwiseAnd", ast.BitOr: "BitwiseOr", ast.BitXor: "BitwiseXor",
}  # fmt: skip
_OF_BOOLS: Final = {"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor", "BitwiseNot": "Not"}
_COMPARE: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "Less", ast.LtE: "LessOrEqual", ast.Gt: "Greater", ast.GtE: "GreaterOrEqual", ast.Eq: "Equal",
}  # fmt: skip
_FUNCTIONS: Final = {
    name: name.capitalize()
    for name in ("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "floor",
                 "log", "round", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh")
} | {"isnan": "IsNaN", "isinf": "IsInf"}  # fmt: skip
_REDUCTIONS: Final = {"sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}


class Expressions(Reads):
    """Arithmetic, choices, calls and reductions."""

    _depth = 0

    def value(self, node: ast.expr, place: Place) -> Value:
        self._depth += 1
        if self._depth > 200:
            raise Refused("the expression is nested too deeply")
        found = self._of(node, place)
        self._depth -= 1
        return found

    def _of(self, node: ast.expr, place: Place) -> Value:
        match node:
            case ast.Constant(value=value):
                return Static(value)
            case ast.Name(id=name):
                return self._name(name, place)
            case ast.Attribute(value=ast.Name(id=name), attr="dtype") if name in self.tensors:
                return Static(Like(name))
            case ast.Subscript(value=ast.Name(id=name)) if name in self.tensors:
                return self._read(self.tensors[name], entries(node.slice), place)
            case ast.BinOp(op=operator, left=left, right=right):
                return self._operation(operator, self.value(left, place), self.value(right, place))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                negated = self.value(inner, place)
                if isinstance(negated, Static) and isinstance(negated.value, int | float):
                    return Static(-negated.value)
                return self.joined("Neg", [negated])
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=inner):
                element = self.element(self.value(inner, place), "not")
                return self.joined("Not" if element.is_bool else "BitwiseNot", [element], element.is_bool)
            case ast.BoolOp(op=operator, values=values):
                return self._logic("And" if isinstance(operator, ast.And) else "Or", values, place)
            case ast.Compare():
                return self._comparison(node, place)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return self._choice(test, then, otherwise, place)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(name, arguments, place)
        raise Refused(f"`{ast.unparse(node)}` has no form in ONNX here")

    def _operation(self, operator: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(left, Static) and isinstance(right, Static):
            return Static(folded(operator, left.value, right.value))
        found = _BINARY.get(type(operator))
        values = [self.element(each, "arithmetic") for each in (left, right)]
        bools = all(each.is_bool for each in values)
        if found in _OF_BOOLS and bools:
            return self.joined(_OF_BOOLS[found], values, True)
        if isinstance(operator, ast.FloorDiv | ast.Mod | ast.LShift | ast.RShift):
            self.for_floats("integer division and shifts are defined for all operands here, not so in ONNX")
            if isinstance(operator, ast.LShift | ast.RShift):
                raise Refused("shifts have no form in ONNX here")
            quotient = self.joined("Floor", [self.joined("Div", values)])
            if isinstance(operator, ast.FloorDiv):
                return quotient
            raise Refused("a float remainder is exact here, not so in ONNX")
        if found is None:
            raise Refused(
                f"`{ast.unparse(ast.BinOp(ast.Name('a'), operator, ast.Name('b')))}` has no form in ONNX"
            )
        if found in ("Div", "Pow"):
            self.for_floats("quotients and powers of ints are defined for all operands here, not so in ONNX")
        return self.joined(found, values)

    def _logic(self, operator: str, values: Sequence[ast.expr], place: Place) -> Value:
        known = [self._known(each) for each in values]
        rest = [each for each, value in zip(values, known, strict=True) if value is None]
        decided = [value for value in known if value is not None]
        if (operator == "And" and False in decided) or (operator == "Or" and True in decided) or not rest:
            return Static(operator == "Or" if rest or True in decided else False not in decided)
        found = self.value(rest[0], place)
        for each in rest[1:]:
            found = self.joined(operator, [found, self.value(each, place)], True)
        return found

    def _comparison(self, node: ast.Compare, place: Place) -> Value:
        decided = self._known(node)
        if decided is not None:
            return Static(decided)
        found: Element | None = None
        left = self.value(node.left, place)
        for operator, after in zip(node.ops, node.comparators, strict=True):
            right = self.value(after, place)
            if isinstance(operator, ast.NotEq):
                link = self.joined("Not", [self.joined("Equal", [left, right], True)], True)
            elif type(operator) in _COMPARE:
                link = self.joined(_COMPARE[type(operator)], [left, right], True)
            else:
                raise Refused(f"`{ast.unparse(node)}` has no form in ONNX here")
            found = link if found is None else self.joined("And", [found, link], True)
            left = right
        assert found is not None
        return found

    def _choice(self, test: ast.expr, then: ast.expr, otherwise: ast.expr, place: Place) -> Value:
        decided = self._known(test)
        if decided is not None:
            return self.value(then if decided else otherwise, place)
        condition = self.value(test, place)
        if isinstance(condition, Static):
            return self.value(then if condition.value else otherwise, place)
        branches = [self.element(self.value(each, place), "if") for each in (then, otherwise)]
        like = next((each.like for each in branches if each.like), None)
        if like is not None:
            branches = [
                replace(each, name=self.emit("CastLike", [each.name, like]), weak=False)
                if each.weak
                else each
                for each in branches
            ]
        chosen = [self.element(condition, "if"), *branches]
        spans = frozenset().union(*[each.spans for each in chosen])
        made = self.emit("Where", [each.name for each in chosen])
        return Element(made, all(b.weak for b in branches), like, all(b.is_bool for b in branches), spans)

    def _call(self, name: str, arguments: Sequence[ast.expr], place: Place) -> Value:
        known = place.names.get(name) or self.names.get(name)
        if isinstance(known, Definition):
            return self._inlined(known.node, arguments, place)
        if arguments and isinstance(arguments[0], ast.GeneratorExp):
            return self._reduction(name, arguments[0], place)
        if any(isinstance(each, ast.Starred) for each in arguments):
            raise Refused(f"`{name}` is called with a tuple")
        if name == "cast":
            return self._cast(self.value(arguments[0], place), self.value(arguments[1], place))
        values = [self.value(each, place) for each in arguments]
        if name in ("float", "int") and len(values) == 1:
            return values[0]
        if name in ("max", "min"):
            return self.joined(name.capitalize(), values)
        if name == "fmod":
            return self.joined("Mod", values, fmod=1)
        if name == "clip":
            return self.joined("Min", [self.joined("Max", values[:2]), values[2]])
        if name in _FUNCTIONS:
            return self.joined(_FUNCTIONS[name], values, name.startswith("is"))
        return self._composed(name, values)

    def _inlined(self, node: ast.FunctionDef, arguments: Sequence[ast.expr], place: Place) -> Value:
        if node.args.vararg is not None or any(isinstance(each, ast.Starred) for each in arguments):
            raise Refused(f"`{node.name}` takes a tuple of positions")
        values = [self.value(each, place) for each in arguments]
        names = {**place.names, **dict(zip([each.arg for each in node.args.args], values, strict=True))}
        for statement in node.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    names[name] = self.value(value, replace(place, names=names))
                case ast.Return(value=ast.expr() as value):
                    return self.value(value, replace(place, names=names))
        raise Refused(f"`{node.name}` is a program, not a formula")

    def _cast(self, value: Value, dtype: Value) -> Value:
        like = dtype.value if isinstance(dtype, Static) else None
        if not isinstance(like, Like):
            raise Refused("a dtype is computed")
        element = self.element(value, "cast")
        if like.dtype:
            made = self.emit("Cast", [element.name], to=type_number(like.dtype))
            return Element(made, False, made, like.dtype == "bool", element.spans)
        made = self.emit("CastLike", [element.name, like.tensor])
        return Element(made, False, like.tensor, self.tensors[like.tensor].is_bool, element.spans)

    def _reduction(self, name: str, node: ast.GeneratorExp, place: Place) -> Value:
        named, extents, names = list(place.named), dict(place.extents), dict(place.names)
        for clause in node.generators:
            match clause:
                case ast.comprehension(
                    target=ast.Name(id=index),
                    iter=ast.Call(func=ast.Name(id="range"), args=[ast.Name(id=extent)]),
                    ifs=[],
                ):
                    named.append(index)
                    extents[index] = extent
                    names[index] = Index(index)
                case _:
                    raise Refused(
                        f"`{name}` runs over `{ast.unparse(clause.iter)}`, which is not one whole dim"
                    )
        inner = Place(place.leading, tuple(named), extents, names)
        element = self.element(self.value(node.elt, inner), name)
        new = named[len(place.named) :]
        if not element.spans >= set(new):
            raise Refused(f"`{name}` adds up what does not depend on `{', '.join(new)}`")
        axes = tuple(range(-len(new), 0))
        spans = element.spans - set(new)
        if name in ("argmax", "argmin") and len(new) == 1:
            made = self.emit(f"Arg{name[3:].capitalize()}", [element.name], axis=-1, keepdims=0)
            return Element(made, False, made, False, spans)
        if name in ("any", "all"):
            whole = self.emit("Cast", [element.name], to=TYPES["int32"])
            made = self.emit(
                "ReduceMax" if name == "any" else "ReduceMin", [whole, self.ints(axes)], keepdims=0
            )
            return Element(self.emit("Cast", [made], to=TYPES["bool"]), False, None, True, spans)
        if name not in _REDUCTIONS or element.is_bool:
            raise Refused(f"`{name}` has no form in ONNX here")
        made = self.emit(_REDUCTIONS[name], [element.name, self.ints(axes)], keepdims=0)
        return replace(element, name=made, spans=spans)

    def _composed(self, name: str, values: Sequence[Value]) -> Value:
        """Functions that are several operators."""
        (x,) = values if len(values) == 1 else (None,)
        if x is None:
            raise Refused(f"`{name}` has no form in ONNX here")
        one = Static(1.0)

        def of(operator: str, *operands: Value, is_bool: bool = False) -> Element:
            return self.joined(operator, operands, is_bool)

        if name == "rsqrt":
            return of("Reciprocal", of("Sqrt", x))
        if name == "exp2":
            return of("Pow", Static(2.0), x)
        if name in ("log2", "log10"):
            return of("Div", of("Log", x), Static(math.log(2.0 if name == "log2" else 10.0)))
        if name == "isfinite":
            strange = of("Or", of("IsNaN", x, is_bool=True), of("IsInf", x, is_bool=True), is_bool=True)
            return of("Not", strange, is_bool=True)
        if name == "trunc":
            return of("Mul", of("Sign", x), of("Floor", of("Abs", x)))
        if name == "cbrt":
            return of("Mul", of("Sign", x), of("Pow", of("Abs", x), Static(1 / 3)))
        if name == "expm1":  # tanh(x / 2) (exp(x) + 1): nothing is lost near 0, and right at both infinities
            return of("Mul", of("Tanh", of("Mul", x, Static(0.5))), of("Add", of("Exp", x), one))
        if name == "log1p":  # 2 atanh(x / (x + 2)), where x is small
            small = of("Mul", of("Atanh", of("Div", x, of("Add", x, Static(2.0)))), Static(2.0))
            return self.where(of("Greater", x, one, is_bool=True), of("Log", of("Add", x, one)), small)
        raise Refused(f"ONNX has no `{name}`")

"""An op as one ONNX function."""

from __future__ import annotations

import ast
from dataclasses import replace

from opgen_runtime.base.vocabulary import DTYPE_CLASSES, DTYPES

from .onnx_expressions import Expressions
from .onnx_values import (
    FLOATS,
    Definition,
    Element,
    Index,
    Place,
    Refused,
    Tensor,
    Unsaid,
    Value,
    entries,
    groups_of,
    type_number,
)


class Function(Expressions):
    """The function of an op: `write` says it in nodes, or raises Refused."""

    def write(self) -> None:
        op = self.op
        if op.compute is None:
            raise Refused("it is computed by a hand-written function")
        if op.calls:
            raise Refused("it is made of other ops")
        if op.signature.dynamic:
            raise Refused("the shape of its result depends on values")
        for operand in op.inputs:
            self._operand(operand.name, operand.shape_text, operand.dtype)
            for what in ("variadic", "optional", "layout"):
                if getattr(operand, what):
                    raise Refused(
                        f"operand `{operand.name}` is {what if what != 'layout' else 'stored by a layout'}"
                    )
        for result in op.outputs:
            if result.variadic is not None or result.layout is not None:
                raise Refused(f"result `{result.name}` is a group of tensors, or stored by a layout")
        try:
            statements = [*ast.parse(op.let_text).body, *ast.parse(op.formula).body]
        except SyntaxError:
            raise Refused("the expression is no formula") from None
        for statement in statements:
            self._statement(statement)
        missing = [each.name for each in op.outputs if each.name not in self.tensors]
        if missing:
            raise Refused(f"result `{missing[0]}` has no formula")

    def _operand(self, name: str, shape: str | None, dtype: str | tuple[str, ...]) -> None:
        dtype = self.op.signature.dtypes.get(dtype, dtype) if isinstance(dtype, str) else dtype
        admitted = DTYPE_CLASSES.get(dtype, (dtype,)) if isinstance(dtype, str) else dtype
        named = [str(each) for each in admitted]
        is_bool = named == ["bool"]
        self.mixed |= "float32" in named and not FLOATS.issuperset(named)
        self.has_floats |= "float32" in named
        dims = None if shape is None else tuple(part.strip() for part in shape.split(","))
        self.tensors[name] = Tensor(name, dims, is_bool, None if is_bool else name)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef():
                self.names[node.name] = Definition(node)
            case ast.Assign(targets=[ast.Subscript() as target]):
                self._define(target, node.value, None)
            case ast.AnnAssign(target=ast.Subscript() as target, value=ast.expr() as value):
                self._define(target, value, ast.unparse(node.annotation))
            case ast.Assign(targets=[ast.Name(id=name)]):
                try:
                    self.names[name] = self.value(node.value, Place(None, ()))
                except Refused:  # perhaps nothing asks for it
                    self.names[name] = Unsaid(name)
            case _:
                raise Refused("it is a program of updates, not a formula")

    def _shape_text(self, name: str, annotation: str | None) -> str:
        for result in self.op.outputs:
            if result.name == name:
                return result.shape_text
        return annotation or ""

    def _dims(self, shape: str, count: int) -> tuple[str, ...]:
        """What stands for each index of a tensor of a shape: dims by their names, and one for all leading ones."""
        whole = shape.removesuffix(".shape")
        if whole in self.tensors and whole != shape:
            known = self.tensors[whole].dims
            if known is not None and len(known) == count:
                return known
            if count == 1:
                return (f"*{whole}.shape",)
        stated = entries(ast.parse(f"({shape},)", mode="eval").body) if shape else []
        if len(stated) == 1 and isinstance(stated[0], ast.Tuple):
            stated = stated[0].elts
        dims = tuple(map(ast.unparse, stated))
        if len(dims) != count:
            raise Refused(f"the shape `{shape}` does not say what its indices run over")
        return dims

    def _expanded(self, found: Element, name: str, shape: str, dtype: str) -> Element:
        """An element repeated to the shape of a tensor, `x.shape`; one of numbers alone in the dtype of another."""
        whole, like = shape.removesuffix(".shape"), dtype.removesuffix(".dtype")
        if whole == shape or whole not in self.tensors:
            raise Refused(f"`{name}` is read from no tensor of its shape `{shape}`")
        if found.weak and like in self.tensors:
            found = Element(self.emit("CastLike", [found.name, like]), like=like, spans=found.spans)
        return replace(found, name=self.emit("Expand", [found.name, self.emit("Shape", [whole])]))

    def _define(self, target: ast.Subscript, value: ast.expr, annotation: str | None) -> None:
        if not isinstance(target.value, ast.Name):
            raise Refused("a result is a group of tensors")
        name, indices = target.value.id, entries(target.slice)
        leading: str | None = None
        named: list[str] = []
        names: dict[str, Value] = {}
        for position, index in enumerate(indices):
            starred = isinstance(index, ast.Starred)
            inner = index.value if isinstance(index, ast.Starred) else index
            if not isinstance(inner, ast.Name) or (starred and position):
                raise Refused(f"`{ast.unparse(target)}` defines part of a tensor")
            names[inner.id] = Index(inner.id, starred)
            leading = inner.id if starred else leading
            named += [] if starred else [inner.id]
        shape = self._shape_text(name, annotation)
        dims = self._dims(shape, len(indices))
        led = [dims[0]] if leading else []
        extents = dict(zip(named, dims[len(led) :], strict=True))
        place = Place(leading, tuple(named), extents, names)
        found = self.element(self.value(value, place), name)
        results = {each.name: each.dtype_text for each in self.op.outputs}
        if {*named, *groups_of(led)} - found.spans:
            found = self._expanded(found, name, shape, results.get(name, ""))
        if name in results and results[name] in DTYPES:
            self.emit("Cast", [found.name], name, to=type_number(results[name]))
        else:
            self.emit("Identity", [found.name], name)
        self.tensors[name] = Tensor(name, dims, found.is_bool, None if found.is_bool else name)

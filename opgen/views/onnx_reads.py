"""Elements of tensors, dims and attrs as nodes."""

from __future__ import annotations

import ast
import math
import string
from collections.abc import Sequence

from opgen_runtime.base.vocabulary import DTYPES

from ..model import CheckedAttr
from .onnx_nodes import Nodes
from .onnx_values import FLOATS, Element, Index, Like, Place, Refused, Static, Tensor, Unsaid, Value


class Reads(Nodes):
    """What names and reads stand for."""

    def _name(self, name: str, place: Place) -> Value:
        found = place.names.get(name) or self.names.get(name)
        if found is not None:
            if isinstance(found, Unsaid):
                raise Refused(f"the static value `{name}` has no form in ONNX here")
            return found
        if name in self.by_name:
            return self._attr(self.by_name[name])
        if name in ("pi", "inf", "nan"):
            return Static({"pi": math.pi, "inf": math.inf, "nan": math.nan}[name])
        if name in DTYPES:
            return Static(Like("", name))
        like = next((each.name for each in self.op.inputs if each.dtype == name), None)
        if like is not None:
            return Static(Like(like))
        return self._dim(name)

    def _attr(self, attr: CheckedAttr) -> Element:
        """A number attr as an attribute of the function."""
        types = {"int": "int", "float": "float", "number": "float"}
        if attr.kind not in types or attr.optional:
            raise Refused(f"attr `{attr.name}` is {'optional' if attr.optional else attr.kind}, no number")
        kind = types[attr.kind]
        value = attr.default
        if value is not None and (not isinstance(value, int | float) or not math.isfinite(value)):
            raise Refused(f"the default of attr `{attr.name}` is {value!r}")
        shown = None if value is None else f"{float(value)!r}" if kind == "float" else str(value)
        self.attrs[attr.name] = attr.name if shown is None else f"{attr.name}: {kind} = {shown}"
        out = self.fresh()
        self.nodes.append(f"{out} = Constant <value_{kind}: {kind} = @{attr.name}> ()")
        return Element(out, weak=True)

    def _dim(self, name: str) -> Element:
        for tensor in self.tensors.values():
            if tensor.dims is not None and name in tensor.dims:
                position = tensor.dims.index(name)
                after = len(tensor.dims) - position
                starred = any(dim.startswith("*") for dim in tensor.dims[:position])
                start = -after if starred else position
                end = {} if start == -1 else {"end": start + 1}
                shape = self.emit("Shape", [tensor.name], "", start=start, **end)
                return Element(self.emit("Squeeze", [shape]), weak=True)
        raise Refused(f"`{name}` has no form in ONNX here")

    def _read(self, tensor: Tensor, indices: Sequence[ast.expr], place: Place) -> Element:
        """The elements at positions that are open indices, with an axis for each that stands between its own."""
        leading, named = None, list[str]()
        groups: set[str] = set()
        for position, index in enumerate(indices):
            inner = index.value if isinstance(index, ast.Starred) else index
            if (
                isinstance(index, ast.Starred)
                and isinstance(inner, ast.Call)
                and ast.unparse(inner.func) == "bcast"
            ):
                groups.add(f"*{ast.unparse(inner.args[1])}")
                inner = inner.args[0]
            found = self._name(inner.id, place) if isinstance(inner, ast.Name) else None
            if not isinstance(found, Index) or found.starred is not isinstance(index, ast.Starred):
                raise Refused(
                    f"`{tensor.name}` is read at `{ast.unparse(index)}`, which is no index of the left side"
                )
            if found.starred:
                if position or found.name != place.leading:
                    raise Refused(f"`{tensor.name}` is read at `{ast.unparse(index)}` behind other indices")
                leading = found.name
                if not groups:
                    groups = (
                        {f"*{tensor.name}.shape"}
                        if tensor.dims is None
                        else {f"*{tensor.name}.shape", tensor.dims[0]}
                    )
                continue
            extent = place.extents.get(found.name)
            if tensor.dims is None or tensor.dims[position] != extent:
                raise Refused(
                    f"`{found.name}` runs over `{extent}`, and not over a whole dim of `{tensor.name}`"
                )
            named.append(found.name)
        order = [name for name in place.named if name in named]
        name = tensor.name
        if len(set(named)) < len(named):
            raise Refused(f"`{tensor.name}` is read along a diagonal")
        if order != named:
            name = self._turned(name, [named.index(each) for each in order], leading is not None)
        first = 0 if leading is not None or not order else place.named.index(order[0])
        missing = [
            k - len(place.named) for k in range(first, len(place.named)) if place.named[k] not in named
        ]
        if missing and (leading is not None or order):
            name = self.emit("Unsqueeze", [name, self.ints(missing)])
        spans = frozenset({*named, *groups})
        return Element(name, False, None if tensor.is_bool else tensor.name, tensor.is_bool, spans)

    def _turned(self, name: str, order: Sequence[int], is_led: bool) -> str:
        """The last dims in another order."""
        if not is_led:
            return self.emit("Transpose", [name], perm=tuple(order))
        letters = string.ascii_lowercase[: len(order)]
        return self.emit("Einsum", [name], equation=f"...{letters}->...{''.join(letters[k] for k in order)}")

    def _default(self, name: str) -> object:
        attr = self.by_name[name]
        if attr.required or attr.default is None:
            raise Refused(f"whether attr `{name}` is given, and as what, decides what is computed")
        self.only[f"{name} = {attr.default!r}"] = None
        return attr.default

    def _is_dtype(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr == "dtype"
        return isinstance(node, ast.Name) and node.id in self.op.signature.dtypes

    def _known(self, test: ast.expr) -> bool | None:
        """A condition on dtypes or attrs, decided for real operands, for floats if that matters, and for defaults.

        None of any other.
        """
        match test:
            case ast.Call(func=ast.Name(id="iscomplex"), args=[_]):
                return False
            case ast.Call(func=ast.Name(id="isfloat"), args=[_]):
                self.for_floats("its dtype decides what is computed")
                return True
            case ast.Compare(
                left=left, ops=[ast.Eq() | ast.NotEq() as operator], comparators=[ast.Name(id=name)]
            ) if name in DTYPES and name not in FLOATS and self._is_dtype(left):
                self.for_floats("its dtype decides what is computed")
                return isinstance(operator, ast.NotEq)
            case ast.Name(id=name) if name in self.by_name and self.by_name[name].kind == "bool":
                return bool(self._default(name))
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                found = self._known(inner)
                return None if found is None else not found
            case ast.Compare(
                left=ast.Name(id=name), ops=[operator], comparators=[ast.Constant(value=value)]
            ) if name in self.by_name:
                if isinstance(operator, ast.Is | ast.IsNot):
                    return (self._default(name) is None) is isinstance(operator, ast.Is)
                if isinstance(value, str) and isinstance(operator, ast.Eq | ast.NotEq):
                    return (self._default(name) == value) is isinstance(operator, ast.Eq)
        return None

"""ConvertLayout and AlterOpLayout: ops compute in another layout, and so does what lies between them.

    ConvertLayout({"conv2d": "NHWC"})
    relu(conv2d(%x, %w))    %0 = layout_transform(%x, NCHW, NHWC); %1 = layout_transform(%w, OIHW, HWIO)
                            %2 = relu(conv2d(%0, %1, data_layout=NHWC, kernel_layout=HWIO))
                            layout_transform(%2, NHWC, NCHW)

An op has the layouts that its declaration gives its operands (`layout: {attr: data_layout, canonical: NCHW}`).  A
value stays in its new layout through elementwise ops, through ops that take that layout themselves, such as pooling,
and through those that compute the same with other attrs, as `permuted` proves (`concatenate(.., axis=3)` for axis=1),
until something needs it as it was.  ConvertLayout is told the layouts, AlterOpLayout asks the implementation that the
op's strategy chooses for the call (`strategy: [{.., layouts: {data_layout: NHWC}}]` of its declaration, or
`add_implementation(.., layouts={..})`).  Every element is computed as before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import ascii_uppercase

import numpy as np

from ..base import Target
from ..base.errors import AttrError, OpgenError, PassError
from ..base.vocabulary import dataclass
from ..compute.te.permuted import Order
from ..declaration import OpDeclaration, call_tensors, pattern_of
from ..ir import Call, Constant, Expr, Function, IRModule, Tuple, TupleGetItem, post_order, rebuild
from ..lower.library.fusion.dataflow import is_segment
from ..lower.library.strategy import StrategyCall, choose
from ..operator import Layout, LayoutAxis, Op, TensorType, TupleType, Type, parse_layout, same_shape
from .build import layout_transform, reshape
from .calls import UNIT, facts
from .context import PassContext
from .define import function_pass
from .infer_type import InferType
from .info import Option
from .permuted import permuted

Wanted = Callable[[Call], "Mapping[str, str] | None"]
"""The layout of each layout attr that a call is to have; None for a call that is to stay."""

OPTIONS = {"layouts": Option({}, "op -> layout of its data, or [layout of the data, of the weights].")}


@function_pass(opt_level=3, required=(InferType,), preserves=("InferType",), options=OPTIONS)
def ConvertLayout(
    function: Function, module: IRModule, context: PassContext, *, layouts: Mapping[str, object]
) -> Function:
    """Ops compute in the given layouts. Raises PassError for an op without layouts, or a layout of other axes."""
    wanted = {name: _attrs_for(name, given) for name, given in layouts.items()}
    if not wanted:
        return function

    def of(call: Call) -> Mapping[str, str] | None:
        assert isinstance(call.op, Op)
        return wanted.get(call.op.name)

    return _Conversion(of).rewrite(function)


@function_pass(opt_level=3, required=(InferType,), preserves=("InferType",))
def AlterOpLayout(function: Function, module: IRModule, context: PassContext) -> Function:
    """Ops compute in the layouts that the implementations chosen for the context's target ask for.

    Raises StrategyError where a strategy does, PassError for layouts that the op does not have.
    """
    return _Conversion(_asked_by_strategy(context.target)).rewrite(function)


def _asked_by_strategy(target: Target) -> Wanted:
    def of(call: Call) -> Mapping[str, str] | None:
        assert isinstance(call.op, Op)
        strategy = call.op.get_attr("strategy")
        if isinstance(strategy, tuple | None) and not any([entry.layouts for entry in strategy or ()]):
            return None
        types = [arg.checked_type for arg in call.args]
        made = call_tensors(call.op, call.attrs, types, call.span)
        pattern = pattern_of(call.op, call.attrs, types)
        asked = StrategyCall(call.attrs, made.inputs, call.checked_type, made.binding.names, pattern)
        layouts = choose(call.op, asked, target).implementation.layouts
        return _attrs_of(call.op.name, layouts) if layouts else None

    return of


def _attrs_for(name: str, given: object) -> Mapping[str, str]:
    """The layout attrs of an op with the layouts that are given for them, data first, as ConvertLayout takes them."""
    attrs = _layout_attrs(Op.get(name))
    listed = [given] if isinstance(given, str) else list(given) if isinstance(given, list | tuple) else []
    if not attrs:
        raise PassError(f"op {name} has no operand with a layout")
    if not listed or len(listed) > len(attrs) or not all([isinstance(each, str) for each in listed]):
        expected = "a layout or a list of " + " and ".join(attrs)
        raise PassError(f"the layouts of {name} are {given!r:.80}, expected {expected}")
    return _attrs_of(name, {attr: str(layout) for attr, layout in zip(attrs, listed, strict=False)})


def _attrs_of(name: str, given: Mapping[str, str]) -> Mapping[str, str]:
    """The layouts of all layout attrs of an op: those that are given, and of weights those that go with the data's."""
    attrs = _layout_attrs(Op.get(name))
    for attr, layout in given.items():
        if attr not in attrs:
            raise PassError(f"op {name} has no layout {attr!r}; it has {' and '.join(attrs) or 'none'}")
        try:
            letters = parse_layout(layout).canonical_names
        except AttrError as error:
            raise PassError(f"{name}: {error}") from None
        if sorted(letters) != sorted(attrs[attr]):
            raise PassError(f"{name}: layout {layout!r} does not have the axes of {attrs[attr]}")
    first = next(iter(given.values()))
    return {
        attr: given[attr] if attr in given else _weights_beside(first, canonical)
        for attr, canonical in attrs.items()
    }


def _weights_beside(data: str, canonical: str) -> str:
    """The layout of weights beside data in a layout: where the channels come last, so do the weights' channels."""
    if parse_layout(data).is_blocked or not data.endswith("C"):
        return canonical
    return canonical[2:] + canonical[1] + canonical[0]


def _layout_attrs(op: Op) -> dict[str, str]:
    """attr -> canonical layout, as the declaration gives them to its inputs."""
    declaration: OpDeclaration | None = op.get_attr("declaration")
    if declaration is None:
        return {}
    return {each.layout[0]: each.layout[1] for each in declaration.signature.inputs if each.layout}


@dataclass(frozen=True, slots=True)
class _Laid:
    """A value stored in another layout: `stored` in `layout`, which the program has in `original`."""

    stored: Expr
    layout: str
    original: str


def _as_it_was(laid: _Laid) -> Expr:
    same = laid.layout == laid.original
    return laid.stored if same else layout_transform(laid.stored, laid.layout, laid.original)


def _results(made: Expr, orders: Sequence[Order], letters: str) -> _Laid | tuple[_Laid, ...]:
    """The results of a call with their layouts, by the letters of what it reads."""
    several = not isinstance(made.checked_type, TensorType)
    found: list[_Laid] = []
    for index, order in enumerate(orders):
        own = letters if len(order) == len(letters) else ascii_uppercase[: len(order)]
        stored = TupleGetItem(made, index) if several else made
        found.append(_Laid(stored, "".join([own[axis] for axis in order]), own))
    return tuple(found) if several else found[0]


def _rank(value: Expr) -> int | None:
    type_ = value.checked_type
    return type_.ndim if isinstance(type_, TensorType) else None


def _is_static(type_: Type) -> bool:
    if isinstance(type_, TupleType):
        return all([_is_static(field) for field in type_.fields])
    return isinstance(type_, TensorType) and type_.is_static


def _blocked(whole: Expr, shape: Sequence[int], layout: Layout, original: str) -> Expr | None:
    """What broadcasts beside values in a blocked layout: of one element along the blocked axes, or along none.

    None where the blocks do not divide it.
    """
    extents = dict(zip(original, shape, strict=True))
    blocked = {axis.name for axis in layout.axes if axis.factor}
    if all([extents[name] == 1 for name in blocked]):
        plain = layout.canonical_names
        moved = whole if plain == original else layout_transform(whole, original, plain)
        return reshape(moved, [1 if axis.factor else extents[axis.name] for axis in layout.axes])
    if any([extents[name] % layout.factor(name) for name in blocked]):
        return None
    if isinstance(whole, Constant):
        return Constant(_data_in(whole.data, layout, original))
    return layout_transform(whole, original, layout.text)


def _data_in(data: np.ndarray, layout: Layout, original: str) -> np.ndarray:
    """The data of a constant as a blocked layout stores it."""
    names = layout.canonical_names
    inner = [[axis.factor for axis in layout.axes if axis.factor and axis.name == name] for name in names]
    shape = [
        extent
        for name, factors in zip(names, inner, strict=True)
        for extent in (data.shape[original.index(name)] // layout.factor(name), *factors)
    ]
    parts = [LayoutAxis(name, each) for name, own in zip(names, inner, strict=True) for each in (0, *own)]
    moved = data.transpose([original.index(name) for name in names]).reshape(shape)
    return np.ascontiguousarray(moved.transpose([parts.index(axis) for axis in layout.axes]))


class _Conversion:
    """The program with each value as it was, or `_Laid` as long as nothing needs it as it was.

    `fields`: of calls of several results, each result.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.new: dict[int, Expr] = {}
        self.laid: dict[int, _Laid] = {}
        self.fields: dict[int, tuple[_Laid, ...]] = {}

    def rewrite(self, function: Function) -> Function:
        for node in post_order(function, is_segment):
            found: _Laid | tuple[_Laid, ...] | None = None
            if isinstance(node, Call) and isinstance(node.op, Op):
                found = self.call(node)
            elif isinstance(node, TupleGetItem) and id(node.tuple_value) in self.fields:
                found = self.fields[id(node.tuple_value)][node.index]
            if isinstance(found, tuple):
                self.fields[id(node)] = found
            elif found is not None and found.layout == found.original:
                self.new[id(node)] = found.stored
            elif found is not None:
                self.laid[id(node)] = found
            elif is_segment(node):
                self.new[id(node)] = node
            else:
                self.new[id(node)] = rebuild(node, [self.value(child) for child in node.children()])
        made = self.value(function)
        assert isinstance(made, Function)
        return made

    def value(self, node: Expr) -> Expr:
        """The value as the program has it."""
        if id(node) not in self.new:
            fields = self.fields.get(id(node))
            made = (
                _as_it_was(self.laid[id(node)]) if fields is None else Tuple(tuple(map(_as_it_was, fields)))
            )
            self.new[id(node)] = made
        return self.new[id(node)]

    def call(self, call: Call) -> _Laid | tuple[_Laid, ...] | None:
        """A call in another layout, or its results; None where it stays as it is."""
        assert isinstance(call.op, Op)
        attrs = _layout_attrs(call.op)
        if not attrs:
            return self.elementwise(call) or self.permuted(call)
        asked = self.wanted(call)
        if asked is None:
            asked = self.followed(call, attrs)
        return None if asked is None else self.converted(call, asked)

    def followed(self, call: Call, attrs: Mapping[str, str]) -> Mapping[str, str] | None:
        """The layout of what a call reads, where it has a layout for nothing else."""
        declaration: OpDeclaration = call.op.get_attr("declaration")  # type: ignore[union-attr]
        if len(attrs) != 1 or call.attrs is None:
            return None
        (attr,) = attrs
        for declared, arg in zip(declaration.signature.inputs, call.args, strict=False):
            laid = self.laid.get(id(arg))
            if declared.layout and laid is not None and laid.original == str(call.attrs.as_dict()[attr]):
                return {attr: laid.layout}
        return None

    def converted(self, call: Call, asked: Mapping[str, str]) -> _Laid | None:
        """`call` with other layouts; None where it has them, where it does not take them, or has several results."""
        declaration: OpDeclaration = call.op.get_attr("declaration")  # type: ignore[union-attr]
        outputs = declaration.signature.outputs
        if call.attrs is None or not isinstance(call.checked_type, TensorType) or len(outputs) != 1:
            return None
        before = {name: str(value) for name, value in call.attrs.as_dict().items() if name in asked}
        out_attr = outputs[0].layout[0] if outputs[0].layout else None
        if before == dict(asked) or out_attr is None or out_attr not in asked:
            return None
        args: list[Expr] = []
        try:
            for declared, arg in zip(declaration.signature.inputs, call.args, strict=True):
                attr = declared.layout[0] if declared.layout else ""
                args.append(self.stored(arg, before[attr], asked[attr]) if attr in asked else self.value(arg))
            attrs = type(call.attrs)(**{**call.attrs.as_dict(), **asked})
            made = Call(call.op, tuple(args), attrs, call.type_args, span=call.span)
        except OpgenError:  # such as channels that the blocks do not divide
            return None
        return _Laid(made, asked[out_attr], before[out_attr])

    def stored(self, arg: Expr, original: str, layout: str) -> Expr:
        """An operand in another layout."""
        laid = self.laid.get(id(arg))
        if laid is not None and (laid.original, laid.layout) == (original, layout):
            return laid.stored
        value = self.value(arg)
        return value if original == layout else layout_transform(value, original, layout)

    def elementwise(self, call: Call) -> _Laid | None:
        """An elementwise call on values that are stored in one layout."""
        laid = next((self.laid[id(arg)] for arg in call.args if id(arg) in self.laid), None)
        known = None if laid is None else facts(call)
        read = None if known is None else known.elementwise
        type_ = call.checked_type
        if laid is None or read is None or not isinstance(type_, TensorType) or not type_.is_static:
            return None
        axes = {operand.position: operand.axes for operand in read}
        args: list[Expr] = []
        for position, arg in enumerate(call.args):
            made = self.beside(arg, axes.get(position, ()), laid, type_)
            if made is None:
                return None
            args.append(made)
        made_call = Call(call.op, tuple(args), call.attrs, call.type_args, span=call.span)
        return _Laid(made_call, laid.layout, laid.original)

    def permuted(self, call: Call) -> _Laid | tuple[_Laid, ...] | None:
        """A call that is the same on permuted operands, where that moves no more operands than it leaves in place."""
        parts = [arg.fields if isinstance(arg, Tuple) else (arg,) for arg in call.args]
        laid = next((self.laid[id(part)] for each in parts for part in each if id(part) in self.laid), None)
        if laid is None or not _is_static(call.checked_type):
            return None
        layout, original = laid.layout, laid.original
        if parse_layout(layout).is_blocked or parse_layout(original).is_blocked:
            return None
        order = tuple([original.index(letter) for letter in layout])
        orders = [
            order if each and all([_rank(part) == len(order) for part in each]) else None for each in parts
        ]
        permutable = [
            part for each, own in zip(parts, orders, strict=True) if own is not None for part in each
        ]
        there = [self.laid.get(id(part)) for part in permutable]
        stay = sum([one is not None and (one.layout, one.original) == (layout, original) for one in there])
        moved = len(permutable) - stay - sum([isinstance(part, Constant) for part in permutable])
        found = permuted(call, orders) if moved <= stay else None
        if found is None:
            return None
        args: list[Expr] = []
        for arg, each, own in zip(call.args, parts, orders, strict=True):
            made = [self.value(part) if own is None else self.stored(part, original, layout) for part in each]
            args.append(Tuple(tuple(made)) if isinstance(arg, Tuple) else made[0])
        made_call = Call(call.op, tuple(args), found.attrs, call.type_args, span=call.span)
        known = facts(made_call) if found.attrs != call.attrs else None
        copied = known.copied(0) if known is not None and known.is_plain else None
        stored = made_call if copied is None else args[copied]  # a transpose to what it is stored as
        return _results(stored, found.results, original)

    def beside(self, arg: Expr, axes: Sequence[int], laid: _Laid, result: TensorType) -> Expr | None:
        """An operand of an elementwise call as its result is stored; None where its layout has no such form."""
        type_ = arg.checked_type
        if not isinstance(type_, TensorType):
            return None
        if all([axis == UNIT for axis in axes]):
            return self.value(arg)  # one element for all
        if same_shape(type_.shape, result.shape):
            return self.stored(arg, laid.original, laid.layout)
        if parse_layout(laid.original).is_blocked:
            return None
        shape = [1] * result.ndim
        for own, axis in enumerate(axes):
            if axis != UNIT:
                shape[axis] = type_.concrete_shape[own]
        value = self.value(arg)
        whole = value if tuple(shape) == type_.concrete_shape else reshape(value, shape)
        layout = parse_layout(laid.layout)
        if layout.is_blocked:
            return _blocked(whole, shape, layout, laid.original)
        order = [laid.original.index(letter) for letter in laid.layout]
        if isinstance(whole, Constant):
            return Constant(np.ascontiguousarray(whole.data.transpose(order)))
        return layout_transform(whole, laid.original, laid.layout)

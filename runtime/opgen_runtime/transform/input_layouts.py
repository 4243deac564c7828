"""`with_input_layouts`: inputs that lie in another layout than the ops that read them state (NNVM's CorrectLayout).

    {"x": "NHWC"}: fn (%x: [1, 4, 6, 6]) { conv2d(%x, ..) }
-->                fn (%x: [1, 6, 6, 4]) { conv2d(layout_transform(%x, NHWC, NCHW), ..) }

Where ConvertLayout or AlterOpLayout has an op compute in the layout of its input, the two moves are none.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..base.errors import AttrError, PassError, did_you_mean
from ..declaration import OpDeclaration
from ..ir import Call, Expr, Function, IRModule, Var, post_order, substitute
from ..operator import IncompleteType, Op, parse_layout
from .build import layout_transform


def with_input_layouts(module: IRModule, layouts: Mapping[str, str]) -> IRModule:
    """The module whose main takes inputs, by name, in these layouts, and moves them to those that its ops state.

    Raises PassError for a name of no input, for one of whose axes no op says the names, or several say others, and for
    a text that is no layout, or has other axes.
    """
    main = module["main"]
    stated = _stated(main)
    names = {param.name_hint: param for param in main.params}
    values: dict[Var, Expr] = {}
    new: dict[Var, Var] = {}
    for name, layout in layouts.items():
        param = names.get(name)
        if param is None:
            raise PassError(
                f"layout: main has no input {name!r}{did_you_mean(name, names)} (it has {', '.join(names) or 'none'})"
            )
        known = stated.get(param, ())
        if len(known) != 1:
            said = f"they are {' and '.join(known)}" if known else "none says its layout"
            raise PassError(f"layout: the ops that read input {name!r} do not state one layout: {said}")
        _check_axes(name, layout, known[0])
        if known[0] != layout:
            new[param] = _stored(param, known[0], layout)
            values[param] = layout_transform(new[param], layout, known[0])
    if not new:
        return module
    params = tuple([new.get(param, param) for param in main.params])
    body = substitute(main.body, values)
    return module.with_functions(
        {"main": Function(params, body, main.ret_type, main.type_params, main.attrs)}
    )


def _check_axes(name: str, layout: str, stated: str) -> None:
    try:
        letters = parse_layout(layout).canonical_names
    except AttrError as error:
        raise PassError(f"layout of input {name!r}: {error}") from None
    if sorted(letters) != sorted(parse_layout(stated).canonical_names):
        raise PassError(f"layout of input {name!r} is {layout!r}, which does not have the axes of {stated}")


def _stated(main: Function) -> dict[Var, tuple[str, ...]]:
    """The layouts in which ops read parameters, each once."""
    found: dict[Var, tuple[str, ...]] = {}
    for node in post_order(main.body):
        if not isinstance(node, Call) or not isinstance(node.op, Op) or node.attrs is None:
            continue
        declaration: OpDeclaration | None = node.op.get_attr("declaration")
        attrs = node.attrs.as_dict()
        for declared, arg in zip(
            () if declaration is None else declaration.signature.inputs, node.args, strict=False
        ):
            if declared.layout and isinstance(arg, Var):
                layout = str(attrs[declared.layout[0]])
                found[arg] = tuple(dict.fromkeys((*found.get(arg, ()), layout)))
    return found


def _stored(param: Var, stated: str, layout: str) -> Var:
    """The variable of an input in another layout."""
    if isinstance(param.checked_type, IncompleteType):
        return Var(param.name_hint, span=param.span)
    return Var(param.name_hint, layout_transform(param, stated, layout).checked_type, span=param.span)

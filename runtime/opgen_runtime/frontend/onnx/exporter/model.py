"""`export`: a program of declared ops as a model of ONNX."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, OperatorSetIdProto

from ....base.version import VERSION
from ....ir import Expr, Function, IRModule, Var
from ....operator import FuncType, TensorType
from ....run.executor.building import as_graph
from ..errors import ExportError, ModelError, said
from . import writers as writers
from .files import write_model
from .graph import Writing, leaves
from .nodes import Names, Nodes, NoStandard, Value, tensor_proto
from .values import value_info

OPSET: Final = 21
"""The opset that is written where none is asked for: onnxruntime runs it since 1.20."""
OLDEST: Final = 18
"""Before it, reductions took their axes otherwise."""


def export(
    program: Function | IRModule | Expr,
    path: str | os.PathLike[str] | None = None,
    params: Mapping[str, np.ndarray] | None = None,
    *,
    opset: int = OPSET,
    standard: bool = True,
) -> ModelProto:
    """A program as a model of ONNX, written to `path` where one is given, whole or not at all.

    `program`: a function, a module (its `main`), or an expression, a function of its free variables.  `params`:
    arrays by the names of variables, which become weights; the other variables are the inputs, and their open dims
    have names there.  An op is written in ONNX's operators where they say it; else, and all ops without `standard`,
    as a node of the domain of the project that declares it.

    Raises ExportError for what ONNX cannot hold, and for a file that cannot be written.
    """
    newest = onnx.defs.onnx_opset_version()
    if not OLDEST <= opset <= newest:
        raise ExportError(f"opset {opset}; expected {OLDEST} to {newest}")
    module = program if isinstance(program, IRModule) else IRModule.from_expr(program)
    if "main" not in module:
        raise ExportError("the module has no function @main")
    module = as_graph(module)
    writing = Writing(Names(opset), module, standard)
    try:
        model = _model(writing, module["main"], dict(params or {}))
    except (ModelError, NoStandard) as error:
        raise ExportError(said(error) if isinstance(error, ModelError) else str(error)) from None
    write_model(model, None if path is None else os.fspath(path))
    return model


def _model(writing: Writing, main: Function, params: dict[str, np.ndarray]) -> ModelProto:
    names, nodes = writing.names, Nodes(writing.names)
    _check_params(main, params)
    arguments: list[Value] = []
    inputs: list[Value] = []
    for var in main.params:
        type_ = _type_of(var)
        if var.name_hint in params:
            array = params[var.name_hint]
            arguments.append(names.weight(array, var.name_hint))
            continue
        value = Value(names.fresh(var.name_hint or "input"), type_.dtype, type_.shape)
        names.learn(value, type_)
        arguments.append(value)
        inputs.append(value)
    result = writing.body(main, arguments, nodes)
    kind = main.checked_type
    assert isinstance(kind, FuncType)
    given = [value_info(each) for each in inputs]
    graph = writing.graph("main", nodes, given, leaves(result), kind.ret)
    _name_outputs(names, graph)
    used = _used(graph.node)
    graph.initializer.extend(
        [tensor_proto(array, name) for name, array in names.arrays.items() if name in used]
    )
    domains = sorted({"", *_domains(graph.node)})
    imports = [
        OperatorSetIdProto(domain=each, version=1 if each else writing.names.opset) for each in domains
    ]
    return ModelProto(
        ir_version=onnx.helper.find_min_ir_version_for(imports, ignore_unknown=True),
        producer_name="opgen",
        producer_version=VERSION,
        opset_import=imports,
        graph=graph,
    )


def _check_params(main: Function, params: Mapping[str, np.ndarray]) -> None:
    """Raises ExportError for an array that no variable takes."""
    types = {var.name_hint: _type_of(var) for var in main.params}
    for name, array in params.items():
        if name not in types:
            raise ExportError(
                f"param {name!r} is no variable of the program; it has {', '.join(types) or 'none'}"
            )
        type_ = types[name]
        if (
            array.dtype.name != type_.dtype
            or len(array.shape) != len(type_.shape)
            or any(
                [
                    isinstance(want, int) and want != have
                    for want, have in zip(type_.shape, array.shape, strict=True)
                ]
            )
        ):
            found = TensorType(array.shape, array.dtype.name)
            raise ExportError(f"param {name!r} is a {found}, expected {type_}")


def _type_of(var: Var) -> TensorType:
    if not isinstance(var.checked_type, TensorType):
        raise ExportError(f"variable {var.name_hint!r} is a {var.checked_type}; expected a tensor")
    return var.checked_type


def _name_outputs(names: Names, graph: onnx.GraphProto) -> None:
    """Calls the results `output`, or `output0` and so on."""
    several = len(graph.output) > 1
    new = {
        value.name: names.fresh(f"output{k}" if several else "output") for k, value in enumerate(graph.output)
    }
    for value in graph.output:
        value.name = new[value.name]
    _rename(graph.node, new)


def _rename(nodes: Sequence[NodeProto], new: Mapping[str, str]) -> None:
    for node in nodes:
        node.input[:] = [new.get(name, name) for name in node.input]
        node.output[:] = [new.get(name, name) for name in node.output]
        for each in node.attribute:
            if each.HasField("g"):
                _rename(each.g.node, new)


def _used(nodes: Sequence[NodeProto]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        found.update(node.input)
        for each in node.attribute:
            if each.HasField("g"):
                found |= _used(each.g.node)
    return found


def _domains(nodes: Sequence[NodeProto]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        found.add(node.domain)
        for each in node.attribute:
            if each.HasField("g"):
                found |= _domains(each.g.node)
    return found

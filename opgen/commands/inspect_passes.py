"""`opgen inspect --passes`: the passes, or what each of them made of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from opgen_runtime.ir import Call, Function, IRModule, post_order
from opgen_runtime.operator import Op
from opgen_runtime.run.compile import pipeline
from opgen_runtime.transform import Pass, PassContext, all_passes

from .onnx_models import program_of


def passes() -> list[dict[str, object]]:
    """The passes in order: name, level, what it does, and what it changes of values."""
    return [_pass(row.run) for row in pipeline.GRAPH if isinstance(row.run, Pass)]


def passes_of_model(path: str, dims: Mapping[str, int], level: int) -> list[dict[str, object]]:
    """Each pass that a model goes through at a level: how many calls there are then, and which came and went.

    Calls are told apart by their ops and the layouts of their operands.  Raises OpgenError, Failure.
    """
    module = program_of(path, dims)
    before = _calls(module)
    found: list[dict[str, object]] = []
    for row, after in pipeline.through_graph(module, PassContext(level)):
        calls = _calls(after)
        changed = {label: calls[label] - before[label] for label in (*before, *calls)}
        found.append(
            {
                "name": row.name,
                "calls": calls.total(),
                "changed": {label: count for label, count in sorted(changed.items()) if count},
            }
        )
        before = calls
    return found


def _calls(module: IRModule) -> Counter[str]:
    return Counter([label for function in module.functions.values() for label in _labels(function)])


def _labels(function: Function) -> Iterator[str]:
    for node in post_order(function):
        if isinstance(node, Call) and isinstance(node.op, Op):
            yield " ".join([node.op.name, *_layouts(node)])


def _layouts(call: Call) -> list[str]:
    """The layouts of the operands that have one."""
    assert isinstance(call.op, Op)
    declaration = call.op.get_attr("declaration")
    if declaration is None or call.attrs is None:
        return []
    attrs = call.attrs.as_dict()
    return [str(attrs[each.layout[0]]) for each in declaration.signature.inputs if each.layout]


def _pass(each: Pass) -> dict[str, object]:
    makers = {maker.info.name: maker for maker in all_passes()}
    doc = (makers[each.info.name].__doc__ or "").strip().split("\n")[0]
    return {
        "name": each.info.name,
        "level": each.info.opt_level,
        "values": each.info.error_bound or "kept",
        "doc": doc,
    }

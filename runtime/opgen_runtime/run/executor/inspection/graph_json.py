"""Plans as JSON: nodes by number, which graph runtimes and viewers of others read; nothing here does.

    nodes          inputs and constants (`"op": "null"`), kernels (`"kernel"`), and what else a plan does (`"copy"`,
                   `"if"`, `"loop"`, ...); `inputs` are entries, `attrs` say more
    arg_nodes      the numbers of the inputs and constants
    heads          the entries of the results
    node_row_ptr   the number of each node's first entry, and of all entries
    attrs          of each entry, in order: shape, dtype, and its offset in the memory between kernels, -1 elsewhere

An entry is (node, which of its outputs, 0).  What `if` and `loop` fill are outputs of the `end` behind them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from ...compile import Kernel, Slot
from ...compile.kernel.symbolic import SymbolicSlot
from ...compile.program.plan import Again, Copy, End, Held, If, Loop, Plan, Put, PutSlice, Run
from ..arrays.params import Params


def graph_of_plan(plan: Plan, kernels: Sequence[Kernel], inputs: Sequence[str], params: Params) -> str:
    """The graph of a plan; constants that are params have their names."""
    names = {id(array): name for name, array in params.items()}
    graph = _Graph(plan)
    for slot, name in enumerate(inputs):
        graph.argument(name, slot)
    for k, (slot, array) in enumerate(plan.constants.items()):
        graph.argument(names.get(id(array), f"constant{k}"), slot)
    begun: list[If | Loop] = []
    for step in plan.code:
        match step:
            case Run():
                name = kernels[step.kernel].name
                outputs = (*step.outputs, *step.lengths)
                graph.node("kernel", step.inputs, outputs, {"func_name": name}, name)
            case Copy():
                graph.node("copy", [step.source], [step.target])
            case Put():
                graph.node("put", [step.rows, step.place, step.value], [step.rows])
            case PutSlice():
                attrs = {"axis": step.axis, "start": str(step.start)}
                graph.node("put_slice", [step.whole, step.part], [step.whole], attrs)
            case If():
                graph.node("if", [step.condition], [])
                begun.append(step)
            case Loop():
                graph.node("loop", step.initial, step.params, {"limit": step.limit})
                begun.append(step)
            case Again():
                graph.node("again", step.values, [])
            case End():
                graph.node("end", [], begun.pop().results)
            case _:
                graph.node(type(step).__name__.lower(), [], [])
    return graph.text(plan.outputs)


def graph_of_kernel(kernel: Kernel) -> str:
    """The graph of a program of one kernel."""
    slots = [_held(slot) for slot in (*kernel.inputs, *kernel.outputs)]
    count = len(kernel.inputs)
    outputs = tuple(range(count, len(slots)))
    code = (Run(0, tuple(range(count)), outputs),)
    plan = Plan(count, {}, tuple(slots), code, outputs, outputs, (), {}, 0)
    return graph_of_plan(plan, [kernel], [slot.name for slot in kernel.inputs], {})


class _Graph:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._nodes: list[dict[str, object]] = []
        self._entries: dict[int, list[int]] = {}  # slot -> the entry that filled it last
        self._slots: list[int] = []  # of all entries, in order
        self._rows = [0]

    def argument(self, name: str, slot: int) -> None:
        self.node("null", [], [slot], name=name)

    def node(
        self,
        op: str,
        inputs: Iterable[int],
        outputs: Sequence[int],
        attrs: Mapping[str, object] | None = None,
        name: str | None = None,
    ) -> None:
        """A node that reads slots and fills others."""
        number = len(self._nodes)
        entries = [self._entries[slot] for slot in inputs]
        made: dict[str, object] = {
            "op": op,
            "name": name if op == "null" else f"{name or op}_{number}",
            "inputs": entries,
        }
        if op != "null":
            made["attrs"] = {"num_inputs": len(entries), "num_outputs": len(outputs), **(attrs or {})}
        self._nodes.append(made)
        self._entries.update({slot: [number, k, 0] for k, slot in enumerate(outputs)})
        self._slots += outputs
        self._rows.append(len(self._slots))

    def text(self, results: Sequence[int]) -> str:
        held = [self._plan.held[slot] for slot in self._slots]
        return json.dumps(
            {
                "nodes": self._nodes,
                "arg_nodes": [k for k, node in enumerate(self._nodes) if node["op"] == "null"],
                "heads": [self._entries[slot] for slot in results],
                "node_row_ptr": self._rows,
                "attrs": {
                    "shape": [[_number(extent) for extent in each.shape] for each in held],
                    "dtype": [each.dtype.name for each in held],
                    "offset": [_number(self._plan.offsets.get(slot, -1)) for slot in self._slots],
                },
            },
            indent=2,
        )


def _number(value: object) -> int | str:
    """An int, or a symbolic one as its text."""
    return value if isinstance(value, int) else str(value)


def _held(slot: Slot) -> Held:
    return Held(slot.dims if isinstance(slot, SymbolicSlot) else slot.shape, slot.dtype)

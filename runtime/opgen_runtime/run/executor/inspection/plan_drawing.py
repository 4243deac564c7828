"""Plans as drawings: inputs, constants, kernels and results are nodes, slots the edges between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....ir.drawing import Drawing, Edge, Kind, Node, output_names
from ....ir.picture import Pictured
from ...compile import Kernel, Slot
from ...compile.program.plan import Again, Copy, Else, End, If, Loop, Plan, Put, PutSlice, Run


class Drawn(Pictured):
    """What writes a drawing of an executable, which is no program of the graph IR."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing

    def drawing(self) -> Drawing:
        return self._drawing


def drawing_of_plan(plan: Plan, kernels: Sequence[Kernel], takes: Sequence[Slot]) -> Drawing:
    """What there is to see of a plan; the values that a loop begins again with are read by a node `again`."""
    artist = _Artist(plan)
    for slot, given in enumerate(takes):
        artist.written[slot] = (artist.node("input", (f"%{given.name}", str(given)), ()),)
    for step in plan.code:
        artist.step(step, kernels)
    for name, slot in zip(output_names(len(plan.outputs)), plan.outputs, strict=True):
        artist.node("output", (name,), [slot])
    return artist.drawing


def drawing_of_kernel(kernel: Kernel) -> Drawing:
    """A program of one kernel."""
    nodes = [Node("input", (f"%{slot.name}", str(slot))) for slot in kernel.inputs]
    call = len(nodes)
    nodes += [
        Node("call", (kernel.name,)),
        *[Node("output", (name,)) for name in output_names(len(kernel.outputs))],
    ]
    edges = [Edge(k, call, str(slot)) for k, slot in enumerate(kernel.inputs)]
    edges += [Edge(call, call + 1 + k, str(slot)) for k, slot in enumerate(kernel.outputs)]
    return Drawing(nodes, edges)


class _Artist:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.drawing = Drawing()
        self.written: dict[int, tuple[int, ...]] = {}  # slot -> the nodes that may have filled it
        self.open: list[If | Loop] = []
        self.then: dict[
            int, dict[int, tuple[int, ...]]
        ] = {}  # by depth of `open`: what the side of `then` has filled

    def step(self, step: object, kernels: Sequence[Kernel]) -> None:
        """One instruction."""
        if isinstance(step, Run):
            node = self.node("call", (kernels[step.kernel].name,), step.inputs)
            self.written.update(dict.fromkeys((*step.outputs, *step.lengths), (node,)))
        elif isinstance(step, Copy):
            self.written[step.target] = self.sources(step.source)
        elif isinstance(step, Put):
            self.written[step.rows] = (self.node("call", ("put",), (step.rows, step.place, step.value)),)
        elif isinstance(step, PutSlice):
            self.written[step.whole] = (self.node("call", ("put",), (step.whole, step.part)),)
        elif isinstance(step, Loop):
            for param, initial in zip(step.params, step.initial, strict=True):
                self.written[param] = self.sources(initial)
            self.open.append(step)
        elif isinstance(step, Again):
            self.node("call", ("again",), step.values)
        elif isinstance(step, If):
            self.node("call", ("if",), [step.condition])
            self.open.append(step)
        elif isinstance(step, Else):
            results = self.open[-1].results
            self.then[len(self.open)] = {slot: self.written.pop(slot, ()) for slot in results}
        elif isinstance(step, End):
            for slot, nodes in self.then.pop(len(self.open), {}).items():
                self.written[slot] = tuple(dict.fromkeys([*nodes, *self.written.get(slot, ())]))
            self.open.pop()

    def node(self, kind: Kind, label: tuple[str, ...], slots: Iterable[int]) -> int:
        """A new node that reads slots."""
        edges = [(source, str(self.plan.held[slot])) for slot in slots for source in self.sources(slot)]
        number = len(self.drawing.nodes)
        self.drawing.nodes.append(Node(kind, label))
        self.drawing.edges += [Edge(source, number, text) for source, text in edges]
        return number

    def sources(self, slot: int) -> tuple[int, ...]:
        """The nodes that may have filled a slot; a constant is drawn when it is first read."""
        if slot in self.plan.constants and slot not in self.written:
            self.written[slot] = (self.node("constant", ("constant", str(self.plan.held[slot])), ()),)
        return self.written.get(slot, ())

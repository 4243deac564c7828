"""Which functions of a model call which: no function calls itself, and all calls together stay within the limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .errors import ModelError, shown
from .graph import FunctionKey, Model, Node
from .limits import Limits


def check_calls(model: Model, limits: Limits) -> None:
    """Raises ModelError where a function calls itself, or where calls expand to too many nodes or too deep.

    Counted, not expanded: thirty functions that each call the last one twice are 2^30 nodes.
    """
    uses = {key: _uses(body.bound_nodes({})) for key, body in model.functions.items()}
    sizes: dict[FunctionKey, int] = {}
    depths: dict[FunctionKey, int] = {}
    for key in _callees_first(uses):
        sizes[key] = _expanded(uses[key], sizes)
        depths[key] = 1 + max([depths[callee] for callee in uses[key] if callee in depths], default=0)
        if depths[key] > limits.depth:
            raise ModelError(f"functions call each other deeper than {limits.depth} (Limits.depth)")
    total = _expanded(_uses(model.graph.nodes), sizes)
    if total > limits.nodes:
        written = f"{total:,}" if total < 1 << 64 else "more than 2^64"
        raise ModelError(
            f"the model's functions expand to {written} nodes, {limits.nodes:,} are allowed (Limits.nodes)"
        )


def _uses(nodes: Iterable[Node]) -> Counter[FunctionKey]:
    """How often each operator is used, in subgraphs too."""
    found: Counter[FunctionKey] = Counter()
    waiting: list[Iterable[Node]] = [nodes]
    while waiting:
        for node in waiting.pop():
            found[node.function] += 1
            waiting.extend([graph.nodes for graph in node.subgraphs()])
    return found


def _expanded(uses: Counter[FunctionKey], sizes: dict[FunctionKey, int]) -> int:
    return sum([count * (1 + sizes.get(key, 0)) for key, count in uses.items()])


def _callees_first(uses: dict[FunctionKey, Counter[FunctionKey]]) -> list[FunctionKey]:
    """The functions, each after those that it calls. Raises ModelError for one that calls itself."""
    waits = {key: sum([callee in uses for callee in used]) for key, used in uses.items()}
    callers: dict[FunctionKey, list[FunctionKey]] = {key: [] for key in uses}
    for key, used in uses.items():
        for callee in used:
            if callee in uses:
                callers[callee].append(key)
    ready = [key for key, count in waits.items() if not count]
    for key in ready:  # grows
        for caller in callers[key]:
            waits[caller] -= 1
            if not waits[caller]:
                ready.append(caller)
    if len(ready) < len(uses):
        circle = ", ".join(shown(".".join(part for part in key if part)) for key, n in waits.items() if n)
        raise ModelError(f"functions that call themselves, or each other in a circle: {shown(circle)}")
    return ready

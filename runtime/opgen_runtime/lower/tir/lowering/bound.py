"""infer_bound: the range of every axis of every stage, consumers first."""

from __future__ import annotations

from ....base.arith import Analyzer, Expr, Select, Var, const, free_vars, ge, le, lt, post_order, substitute
from ....base.arith.relax import Range, Relaxer, linear, union
from ....base.errors import LoweringError
from ....base.vocabulary import INDEX
from ....compute.te.tensor import IterVar, Read, Reduce, Tensor
from ...schedule import Domain, Schedule, Stage, is_taken_apart, spread

Extent = int | Expr


def infer_bound(schedule: Schedule) -> dict[Stage, Domain]:
    """The domain of every stage with loops of its own.

    Raises LoweringError where a stage is attached to a loop that is gone, or is read from outside the loop that it
    is attached to.
    """
    domains: dict[Stage, Domain] = {}
    paths: dict[Stage, dict[Var, Extent]] = {}
    readers: dict[Tensor, list[tuple[Stage, list[Read]]]] = {}
    trips: dict[Var, int | None] = {}
    for stage in reversed(schedule.stages):
        if stage.inlined or stage.is_placeholder:
            continue
        for state in stage.tensors if stage.rows is not None else ():
            member = stage.member_of(state)
            domains[member] = _domain(member, [], domains, paths, trips)
        if stage.body is not None:
            paths[stage] = _path(stage, paths, domains)
            domain = _domain(stage, readers.get(stage.tensor, []), domains, paths, trips)
            domains[stage] = domain
            for leaf in stage.leaves:
                extent = domain.extents[leaf]
                trips[leaf.var] = extent if isinstance(extent, int) else None
        else:
            paths[stage] = {}
        _record_reads(stage, readers, trips)
    return domains


def _path(
    stage: Stage, paths: dict[Stage, dict[Var, Extent]], domains: dict[Stage, Domain]
) -> dict[Var, Extent]:
    """The loop vars around the place where a stage is computed, with their extents."""
    if stage.attach is None:
        return {}
    parent, axis = stage.attach.stage, stage.attach.axis
    where = f"stage {stage.name} is attached to {axis.var.name} of stage {parent.name}"
    if axis not in parent.leaves:
        loops = ", ".join(leaf.var.name for leaf in parent.leaves)
        raise LoweringError(f"{where}, which is no longer a loop; its loops are {loops}")
    if parent not in domains:
        raise LoweringError(f"{where}, which is inlined or computed before it")
    path = dict(paths[parent])
    for leaf in parent.leaves[: parent.leaves.index(axis) + 1]:
        path[leaf.var] = domains[parent].extents[leaf]
    return path


def _record_reads(
    stage: Stage, readers: dict[Tensor, list[tuple[Stage, list[Read]]]], trips: dict[Var, int | None]
) -> None:
    if stage.body is None:
        for tensor in stage.op.inputs():
            readers.setdefault(tensor, []).append((stage, []))
        return
    found: dict[Tensor, list[Read]] = {}
    for node in post_order(stage.body):
        if isinstance(node, Read):
            found.setdefault(node.tensor, []).append(node)
        elif isinstance(node, Reduce) and node.axes is not stage.reduce_axes:
            for axis in node.axes:
                trips.setdefault(axis.var, axis.extent if isinstance(axis.extent, int) else None)
    for tensor, reads in found.items():
        readers.setdefault(tensor, []).append((stage, reads))


def _domain(
    stage: Stage,
    readers: list[tuple[Stage, list[Read]]],
    domains: dict[Stage, Domain],
    paths: dict[Stage, dict[Var, Extent]],
    trips: dict[Var, int | None],
) -> Domain:
    domain = Domain()
    if stage.attach is None:
        domain.minimums = [const(0, INDEX) for _ in stage.axes]
        domain.shape = [axis.extent for axis in stage.axes]
        if stage.follows is not None and stage.line is not None:  # one row in each step of a scan
            domain.minimums[stage.line.dim] = stage.line.index(stage.follows.step)
            domain.shape[stage.line.dim] = 1
    else:
        _region(stage, domain, readers, domains, paths, trips)
    spread(stage, domain)
    if stage.attach is not None:
        _edges(stage, domain, paths[stage])
    return domain


def _region(
    stage: Stage,
    domain: Domain,
    readers: list[tuple[Stage, list[Read]]],
    domains: dict[Stage, Domain],
    paths: dict[Stage, dict[Var, Extent]],
    trips: dict[Var, int | None],
) -> None:
    """The part of an attached stage that one iteration of the loop around it needs."""
    assert stage.attach is not None
    path = paths[stage]
    ranges: list[list[Range | None]] = [[] for _ in stage.axes]
    fixed = {var: extent for var, extent in path.items() if isinstance(extent, int)}
    relaxer = Relaxer({var: extent for var, extent in trips.items() if var not in path}, fixed)
    for reader, reads in readers:
        around = set(paths[reader])
        if reader is stage.attach.stage:
            around |= set(path)
        if not set(path) <= around:
            raise LoweringError(
                f"stage {stage.name} is attached to {stage.attach.axis.var.name} of stage {stage.attach.stage.name}, "
                f"but stage {reader.name} reads it outside that loop"
            )
        values = domains[reader].values
        analyzer = _running(domains[reader])
        for read in [domains[reader].simplified(read) for read in reads]:
            for position, index in enumerate(read.children()):
                placed = substitute(index, values)
                if is_taken_apart(placed):
                    placed = analyzer.simplify(placed)
                ranges[position].append(relaxer.range(placed))
    for axis, found in zip(stage.axes, ranges, strict=True):
        whole = union(found) if found else None
        if whole is None or (isinstance(axis.extent, int) and whole[2] >= axis.extent):
            domain.minimums.append(const(0, INDEX))
            domain.shape.append(axis.extent)
        else:
            domain.minimums.append(linear(whole[0], whole[1]))
            domain.shape.append(whole[2])


def _running(domain: Domain) -> Analyzer:
    """What is known where the body of a stage runs: all its loops have iterations.

    So `i // d * d + i % d`, what a fused loop is taken apart into and put together from again, is `i`.
    """
    analyzer = Analyzer()
    for extent in domain.extents.values():
        if not isinstance(extent, int):
            analyzer.learn(ge(extent, 1), True)
    return analyzer


def _edges(stage: Stage, domain: Domain, path: dict[Var, Extent]) -> None:
    """Guards where the region of an attached stage may stand over an edge of its tensor."""
    relaxer = Relaxer({var: extent if isinstance(extent, int) else None for var, extent in path.items()}, {})
    analyzer: Analyzer | None = None
    for axis, minimum, extent in zip(stage.axes, domain.minimums, domain.shape, strict=True):
        if extent is axis.extent:
            continue
        found = relaxer.range(minimum)
        known = (
            found is not None and not found[0] and isinstance(extent, int) and isinstance(axis.extent, int)
        )
        if not known:
            analyzer = analyzer or _around(path)
        value = domain.values[axis.var]
        below = not known or (found is not None and found[1] < 0)
        beyond = not known or (found is not None and found[1] + found[2] - 1 + extent > axis.extent)
        if below and not (analyzer and analyzer.prove(ge(minimum, 0))):
            domain.data_guards.append(ge(value, 0))
        if beyond and not (analyzer and analyzer.prove(le(minimum + extent, axis.extent))):
            domain.data_guards.append(lt(value, axis.extent))


def _around(path: dict[Var, Extent]) -> Analyzer:
    """What is known inside the loops of a path."""
    analyzer = Analyzer()
    for var, extent in path.items():
        analyzer.bind(var, 0, extent)
    return analyzer


def read_region(stage: Stage, domain: Domain, tensor: Tensor, axis: IterVar) -> list[tuple[Expr, int]] | None:
    """The first index and the extent, per dim, of what one iteration of `axis` reads of a tensor; None if unknown.

    An index that other elements tell is one where no loop inside `axis` moves it.
    """
    assert stage.body is not None
    inside = stage.leaves[stage.leaves.index(axis) + 1 :]
    extents = {leaf.var: domain.extents[leaf] for leaf in inside}
    relaxer = Relaxer({var: n if isinstance(n, int) else None for var, n in extents.items()}, {})
    ranges: list[list[Range | None]] = [[] for _ in tensor.shape]
    for node in post_order(stage.body):
        if isinstance(node, Read) and node.tensor is tensor:
            for position, index in enumerate(node.indices):
                placed = substitute(index, domain.values)
                found = relaxer.range(placed)
                if found is None and extents.keys().isdisjoint(free_vars(placed)):
                    found = {placed: 1}, 0, 1
                ranges[position].append(found)
    whole = [union(found) for found in ranges]
    if any(each is None for each in whole):
        return None
    return [(linear(each[0], each[1]), each[2]) for each in whole if each is not None]


def is_certainly_read(stage: Stage, tensor: Tensor) -> bool:
    """Whether every iteration reads the elements that tell what it reads of a tensor: no choice is around them."""
    assert stage.body is not None
    surely: set[int] = set()
    stack = [stage.body]
    while stack:
        node = stack.pop()
        if id(node) not in surely:
            surely.add(id(node))
            stack.extend((node.condition,) if isinstance(node, Select) else node.children())
    reads = [node for node in post_order(stage.body) if isinstance(node, Read) and node.tensor is tensor]
    told = [node for read in reads for index in read.indices for node in post_order(index)]
    return all(id(node) in surely for node in told if isinstance(node, Read))

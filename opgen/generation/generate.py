"""The generated files of one project: what is known to be right is left alone, the rest is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic
from ..digests import digest
from ..emit.plan import Plan, make_plan
from ..project import Project
from .generator import generator_digest
from .listing import Listing, listing_from
from .pending import Pending, find_pending, has_files
from .records import Records, cache_folder
from .rewrites import generate_rewrites
from .workers import Others, Team

if TYPE_CHECKING:
    from ..emit.outputs import Output


@dataclass(frozen=True, slots=True)
class Generation:
    """What should be there, and what is wrong with the declarations."""

    project: Project
    kept: tuple[str, ...]  # files that are there as they should be
    outputs: tuple[Output, ...]
    found: tuple[Diagnostic, ...]
    problem: str | None  # a template that could not be rendered
    passed_over: tuple[str, ...]  # files called like declarations that are none
    listings: tuple[Listing, ...]  # of all ops without errors, by name

    def plan(self) -> Plan:
        """What must be done to the generated files.  Raises PlanError."""
        wanted = [(output.path, output.text) for output in self.outputs]
        return make_plan(wanted, self.project.folders, self.kept)


def generate(project: Project, processes: int | None = None, others: Others | None = None) -> Generation:
    """Check and render what is not known to be right.  Nothing of the project is written.

    `processes`: how many share the work; None: as many as it is worth.  `others`: those that do it, where given.
    """
    generator = generator_digest(project.templates)
    records = Records(project.root, generator, cache_folder())
    with Team(processes, others) as team:
        pending = find_pending(project, generator, records, team.expect)
        work = team.work(project, pending) if pending.units or not pending.is_regular else []
    entries = dict(pending.entries)
    outputs: list[Output] = []
    found: dict[Diagnostic, None] = {}
    problem: str | None = None
    for done in work:
        found.update(dict.fromkeys(done.found))
        problem = problem or done.problem
        for made in done.made:
            outputs += made.outputs
            entries[made.name] = {
                "operator": made.operator,
                "files": _digests(project, made.outputs),
                "listing": asdict(made.listing),
            }
    _remember(pending, entries, found, records)
    kept = [f"{project.root}/{name}" for entry in pending.entries.values() for name in entry["files"]]
    if not any(each.is_error for each in found) and problem is None:
        index = _index(project, generator, entries, records)
        outputs += index if isinstance(index, tuple) else ()
        kept += index if isinstance(index, list) else ()
        rewrites = generate_rewrites(project, generator, records, outputs)
        outputs += rewrites.outputs
        kept += rewrites.kept
        found.update(dict.fromkeys(rewrites.found))
        problem = rewrites.problem
    records.save()
    ordered = tuple(sorted(found, key=lambda each: (each.place, each.code)))
    ops = sorted(name for name, entry in entries.items() if entry["files"])
    listings = tuple(listing_from(entries[name]["listing"], pending.lines[name]) for name in ops)
    return Generation(
        project, tuple(kept), tuple(outputs), ordered, problem, pending.sources.passed_over, listings
    )


def _remember(
    pending: Pending, entries: dict[str, Any], found: Mapping[Diagnostic, None], records: Records
) -> None:
    """Keep a record of each document without an error; one of an abstract one has no files."""
    wrong = {each.place.path for each in found}
    for unit in pending.units:
        if unit.source.path in wrong or any(source.path in wrong for source in unit.chain):
            continue
        entry = entries.get(unit.facts.name)
        if entry is None and unit.facts.is_abstract:
            entry = entries[unit.facts.name] = {"operator": None, "files": {}}
        if entry is not None:
            records.add(unit.key, entry)


def _index(
    project: Project, generator: str, entries: Mapping[str, Any], records: Records
) -> tuple[Output, ...] | list[str]:
    """The files of the package's index to compare, or the paths of those that are there as they should be."""
    ops = sorted((name, entry["operator"]) for name, entry in entries.items() if entry["files"])
    folders = (project.relative(project.output), project.relative(project.opdefs))
    key = digest("index", generator, project.namespace, *folders, repr(ops))
    entry: Any = records.get(key)
    if entry is not None and has_files(project, entry):
        return [f"{project.root}/{name}" for name in entry["files"]]
    from ..emit.outputs import render_index
    from ..render import Renderer

    outputs = render_index(project, Renderer(project.templates), ops)
    records.add(key, {"files": _digests(project, outputs)})
    return outputs


def _digests(project: Project, outputs: Sequence[Output]) -> dict[str, str]:
    return {project.relative(each.path): sha256(each.text.encode()).hexdigest() for each in outputs}

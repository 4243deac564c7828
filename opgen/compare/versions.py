"""All ops of two versions of a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from opgen_runtime.base.vocabulary import dataclass

from ..analyse import DeclaredOp, check_project, declared_ops
from ..diagnostics import Diagnostic
from ..model import CheckedOp
from ..sources import SourceSet
from .change import Change
from .shown import shown_changes
from .stated import stated_changes


@dataclass(frozen=True, slots=True)
class Declarations:
    """One version: its files, those that they may extend, and the packages of its hand-written functions."""

    sources: SourceSet
    library: SourceSet | None
    packages: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed, by op, and what is wrong with the declarations of either version."""

    changes: tuple[Change, ...]
    found: tuple[Diagnostic, ...]
    unchanged: int
    new_versions: frozenset[str]  # ops whose `version:` is greater than it was
    not_upgraded: Mapping[
        str, tuple[int, ...]
    ]  # of these: versions whose saved calls break, and have no upgrade

    def unannounced(self) -> list[Change]:
        """The changes that break callers of an op without a new `version:`."""
        return [each for each in self.changes if each.breaking and each.op not in self.new_versions]


def compare_projects(old: Declarations, new: Declarations) -> Comparison:
    """Every change of every op; only ops whose declarations differ are checked."""
    before, after = _declared(old), _declared(new)
    digests = [{name: op.digest for name, op in each.items()} for each in (before, after)]
    differ = {name for name in {**before, **after} if digests[0].get(name) != digests[1].get(name)}
    first, wrong = _checked(old, [before[name] for name in differ & after.keys() & before.keys()])
    second, wrong_now = _checked(new, [after[name] for name in differ & after.keys()])
    changes: list[Change] = []
    for name in sorted(differ):
        if name not in after:
            changes.append(Change(name, "removed", "the op is gone", True))
        elif name not in before:
            changes.append(Change(name, "added", "the op is new", False))
        elif name in first and name in second:
            changes += compare_ops(first[name], second[name])
    announced = frozenset(
        name for name in first.keys() & second.keys() if second[name].version > first[name].version
    )
    broken = {change.op for change in changes if change.breaks_saved}
    missing = {
        name: tuple(
            v for v in range(first[name].version, second[name].version) if v not in _upgraded(second[name])
        )
        for name in sorted(announced & broken)
    }
    same = len({**before, **after}) - len(differ)
    return Comparison(
        tuple(changes),
        (*wrong, *wrong_now),
        same,
        announced,
        {name: each for name, each in missing.items() if each},
    )


def _upgraded(op: CheckedOp) -> set[int]:
    return {each.version for each in op.upgrades}


def compare_ops(old: CheckedOp, new: CheckedOp) -> list[Change]:
    """The changes of one op, breaking ones first."""
    found = [*stated_changes(old, new), *shown_changes(old, new)]
    if not found:
        found = [Change(old.name, "text", "only texts, tests or how it is computed changed", False)]
    return sorted(found, key=lambda change: not change.breaking)


def _declared(version: Declarations) -> dict[str, DeclaredOp]:
    ops, _ = declared_ops(version.sources, version.library)
    return {op.name: op for op in ops}


def _checked(
    version: Declarations, wanted: Sequence[DeclaredOp]
) -> tuple[dict[str, CheckedOp], list[Diagnostic]]:
    ids = {(op.source, op.document) for op in wanted}
    ops, found = check_project(
        version.sources, version.packages, library=version.library, wanted=lambda *id: id in ids
    )
    return {op.name: op for op in ops}, [each for each in found if each.is_error]

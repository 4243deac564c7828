"""Whether the generated files are what the declarations say, as far as their headers tell: nothing is rendered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..analyse import DeclaredOp, declared_ops, read_sources
from ..digests import op_key
from ..emit import Change, read_header
from ..emit.outputs import op_paths
from ..project import Project, resources
from .failure import Findings
from .reports import report


def require_fresh(project: Project, names: Sequence[str] = ()) -> None:
    """That the files of the named ops, or of all, were generated from the declarations as they stand.

    Raises Findings that names each file that was not; what cannot be read of the declarations is printed.
    """
    builtin = resources("opdefs")
    library = None if builtin == project.opdefs else read_sources(builtin)
    declared, found = declared_ops(read_sources(project.opdefs, project.root), library)
    errors = sum(finding.is_error for finding in found)
    if errors:
        report(found, "text")
        raise Findings(f"{errors} error{'s' if errors > 1 else ''} in declarations; no suite was run")
    wanted = [op for op in declared if not names or op.name in names]
    changed = [entry for op in wanted for entry in _changed(project, op)]
    if not names:
        changed += [(path, Change.ORPHANED) for path in _orphans(project, declared)]
    if changed:
        listed = "".join(f"\n  {project.relative(path)}: {change.value}" for path, change in changed[:10])
        rest = f"\n  and {len(changed) - 10} more" if len(changed) > 10 else ""
        raise Findings(
            f"the suites are not those of the declarations as they stand; run: opgen generate{listed}{rest}"
        )


def _changed(project: Project, op: DeclaredOp) -> Iterator[tuple[Path, Change]]:
    key = op_key(project.package, project.namespace, op.name, op.source, op.digest)
    for path in op_paths(project, op.name):
        header = read_header(path) if path.is_file() else None
        if header is None:
            yield path, Change.MISSING
        elif not header.intact:
            yield path, Change.EDITED
        elif header.key != key:
            yield path, Change.STALE


def _orphans(project: Project, declared: Sequence[DeclaredOp]) -> Iterator[Path]:
    """Suites of ops that are no longer declared."""
    expected = {op_paths(project, op.name)[1] for op in declared}
    for path in sorted(project.tests.glob("test_*.py")):
        if path not in expected and read_header(path) is not None:
            yield path

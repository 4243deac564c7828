"""The built-in library, from any project: its ops as their generated modules state them, and one op checked."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Final

from opgen_runtime import ops as runtime_ops
from opgen_runtime.declaration import OpDeclaration
from opgen_runtime.registry import Op

from ..analyse import SourceSet, check_project, read_sources
from ..model import CheckedOp
from ..project import Project, resources

_OP_KEY: Final = re.compile(r"^op:\s*([A-Za-z_]\w*)", re.MULTILINE)


def builtin_declarations() -> list[OpDeclaration]:
    """What the modules of all built-in ops state, by name; quick, as nothing is checked."""
    found = []
    for name in sorted(vars(runtime_ops)["__all__"]):
        import_module(f"{runtime_ops.__name__}._{name}")
        found.append(Op.get(name).get_attr("declaration"))
    return found


def builtin_op(name: str) -> tuple[Project, CheckedOp] | None:
    """The built-in library as a project, and its op `name`; only the file that declares it is checked."""
    opdefs = resources("opdefs")
    output = Path(str(runtime_ops.__file__)).resolve().parent
    root = Path(os.path.commonpath([opdefs, output]))
    package = runtime_ops.__name__
    tests = root / "tests" / "generated"
    project = Project(root, opdefs, output, tests, package, "", None, (package.partition(".")[0],))
    sources = read_sources(opdefs, root).sources
    home = [source for source in sources if name in _OP_KEY.findall(source.text)]
    packages = {each: project.import_root / each for each in project.packages}
    names = [op for source in sources for op in _OP_KEY.findall(source.text)]
    ops, _ = check_project(home, packages, names, SourceSet(sources))
    return next(((project, op) for op in ops if op.name == name), None)

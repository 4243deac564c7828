"""A process in which rules are tried: reads one job as JSON, writes what was found.

    {"root": .., "package": .., "modules": {name: {"path": .., "text": ..}}, "rewrites": [..]}

`modules`: those of ops that are not yet written as they will be; they are imported from here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.abc import ExecutionLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any

from opgen_runtime.declaration.rewrites import rewrite_from


class Unwritten(MetaPathFinder, ExecutionLoader):
    """Finds modules that are not written yet by their texts."""

    def __init__(self, modules: Mapping[str, Mapping[str, str]]) -> None:
        self.modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return spec_from_loader(fullname, self) if fullname in self.modules else None

    def is_package(self, fullname: str) -> bool:
        return self.modules[fullname]["path"].endswith("/__init__.py")

    def get_filename(self, fullname: str) -> str:
        return self.modules[fullname]["path"]

    def get_source(self, fullname: str) -> str:
        return self.modules[fullname]["text"]


def _used() -> tuple[str, ...]:
    """The files of the modules of ops that are imported: what rules were tried with."""
    modules = [module for module in list(sys.modules.values()) if hasattr(module, "OP") and module.__spec__]
    return tuple(sorted(str(module.__spec__.origin) for module in modules if module.__spec__))


def main() -> None:
    """Do the job of standard input."""
    job: dict[str, Any] = json.load(sys.stdin)
    sys.meta_path.insert(0, Unwritten(job["modules"]))
    sys.path.insert(0, job["root"])
    from importlib import import_module

    import_module(job["package"])  # its ops
    from opgen_runtime.testing.rule_trial import try_rewrite  # and with it the runtime, as it will be

    tried = [asdict(try_rewrite(rewrite_from(each))) for each in job["rewrites"]]
    json.dump({"tried": tried, "uses": _used()}, sys.stdout)


if __name__ == "__main__":
    main()

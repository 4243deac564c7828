"""The names of the package's public modules, whose places inside are the runtime's own affair.

`from opgen_runtime import te` and `from opgen_runtime.te import compute` both give the module that stands at
`opgen_runtime.compute.te`; it is one module with two names (base/public_names.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Public name -> where it is.
MODULES: Final[Mapping[str, str]] = {
    "arith": "base.arith",
    "eager": "run.calls.eager",
    "errors": "base.errors",
    "executor": "run.executor",
    "ir": "ir",
    "lang": "compute.lang",
    "ops": "ops",
    "registry": "operator.registry",
    "rules": "lower.library.schedules",
    "schedule": "lower.schedule",
    "target": "base.target",
    "te": "lower.schedule.te",
    "testing": "testing",
    "tir": "lower.tir",
    "transform": "transform",
    "types": "operator.types",
}
# Those that need an extra.
EXTRAS: Final[Mapping[str, str]] = {"dask": "frontend.dask"}
# Storeys that are functions, too -> where the function is.
FUNCTIONS: Final[Mapping[str, str]] = {"lower": "run.compile.scheduled.lower"}
# What modules of earlier versions, generated ones above all, import.
GONE: Final = ("attrs", "kernels", "schedules", "strategy", "tracing", "vocabulary", "run.eager")

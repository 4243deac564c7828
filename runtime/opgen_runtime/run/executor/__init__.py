"""Executors: what runs programs.

creating.py      create_executor(); debug.py, graph.py: the executors of these kinds
building.py      build(): a module, a function or a schedule, by what it is; module_key.py: a module in the cache
driver.py        a program compiled; interpreted.py: one without a plan
loading.py       load(): one that was saved; program_cache.py: programs kept for other processes
executable.py    Executable: a compiled program; source.py: what it was built from
crossed.py       Crossed: one that is compiled for another machine
initialising.py  values of variables with initialisers
graph_runtime.py GraphRuntime: inputs are set, the program runs, outputs are asked for
growing.py       programs that append to states in place
arrays/          params, states that grow, parameters whose memory results take; nested arrays, arrays of others
inspection/      what kernels cost, plans as text, pictures and JSON

Each name is imported with its first use: who loads a program needs neither passes nor schedules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.lazy_imports import import_lazily

__all__ = [
    "LEAST",
    "Arrays",
    "CompilingEvaluator",
    "Crossed",
    "DebugExecutor",
    "Entry",
    "Executable",
    "Executor",
    "GraphExecutor",
    "GraphRuntime",
    "Growing",
    "KernelCost",
    "Profile",
    "Result",
    "Specialisations",
    "State",
    "Stateful",
    "TensorFunction",
    "Trampoline",
    "Value",
    "VectorcallObject",
    "array_type",
    "as_array",
    "asarray",
    "bind",
    "build",
    "build_program",
    "concrete_types",
    "create_executor",
    "dim_value",
    "donations_of",
    "entered",
    "load",
    "load_function",
    "load_params",
    "most_bytes",
    "optimize",
    "save_params",
    "stateful",
    "statistics",
    "wrap",
]  # fmt: skip

if TYPE_CHECKING:
    from ..compile import Entry, Trampoline, VectorcallObject, entered
    from ..compile.function import TensorFunction
    from ..compile.interpret import (
        Arrays,
        Result,
        Value,
        array_type,
        as_array,
        bind,
        concrete_types,
        dim_value,
        wrap,
    )
    from ..compile.specialisations import LEAST, Specialisations, most_bytes, statistics
    from ..compile.store.params_file import load_params, save_params
    from .arrays.array_export import asarray
    from .arrays.donating import donations_of
    from .arrays.state import State
    from .base import Executor
    from .building import build, optimize
    from .creating import create_executor
    from .crossed import Crossed
    from .debug import DebugExecutor
    from .driver import CompilingEvaluator, build_program
    from .executable import Executable
    from .graph import GraphExecutor
    from .graph_runtime import GraphRuntime
    from .growing import Growing, Stateful, stateful
    from .inspection.profiling import KernelCost, Profile
    from .loading import load, load_function
else:
    _HOMES = {
        "..compile.native.entry": ("Entry",),
        "..compile.native.trampoline": ("Trampoline", "VectorcallObject", "entered"),
        "..compile.interpret": (
            "Arrays", "Result", "Value", "array_type", "as_array", "bind", "concrete_types", "dim_value", "wrap",
        ),
        "..compile.function": ("TensorFunction",),
        "..compile.store.params_file": ("load_params", "save_params"),
        "..compile.specialisations": ("LEAST", "Specialisations", "most_bytes", "statistics"),
        "base": ("Executor",),
        "building": ("build", "optimize"),
        "creating": ("create_executor",),
        "debug": ("DebugExecutor",),
        "arrays.donating": ("donations_of",),
        "driver": ("CompilingEvaluator", "build_program"),
        "crossed": ("Crossed",),
        "executable": ("Executable",),
        "graph": ("GraphExecutor",),
        "graph_runtime": ("GraphRuntime",),
        "growing": ("Growing", "Stateful", "stateful"),
        "arrays.array_export": ("asarray",),
        "loading": ("load", "load_function"),
        "inspection.profiling": ("KernelCost", "Profile"),
        "arrays.state": ("State",),
    }  # fmt: skip
    __getattr__ = import_lazily(__name__, {name: home for home, names in _HOMES.items() for name in names})

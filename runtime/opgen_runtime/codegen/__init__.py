"""Loop IR to native code: LLVM IR text, object code, loading, the object cache."""

from .llvm.emit import emit
from .llvm.pipeline import Pipeline
from .llvm.pipeline import choose as choose_pipeline
from .llvm.text import FunctionText, ModuleText, fill
from .objects.compile import Compiled, optimise_and_compile

__all__ = [
    "Compiled",
    "FunctionText",
    "ModuleText",
    "Pipeline",
    "choose_pipeline",
    "emit",
    "fill",
    "optimise_and_compile",
]

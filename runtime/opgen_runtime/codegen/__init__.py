"""Loop IR to native code: LLVM IR text, object code, loading, the object cache."""

from .llvm.emit import emit
from .llvm.pipeline import Pipeline
from .llvm.pipeline import choose as choose_pipeline
from .llvm.text import FunctionText, ModuleText, fill
from .objects.cache import default_cache
from .objects.compile import LLVM_VERSION, LLVMLITE_VERSION, Compiled, optimise_and_compile
from .objects.load import Loaded, imports_of, load
from .objects.support import compiled, load_module

__all__ = [
    "LLVMLITE_VERSION",
    "LLVM_VERSION",
    "Compiled",
    "FunctionText",
    "Loaded",
    "ModuleText",
    "Pipeline",
    "choose_pipeline",
    "compiled",
    "default_cache",
    "emit",
    "fill",
    "imports_of",
    "load",
    "load_module",
    "optimise_and_compile",
]

"""Loop IR to native code: LLVM IR text, object code, loading, the object cache."""

from typing import TYPE_CHECKING

from .llvm import lately
from .llvm.passes import Pipeline
from .llvm.text import FunctionText, ModuleText, fill
from .objects.cache import default_cache
from .objects.compile import LLVM_VERSION, LLVMLITE_VERSION, Compiled, optimise_and_compile
from .objects.elf import data_object, renamed
from .objects.load import Elsewhere, Loaded, imports_of, load, modules_of
from .objects.support import compiled, key_of, load_module, provide

__all__ = [
    "LLVMLITE_VERSION",
    "LLVM_VERSION",
    "Compiled",
    "Elsewhere",
    "FunctionText",
    "Loaded",
    "ModuleText",
    "Pipeline",
    "choose_pipeline",
    "compiled",
    "data_object",
    "default_cache",
    "emit",
    "fill",
    "imports_of",
    "key_of",
    "load",
    "load_module",
    "modules_of",
    "optimise_and_compile",
    "provide",
    "renamed",
]

if TYPE_CHECKING:
    from .llvm.emit import emit
    from .llvm.pipeline import choose_pipeline
else:
    __getattr__ = lately

"""Loop IR to native code: LLVM IR text, object code, loading, the object cache."""

from .llvm.emit import emit
from .objects.compile import Compiled, optimise_and_compile
from .objects.pipeline import Pipeline
from .objects.pipeline import choose as choose_pipeline
from .text import fill

__all__ = ["Compiled", "Pipeline", "choose_pipeline", "emit", "fill", "optimise_and_compile"]

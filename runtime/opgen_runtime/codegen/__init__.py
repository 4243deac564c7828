"""Loop IR to native code: LLVM IR text, object code, loading, the object cache."""

from .compile import Compiled, optimise_and_compile
from .emit import emit
from .pipeline import Pipeline
from .pipeline import choose as choose_pipeline

__all__ = ["Compiled", "Pipeline", "choose_pipeline", "emit", "optimise_and_compile"]

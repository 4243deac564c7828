"""Loop IR to LLVM IR text.

What reads loop IR (`emit`, `choose_pipeline`) is imported with its first use: who loads a program has no loop IR.
"""

from ...base.lazy_imports import import_lazily

lately = import_lazily("opgen_runtime.codegen", {"emit": "llvm.emit", "choose_pipeline": "llvm.pipeline"})

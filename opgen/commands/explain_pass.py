"""`opgen explain MODEL.onnx --pass NAME`: the program before and after a pass."""

from __future__ import annotations

from collections.abc import Mapping

from opgen_runtime.base.errors import OpgenError, did_you_mean
from opgen_runtime.ir import IRModule
from opgen_runtime.ir.text import SECTION
from opgen_runtime.run.compile import pipeline
from opgen_runtime.transform import PassContext, why_apart

from .coloured import code
from .console import heading, out
from .failure import Failure, Findings
from .onnx_models import loaded


def explain_pass(model: str, name: str | None, dims: Mapping[str, int]) -> None:
    """Print a model's program before and after the pass; of fusion, why ops stay apart, too."""
    names = [row.name for row in pipeline.GRAPH]
    if name not in names:
        hint = "" if name is None else did_you_mean(name, names)
        raise Failure(f"--pass takes the name of a pass{hint}; the passes are {', '.join(names)}")
    try:
        before, _ = loaded(model, dims)
        for row, after in pipeline.through_graph(before, PassContext.current()):
            if row.name == name:
                break
            before = after
    except OpgenError as error:
        raise Findings(str(error)) from None
    texts = [_text(before), _text(after)]
    heading(f"before {name}")
    code(texts[0], "python")
    heading(f"after {name}")
    code(texts[1] if texts[1] != texts[0] else "the same", "python")
    if name == "FuseOps":
        heading("why ops are in different segments")
        out.print("\n".join(why_apart(before["main"])))


def _text(module: IRModule) -> str:
    """The module without its large constants."""
    return str(module).partition(f"\n{SECTION}\n")[0]

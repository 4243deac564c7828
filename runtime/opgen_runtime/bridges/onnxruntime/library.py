"""A library of custom ops: requests compiled ahead of time, with the code that onnxruntime calls, linked by `ld`.

The file needs the C library and libm alone: neither Python nor this package, and no compiler of C made it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ...base import Target
from ...base.errors import ExecutorError, OpgenError
from ...base.vocabulary import dataclass
from ...codegen import compiled
from ...run.compile.store.c_library import plan_of
from ...run.executor import Executable, build_program
from .entry_text import sizes_of
from .handler_text import REGISTER, handler_text
from .requests import Request
from .splitting import parts_of
from .tables_text import Compiled, tables_text

_LEVEL: Final = 2  # of compilation: the handler runs in every call
_EXPORTS: Final = f"{{ global: {REGISTER}; local: *; }};\n"
_LIBRARIES: Final = ("-l:libm.so.6", "-l:libc.so.6")


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that has no entry, and why."""

    request: Request
    reason: str


def export(
    path: str | os.PathLike[str],
    requests: Sequence[Request],
    target: Target | None = None,
    linker: str = "ld",
    refused: Callable[[Refused], None] | None = None,
) -> list[Request]:
    """Write a library with entries for all of the requests; gives those that it has, one an entry.

    `target`: this machine by default.  `refused`: is told of a request that cannot be compiled, which is an error
    without it.  Nothing is left where it fails.  Raises ExecutorError for an op of which no entry is left, and where
    the linker is missing or fails; OSError where the file cannot be written; what the compilation raises.
    """
    program = shutil.which(linker)
    if program is None:
        raise ExecutorError(f"the linker {linker!r} is not there; install binutils, or name another one")
    where, chosen = Path(path), target or Target.host()
    if where.is_dir():
        raise IsADirectoryError(f"{where} is a folder; expected the name of a file")
    with _folder_beside(where) as name:
        folder = Path(name)
        entries: list[Compiled] = []
        for each in requests:
            try:
                for part in parts_of(each):
                    entries.append(_compiled(part, f"opgen_entry{len(entries)}", folder, chosen))
            except OpgenError as error:
                if refused is None:
                    raise
                refused(Refused(each, str(error).splitlines()[0]))
        _check_entries(requests, entries)
        _write_handler(folder, entries, chosen)
        made = _linked(folder, program)
        made.replace(where)
    return [each.request for each in entries]


def _folder_beside(where: Path) -> TemporaryDirectory[str]:
    """A folder on the disk of a file, from which one takes its place at once.  Raises OSError, naming the file."""
    try:
        return TemporaryDirectory(prefix=".opgen-", dir=where.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(where)) from None


def _check_entries(requests: Sequence[Request], entries: Sequence[Compiled]) -> None:
    """Raises ExecutorError for an op that was asked for and has no entry."""
    found = {each.request.program for each in entries}
    for each in requests:
        if each.program not in found:
            raise ExecutorError(
                f"{each.domain}::{each.program.name} cannot be compiled; no library is written"
            )
    if not entries:
        raise ExecutorError("no ops are asked for; no library is written")


def _compiled(request: Request, name: str, folder: Path, target: Target) -> Compiled:
    """The objects of one entry in the folder."""
    function = request.program.function(request.types, request.values)
    executable = build_program(function, target=target)
    whole = executable.whole
    if whole is None or whole.lengths:
        raise ExecutorError(f"{request}: {_why_not_exportable(executable)}")
    types = request.program.infer(request.types, request.values)
    if request.program.gives_several and len({each.dtype for each in types}) > 1:
        raise ExecutorError(f"{request}: the results are of several element types")
    paths = executable.export_c(folder, name)
    plan = executable.plan or plan_of(executable.compiled[0])
    sizes = sizes_of(f"{name}_sizes", whole, plan.dims, target)
    paths[0].with_name(f"{name}_sizes.o").write_bytes(compiled("sizes", sizes.text, target, level=_LEVEL))
    return Compiled(
        request,
        tuple([each.dtype.onnx for each in types]),
        tuple([len(each.shape) for each in whole.outputs]),
        len(plan.dims),
        f"{name}_sizes",
        f"{name}_driver",
        sizes.rules,
    )


def _why_not_exportable(executable: Executable) -> str:
    """Why a program is no function of known sizes."""
    if executable.why_interpreted is not None:
        return executable.why_interpreted
    return "the size of a result, or of a part of the program, is known only when it runs"


def _write_handler(folder: Path, entries: Sequence[Compiled], target: Target) -> None:
    handler = handler_text(
        max([sum(each.output_ranks) for each in entries]), max([each.dim_count for each in entries])
    )
    text = f'target triple = "{target.triple}"\n{tables_text(entries)}\n{handler}'
    (folder / "handler.o").write_bytes(compiled("onnxruntime handler", text, target, level=_LEVEL))


def _linked(folder: Path, linker: str) -> Path:
    """The library, from all objects of the folder.  Raises ExecutorError with what the linker says."""
    made, exports = folder / "library.so", folder / "exports"
    exports.write_text(_EXPORTS)
    objects = sorted(folder.glob("*.o"))
    arguments = [
        "-shared",
        "-z",
        "defs",
        "-z",
        "noexecstack",
        "--eh-frame-hdr",
        "--version-script",
        str(exports),
    ]
    command = [linker, *arguments, "-o", str(made), *map(str, objects), *_LIBRARIES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = " ".join(done.stderr.split())[:600]
        raise ExecutorError(f"{linker} gave up with status {done.returncode}: {said}")
    return made

"""Kernels as Python functions, whose source is read and never run.

@tir.kernel("(x: float32[n, 64]) -> (y: float32[n])")
def sums(x, y, n):
    for i in tir.parallel(n):
        total = tir.allocate((1,), "float32")
        total[0] = 0.0
        for k in range(64):
            total[0] += x[i, k]
        y[i] = total[0]

is the kernel of loop IR that prints as these loops.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType

from ....base.errors import AccessError, LoweringError, ParseError
from ..analysis.bounds import unproved_accesses
from ..nodes.contract import LOWERED, check
from ..nodes.stmt import PrimFunc
from .parser import parse_signature
from .statements import StatementReader


def kernel(signature: str) -> Callable[[Callable[..., None]], PrimFunc]:
    """A decorator that reads a Python function as a kernel of loop IR.

    `signature`: `(x: float32[n]) -> (y: float32[n])`, inputs and outputs as the text of loop IR declares them; the
    function's parameters are the same names in order, then those dims that it uses.  What it may hold:

        for i in range(8), tir.parallel(n), tir.vectorized(8), tir.unrolled(4)     also (start, end)
        y[i] = value, y[i] += value
        t = value                                   a name for the rest of its block
        t = tir.allocate((8,), "float32")           a buffer for the rest of its block, "local" or "global"
        if condition: ... elif ...: ... else: ...

    Values have Python's operators, `a if c else b`, min, max, abs, `x.astype("int32")` and the functions of te; names
    from outside are constants, and functions that compute with values are called.  Raises ParseError with the file,
    line and column of what it may not hold, AccessError with these for an access that is outside its buffer for some
    dims, and LoweringError for what breaks a rule of loop IR.
    """

    def read(function: Callable[..., None]) -> PrimFunc:
        return _read(function, signature)

    return read


def _read(function: Callable[..., None], signature: str) -> PrimFunc:
    if not isinstance(function, FunctionType):
        raise LoweringError(f"a kernel is a Python function, found {function!r:.80}")
    name = function.__name__
    try:
        head = parse_signature(signature, name)
    except ParseError as error:
        raise ParseError(f"the signature of {name}, {error}") from None
    tree, file = _source(function)
    _check_parameters(function, head)
    reader = StatementReader(function, file)
    reader.scope.update({dim.name: dim for dim in head.dims})
    reader.scope.update({buffer.name: buffer for buffer in (*head.inputs, *head.outputs)})
    made = head.with_body(reader.block(tree.body))
    check(LOWERED, made, "reading", own=False)
    _check_bounds(made, reader)
    return made


def _check_bounds(func: PrimFunc, reader: StatementReader) -> None:
    """Raises AccessError, with its place, for an access that is outside its buffer for some dims."""
    places = {id(access): reader.place(node) for access, node in reader.accesses}
    for found in unproved_accesses(func):
        if found.example is not None:
            raise AccessError(f"{places[id(found.access)]}: {found}")


def _source(function: FunctionType) -> tuple[ast.FunctionDef, str]:
    """The function's syntax tree with the places of its file.  Raises ParseError where there is no source."""
    file = inspect.getsourcefile(function) or "<unknown>"
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:
        raise ParseError(
            f"the source of {function.__name__} is not there, and a kernel is read from it"
        ) from None
    text = textwrap.dedent("".join(lines))
    indent = len(lines[0]) - len(lines[0].lstrip())
    (tree,) = ast.parse(text).body
    if not isinstance(tree, ast.FunctionDef):
        raise ParseError(f"{file}:{first}: a kernel is a `def`")
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno += first - 1
            node.col_offset += indent
    return tree, file


def _check_parameters(function: FunctionType, head: PrimFunc) -> None:
    found = list(inspect.signature(function).parameters)
    buffers = [each.name for each in (*head.inputs, *head.outputs)]
    dims = [dim.name for dim in head.dims]
    rest = found[len(buffers) :]
    if found[: len(buffers)] != buffers or not set(rest) <= set(dims):
        more = f", then any of {', '.join(dims)}" if dims else ""
        raise ParseError(
            f"{function.__name__}: the signature declares {', '.join(buffers)}{more}; "
            f"the function takes {', '.join(found) or 'nothing'}"
        )

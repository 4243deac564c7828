"""The front key of the kernel cache: a digest of all inputs of compilation, so that a hit lowers nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from types import FunctionType, MappingProxyType
from typing import Final, TypeGuard

from .... import ir
from ....base import Target
from ....base.contract import is_own
from ....base.kernel_options import DEFAULTS, Options
from ....codegen import LLVM_VERSION, LLVMLITE_VERSION
from ....declaration import OpDeclaration, called
from ....declaration.compute import extern
from ....lower.library.strategy import kernel_named, schedule_named
from ....operator import Op
from .dims import dims_in
from .provenance import digest_of, stamp
from .sources import sources_digest

# The storeys whose sources decide what code a segment becomes.
_STOREYS: Final = ("base", "operator", "compute", "ir", "declaration", "lower", "codegen", "run/compile")


def front_key(
    function: ir.Function,
    target: Target,
    hooks: Mapping[str, Callable[..., object]] = MappingProxyType({}),
    digest: str = "",
    constant: Collection[int] = (),
    options: Options = DEFAULTS,
) -> str | None:
    """A hex digest, equal in every process for equal segments, or None if the kernel must not be kept.

    It covers the structure and types of the segment, the declarations of its ops with their generated modules
    and schedules, the runtime's sources, the target with the values of its machine in place of its name, the versions
    of LLVM and llvmlite, and the hooks with all that they import.  `digest`: the structural digest of the function,
    where it is known.  `constant`: which operands are; their values have no part in it.  `options`: of the phases.
    """
    known = digest or ir.structural_digest(function)
    parts = [known, _environment(), target.kernel_key, str(sorted(constant))]
    if not target.is_host:
        parts.append(f"constants by {target.evaluating.kernel_key}")
    if options.changed:
        parts.append(str(options.changed))
    parts.append(str([dim.hint for dim in dims_in(function)]))
    for stage, hook in sorted(hooks.items()):
        found = digest_of(hook)
        if found is None:
            return None
        parts.append(f"after {stage}: {found}")
    ops = {
        node.op
        for node in ir.post_order(function.body)
        if isinstance(node, ir.Call) and isinstance(node.op, Op)
    }
    for op in sorted(ops, key=lambda op: op.name):
        declared = _op_digest(op)
        if declared is None:
            return None
        parts.append(f"{op.name}={declared}")
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=20).hexdigest()


@lru_cache(maxsize=1)
def _environment() -> str:
    return f"{sources_digest(_STOREYS)} llvm {LLVM_VERSION} llvmlite {LLVMLITE_VERSION}"


def _op_digest(op: Op) -> str | None:
    """The declaration, its generated module and its schedules, with all that they import.

    None where what is registered cannot be digested.
    """
    declaration: OpDeclaration | None = op.get_attr("declaration", None)
    if declaration is None or op.get_attr("strategy") is not declaration.strategy:
        return None
    if getattr(op.get_attr("compute"), "__module__", "") != _COMPUTE_MODULE:
        return None
    digests = [_declaration_digest(each) for each in _made_of(declaration)]
    if None in digests:
        return None
    return f"{' '.join(map(str, digests))} {op.get_attr('TOpPattern', None)}"


def _made_of(declaration: OpDeclaration) -> Iterable[OpDeclaration]:
    """The declaration, that whose derivative it is, and those of the ops that their compute functions call."""
    found = [declaration]
    for each in found:
        below = [called(name) for name in each.calls]
        found += [other for other in (each.base, *below) if other is not None and other not in found]
    return found


_COMPUTE_MODULE: Final = f"{OpDeclaration.__module__.rpartition('.')[0]}.compute"


@lru_cache(maxsize=4096)
def _declaration_digest(declaration: OpDeclaration) -> str | None:
    """`OpDeclaration` compares by identity: a declaration that is registered again is digested again."""
    parts = [declaration.digest]
    functions: list[Callable[..., object]] = [] if declaration.compute is None else [declaration.compute]
    if declaration.te is not None:
        functions.append(extern(declaration.te, declaration.full_name))
    for entry in declaration.strategy:
        functions.extend([] if entry.when is None else [entry.when])
        functions.extend([schedule_named(entry.schedule)] if ":" in entry.schedule else [])
        parts.extend([str(kernel_named(entry.kernel))] if entry.kernel else [])
    for function in functions:
        # of generated functions of built-in ops the file says it all
        found = stamp(function.__code__.co_filename) if _is_plain_own(function) else digest_of(function)
        if found is None:
            return None
        parts.append(found)
    return " ".join(parts)


def _is_plain_own(function: Callable[..., object]) -> TypeGuard[FunctionType]:
    return is_own(function) and isinstance(function, FunctionType)

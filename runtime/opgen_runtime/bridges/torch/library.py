"""Declared ops registered with torch, by name, when they are first asked for.

op = registered(program_of("softmax"))      torch.ops.opgen.softmax from then on
op.public(x, axis=-1)                       what users call
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

import torch
from torch._ops import _OpNamespace

from ...base.errors import OpgenError, RegistryError
from ...base.forks import lock
from ...base.lazy import lazy
from ...operator import has_op
from ...run.op_programs.batched import BATCH, batched_program, program_at
from ...run.op_programs.programs import Program, leaves, program_of
from .. import entries
from .autograd import autograd_kernel, differentiated, is_plain
from .fake import devices_of, fake_results, is_shapeless, types_of
from .handler import Handler, why_not_native
from .libtorch import libtorch
from .reverse import reverse_mode
from .schema import Schema, given, needs_conversion
from .tensors import array_of, tensor_of
from .transforms import vmap_kernel

BUILT_IN: Final = "opgen"
"""torch's namespace of the ops that are built in; those of a project have the project's."""

_DERIVED: Final = ("vjp", "jvp", BATCH)

_registered: Final[dict[str, TorchOp]] = {}
_libraries: Final[dict[str, Any]] = {}
_lock: Final = lock()
_under_way: Final[set[Program]] = set()
_warned: Final[list[str]] = []


class TorchFunction(Protocol):
    """An op as users call it: operands, then attrs, by position or by name."""

    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class TorchOp:
    """A program as an op of torch."""

    def __init__(self, program: Program) -> None:
        """Registers it.  Raises RuntimeError where torch has an op of that name already."""
        self.program = program
        self.schema = Schema(program)
        namespace = program.namespace or BUILT_IN
        self.name = f"{namespace}::{program.name}"
        library = _library(namespace)
        library.define(self.schema.text, tags=(torch.Tag.pt2_compliant_tag,))
        packet = _OpNamespace.__getattr__(getattr(torch.ops, namespace), program.name)
        self.overload = packet.default
        key = "CompositeExplicitAutograd" if is_shapeless(program) else "CPU"
        self.why_of_python = _why_of_python(program)
        if self.why_of_python:
            library.impl(program.name, self.kernel, key)
        else:
            self.handler = Handler(self.name, self.schema)
            libtorch().implement(namespace, program.name, key, self.handler.address)
        torch.library.register_fake(self.name, self._fake, lib=library)
        library.impl(program.name, autograd_kernel(self), "Autograd", with_keyset=True)
        torch.library.register_vmap(self.name, vmap_kernel(self), lib=library)

    @lazy
    def vjp(self) -> TorchOp:
        return registered(self.program.vjp)

    @lazy
    def jvp(self) -> TorchOp:
        return registered(self.program.jvp)

    @lazy
    def batch(self) -> TorchOp:
        return registered(batched_program(self.program))

    @lazy
    def public(self) -> TorchFunction:
        """The function that users call: it takes attrs as declared ops do, and spends nothing on gradients that nobody
        wants."""
        return _public(self)

    def kernel(self, *args: Any, **kwargs: Any) -> Any:
        """The op on tensors in memory, by the way of Python."""
        schema = self.schema
        bound = schema.bound(args, kwargs)
        operands = schema.operands(bound)
        wrong = next((each for each in devices_of(operands) if each.type != "cpu"), None)
        if wrong is not None:
            raise RuntimeError(f"{self.name}: an operand is on {wrong}; expected all on cpu")
        try:
            types, values = types_of(operands), schema.values(schema.attrs(bound))
            arrays = [array_of(each) for each in leaves(operands)]
            results = entries.run(self.program, types, values, arrays)
            names = [type_.dtype for type_ in self.program.infer(types, values)]
        except (OpgenError, TypeError) as error:
            raise RuntimeError(f"{self.name}: {error}") from error
        return self._nested([tensor_of(array, name) for array, name in zip(results, names, strict=True)])

    def _fake(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._nested(fake_results(self.schema, args, kwargs))
        except OpgenError as error:
            raise RuntimeError(f"{self.name}: {error}") from error

    def _nested(self, tensors: Sequence[torch.Tensor]) -> Any:
        if self.program.gives_several:
            return list(tensors)
        return tensors[0] if len(tensors) == 1 else tuple(tensors)

    def __repr__(self) -> str:
        way = f"by the way of Python: {self.why_of_python}" if self.why_of_python else "native"
        return f"<torch op {self.name}, {way}>"


class _Namespace(_OpNamespace):  # type: ignore[misc]  # torch's, of which nothing is known here
    """`torch.ops.<namespace>`, whose declared ops are registered when they are first asked for."""

    def __getattr__(self, name: str) -> Any:
        path = () if name.startswith("_") else _path("" if self.name == BUILT_IN else f"{self.name}.", name)
        if path:
            with _lock, contextlib.suppress(RegistryError):
                program = program_at(path)
                if program not in _under_way:  # torch itself looks whether there is one
                    registered(program)
        return super().__getattr__(name)


def _path(prefix: str, name: str) -> tuple[str, ...]:
    """`relu_vjp_vjp` as relu, vjp, vjp; nothing where no op is meant."""
    taken: list[str] = []
    while not has_op(prefix + name):
        name, _, last = name.rpartition("_")
        if last not in _DERIVED:
            return ()
        taken.insert(0, last)
    return (prefix + name, *taken)


def namespace_of(namespace: str) -> None:
    """Let `torch.ops.<namespace>` register declared ops when they are first asked for."""
    if not isinstance(getattr(torch.ops, namespace), _Namespace):
        setattr(torch.ops, namespace, _Namespace(namespace))


def registered(program: Program) -> TorchOp:
    """The op of a program, registered by the first who asks.

    Raises RuntimeError where another program of the name was registered: torch keeps ops until the process ends.
    """
    name = f"{program.namespace or BUILT_IN}::{program.name}"
    with _lock:
        known = _registered.get(name)
        if known is None:
            _under_way.add(program)
            try:
                known = _registered[name] = TorchOp(program)
            finally:
                _under_way.discard(program)
        if known.program is not program:
            raise RuntimeError(
                f"{name} was registered with torch before it was declared anew; start another process"
            )
        return known


def operator(name: str) -> TorchOp:
    """The op of a declared op's full name.  Raises RegistryError, listing near names, if there is none."""
    return registered(program_of(name))


def _why_of_python(program: Program) -> str:
    """Why calls go by the way of Python; "" for native ones."""
    if program.is_data_dependent:
        return "the size of a result depends on data"
    reason = why_not_native()
    if reason and not _warned:
        _warned.append(reason)
        warnings.warn(f"opgen's ops run by the way of Python: {reason}", RuntimeWarning, stacklevel=2)
    return reason


def _library(namespace: str) -> Any:
    library = _libraries.get(namespace)
    if library is None:
        namespace_of(namespace)
        library = _libraries[namespace] = torch.library.Library(namespace, "FRAGMENT")
    return library


def _public(op: TorchOp) -> TorchFunction:
    overload, schema = op.overload, op.schema
    differentiate = reverse_mode(op) or partial(differentiated(op), None)
    below, any_requires_grad = torch._C._AutoDispatchBelowAutograd, torch._C._any_requires_grad
    is_grad_enabled, is_compiling, plain = torch.is_grad_enabled, torch.compiler.is_compiling, overload._op

    def call(*args: Any, **kwargs: Any) -> Any:
        if is_compiling() or not is_plain():
            return overload(*args, **kwargs)
        if is_grad_enabled() and any_requires_grad(*args, **kwargs):
            return differentiate(args, kwargs)
        with below():
            return plain(*args, **kwargs)

    def converted(*args: Any, **kwargs: Any) -> Any:
        names = [each.name for each in schema.parameters]
        attrs: Mapping[str, Any] = {**dict(zip(names, args, strict=False)), **kwargs}
        return call(**given(schema, attrs))

    made = converted if needs_conversion(schema) else call
    made.__name__ = made.__qualname__ = op.program.name
    made.__doc__ = f"{op.name}{schema.text.removeprefix(op.program.name)}"
    return made

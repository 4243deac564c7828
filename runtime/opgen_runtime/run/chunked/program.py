"""A function of the graph as one program of tensor expressions, whose tensors can be computed in parts."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ... import ir
from ...base import Target
from ...base.errors import CallError, ExecutorError, did_you_mean
from ...base.lru_cache import LRUCache
from ...base.vocabulary import DType
from ...compute import te
from ...compute.te import Extern, Scan, Tensor
from ...compute.te.normalize import normalized
from ...compute.te.regions import extents_of
from ...lower.library.segment import array_by_parts, constant_arrays, flat_types, segment_of
from ...transform import InferType
from ..calls.tracing.jitted import Jitted
from .labels import owners_of


class ChunkedProgram:
    """A function of the graph, of static types, for chunked arrays.

    It is pickled as the function, and is one object in a process for equal ones: what is compiled of it is shared.
    Tensors are real: of `complex` ones, inputs and outputs, the parts are along a last axis, which arrays have not.
    """

    def __init__(self, function: ir.Function, digest: str, text: bytes) -> None:
        """Raises ExecutorError for sizes that depend on data, CodegenError for control flow; `function` has types."""
        segment = segment_of(function, Target.current())
        if segment.counts or any(
            [isinstance(t.op, Extern) and t.op.free for t in te.tensor_order(segment.outputs)]
        ):
            raise ExecutorError(
                "a result whose size depends on data has no chunks that are known before it is computed"
            )
        self.digest = digest
        self.name = segment.name
        self.inputs = segment.inputs
        self.constants: Sequence[np.ndarray] = [array_by_parts(each) for each in constant_arrays(function)]
        self.parameters = self.inputs[: len(self.inputs) - len(self.constants)]
        stands_for = normalized(segment.outputs)
        self.outputs = tuple([stands_for[each] for each in segment.outputs])
        self.complex = {
            **_complex(self.parameters, function.params),
            **_complex(self.outputs, [function.body]),
        }
        self.order = _with_states(te.tensor_order((*self.inputs, *self.outputs)))
        self.owners = owners_of(segment.calls, stands_for, self.order)
        self.position = {tensor: k for k, tensor in enumerate(self.order)}
        self._text = text
        for tensor in self.order:
            try:
                extents_of(tensor)
            except TypeError as error:
                raise ExecutorError(f"{self.name}: {tensor.name}: {error}") from error

    @property
    def results(self) -> tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]:
        """The shape and the dtype of each result."""
        return tuple([self.array_type(each) for each in self.outputs])

    def array_type(self, tensor: Tensor) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """The shape and the dtype of an array of a tensor, as users have it."""
        extents = extents_of(tensor)
        if tensor in self.complex:
            return extents[:-1], self.complex[tensor].numpy
        return extents, tensor.dtype.numpy

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (self.digest, self._text)

    def __repr__(self) -> str:
        return f"<chunked program {self.name} {self.digest[:8]}>"

    def tensor(self, position: int) -> Tensor:
        """A tensor by its place in the order."""
        return self.order[position]


def _complex(tensors: Sequence[Tensor], ends: Sequence[ir.Expr]) -> dict[Tensor, DType]:
    """Those of the tensors, which stand for parameters or results, that are complex, and the dtypes of these."""
    types = [each for end in ends for each in flat_types(end.checked_type, "a value")]
    return {
        tensor: type_.dtype for tensor, type_ in zip(tensors, types, strict=True) if type_.dtype.is_complex
    }


def _with_states(order: Sequence[Tensor]) -> list[Tensor]:
    """The order with all states of its scans, those that only other states read among them."""
    found: dict[Tensor, None] = {}
    for tensor in order:
        if isinstance(tensor.op, Scan):
            found.update(dict.fromkeys([each.tensor for each in tensor.op.states if each.tensor is not None]))
        found[tensor] = None
    return list(found)


class GraphCall:
    """A function of the graph as what is called with arrays: its parameters in order, but for those of `params`."""

    def __init__(self, program: ir.Function | ir.IRModule, params: Mapping[str, Any]) -> None:
        """Raises CallError for params that the function has not."""
        main = program["main"] if isinstance(program, ir.IRModule) else program
        assert isinstance(main, ir.Function)
        self._main = main
        self._params = params
        names = [each.name_hint for each in main.params]
        for name in params:
            if name not in names:
                raise CallError(f"params: the program has no parameter {name!r}{did_you_mean(name, names)}")

    def parts(
        self, *args: Any, **kwargs: Any
    ) -> tuple[ir.Function, list[Any], Callable[[Sequence[Any]], Any]]:
        """The program, what it takes, and what gives its results their structure: a tuple, or one array.

        Raises CallError for another number of arguments.
        """
        main = self._main
        own = [each.name_hint for each in main.params if each.name_hint not in self._params]
        if len(args) + len(kwargs) != len(own) or not set(kwargs) <= set(own[len(args) :]):
            raise CallError(
                f"expected the arguments {', '.join(own)}, found {len(args)} and {sorted(kwargs)}"
            )
        given = {**self._params, **dict(zip(own, args, strict=False)), **kwargs}
        taken = [given[each.name_hint] for each in main.params]
        return main, taken, lambda results: results[0] if len(results) == 1 else tuple(results)


def jitted(
    function: Callable[..., Any] | GraphCall | ir.Function | ir.IRModule,
    params: Mapping[str, Any] | None = None,
) -> Jitted[..., Any] | GraphCall:
    """The function as one that is traced; of the graph as it is, with arrays of params by name."""
    if isinstance(function, ir.Function | ir.IRModule):
        return GraphCall(function, params or {})
    if params:
        raise CallError("params are those of a function of the graph; a Python function has its own arrays")
    return function if isinstance(function, Jitted | GraphCall) else Jitted(function)


def traced(
    function: Callable[..., Any] | GraphCall | ir.Function | ir.IRModule,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    is_chunked: Callable[[Any], bool],
) -> tuple[ChunkedProgram, list[Any], Callable[[Sequence[Any]], Any]]:
    """The program of a function of arrays; its operands; and what gives results their structure.

    Of what `is_chunked` only shape and dtype are looked at; it may stand in tuples, lists and dicts.
    """
    whose: dict[int, Any] = {}
    stand_ins: list[np.ndarray] = []  # which live as long as their ids are looked for

    def stand_in(value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value)([stand_in(each) for each in value])
        if isinstance(value, dict):
            return {name: stand_in(each) for name, each in value.items()}
        if not is_chunked(value):
            return value
        made = np.broadcast_to(np.zeros((), value.dtype), tuple(value.shape))
        stand_ins.append(made)
        whose[id(made)] = value
        return made

    named = {name: stand_in(value) for name, value in kwargs.items()}
    program, taken, restored = jitted(function).parts(*[stand_in(each) for each in args], **named)
    return chunked_program(program), [whose.get(id(each), each) for each in taken], restored


_programs: Final[LRUCache[ChunkedProgram]] = LRUCache(256)


def chunked_program(function: ir.Function) -> ChunkedProgram:
    """The program of a function of the graph.  Raises what types, strategies and compute expressions raise."""
    typed = InferType()(ir.IRModule.from_expr(function))["main"]
    assert isinstance(typed, ir.Function)
    text = pickle.dumps(typed, protocol=5)
    return _made(hashlib.blake2b(text, digest_size=16).hexdigest(), text, typed)


def _unpickled(digest: str, text: bytes) -> ChunkedProgram:
    return _made(digest, text, None)


def _made(digest: str, text: bytes, function: ir.Function | None) -> ChunkedProgram:
    found = _programs.get(digest)
    if found is None:
        if function is None:
            function = InferType()(ir.IRModule.from_expr(pickle.loads(text)))["main"]
            assert isinstance(function, ir.Function)
        found = ChunkedProgram(function, digest, text)
        _programs.put(digest, found)
    return found

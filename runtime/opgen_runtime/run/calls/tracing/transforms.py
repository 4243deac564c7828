"""numpy's Fourier transforms, one axis after the other as numpy has them: an axis may be named again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy

from .... import ops
from .functions import maps
from .operands import element, one_axis, tensor, to, whole
from .tracer import Tracer

np: Any = numpy  # whose annotations know no tracers
Transform: TypeAlias = Callable[[Tracer, int, int, str], Any]
"""A transform of a tensor, by the length of an axis, that axis, and a norm."""
_OPPOSITE: Final = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _forward(x: Tracer, n: int, axis: int, norm: str) -> Any:
    return ops.fftn(_inexact(x), s=(n,), axes=(axis,), norm=norm)


def _inverse(x: Tracer, n: int, axis: int, norm: str) -> Any:
    return ops.ifftn(_inexact(x), s=(n,), axes=(axis,), norm=norm)


def _of_real(x: Tracer, n: int, axis: int, norm: str) -> Any:
    return ops.rfftn(_inexact(x), s=(n,), axes=(axis,), norm=norm)


def _to_real(x: Tracer, n: int, axis: int, norm: str) -> Any:
    given: Any = _inexact(x)
    if not element(given.dtype).is_complex:
        given = ops.complex(given, np.zeros_like(given))
    found: Any = ops.irfftn(given, s=(n,), axes=(axis,), norm=norm)
    return to(found, x.dtype) if element(x.dtype).is_float else found  # halves, as numpy has them


@maps("fft.fft")
def fft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None) -> Any:
    return _line(_forward, tensor(a), n, axis, _known(norm))


@maps("fft.ifft")
def ifft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None) -> Any:
    return _line(_inverse, tensor(a), n, axis, _known(norm))


@maps("fft.rfft")
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None) -> Any:
    return _line(_of_real, tensor(a), n, axis, _known(norm))


@maps("fft.irfft")
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None) -> Any:
    return _line(_to_real, tensor(a), n, axis, _known(norm))


@maps("fft.hfft")
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None) -> Any:
    return _line(_to_real, np.conjugate(tensor(a)), n, axis, _OPPOSITE[_known(norm)])


@maps("fft.ihfft")
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None) -> Any:
    return np.conjugate(_line(_of_real, tensor(a), n, axis, _OPPOSITE[_known(norm)]))


@maps("fft.fftn")
def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    x = tensor(a)
    return _lines(_forward, x, _lengths(x, s, axes), norm)


@maps("fft.ifftn")
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    x = tensor(a)
    return _lines(_inverse, x, _lengths(x, s, axes), norm)


@maps("fft.rfftn")
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    x = tensor(a)
    *others, last = _lengths(x, s, axes)
    return _lines(_forward, _lines(_of_real, x, [last], norm), others, norm)


@maps("fft.irfftn")
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    x = tensor(a)
    *others, (length, last) = _lengths(x, s, axes)
    rest = _lines(_inverse, x, others[::-1], norm)
    return _lines(_to_real, rest, [(None if s is None else length, last)], norm)


@maps("fft.fft2")
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    return fftn(a, s, axes, norm)


@maps("fft.ifft2")
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    return ifftn(a, s, axes, norm)


@maps("fft.rfft2")
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    return rfftn(a, s, axes, norm)


@maps("fft.irfft2")
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    return irfftn(a, s, axes, norm)


def _inexact(x: Tracer) -> Tracer:
    """The operand in a dtype that is transformed: float32 for halves, float64 for integers and bools."""
    kind = element(x.dtype)
    if kind.is_complex:
        return x
    return to(x, np.float32 if kind.is_float and kind.bits < 64 else np.float64)


def _known(norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in _OPPOSITE:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return norm


def _lengths(x: Tracer, s: Any, axes: Any) -> list[tuple[Any, int]]:
    """The axes to transform, each with its length, those that the tensor has where none are given."""
    count = x.ndim if s is None else len(s)
    along = [one_axis(axis, x.ndim) for axis in (range(-count, 0) if axes is None else axes)]
    lengths: Sequence[Any] = [-1] * len(along) if s is None else s
    if len(lengths) != len(along):
        raise ValueError("Shape and axes have different lengths.")
    return [(x.shape[axis] if n == -1 else n, axis) for n, axis in zip(lengths, along, strict=True)]


def _line(transform: Transform, x: Tracer, n: Any, axis: Any, norm: str) -> Any:
    """A transform along one axis, of the length there is where none is given."""
    along = one_axis(axis, x.ndim)
    there = x.shape[along]
    length = whole(n, "the length of a transform") if n is not None else there
    if n is None and transform is _to_real:
        length = 2 * (there - 1)
    if length < 1:
        raise ValueError(f"Invalid number of FFT data points ({length}) specified.")
    return transform(x, length, along, norm)


def _lines(transform: Transform, x: Tracer, lengths: Sequence[tuple[Any, int]], norm: str | None) -> Any:
    """Transforms along axes, the last one first."""
    known = _known(norm)
    for n, axis in reversed(lengths):
        x = _line(transform, x, n, axis, known)
    return x

"""What code generation must know of a family of CPUs; each family is one row, in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import field
from types import MappingProxyType

from ..vocabulary import dataclass

Features = frozenset[str]  # LLVM's names; empty: nothing is needed


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vector registers: their width, how many there are, and what a CPU must have for them.

    `masked_bits`: the narrowest elements that some lanes of a vector are loaded and stored of; `packed_bits`: the
    narrowest of which one instruction moves some lanes to the front of a vector; 0 for none.
    """

    bits: int
    registers: int
    needs: Features = frozenset()
    masked_bits: int = 0
    packed_bits: int = 0


@dataclass(frozen=True, slots=True)
class Dot:
    """An instruction for vectors of so many bits of int32, and what a CPU must have for it.

    Each lane is the sum of the products of `steps` numbers that lie in its bits: int16 where there are two, uint8 with
    int8 where there are four.  It is added to a third operand if the instruction `adds`.
    """

    steps: int
    bits: int
    needs: Features
    instruction: str  # LLVM's intrinsic
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """A target of a family, with Linux, that tests run programs on: its `options`, and what qemu calls its CPU.

    `since`: the version of qemu from which on it runs all that the target has.
    """

    name: str
    options: str
    emulated_cpu: str
    since: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class FloatControl:
    """The register with the modes of floats, as LLVM's text: `read` stores it at `%place`, `write` loads it from there.

    `flushes`: its bits that make subnormal numbers 0, results or operands.
    """

    type: str
    flushes: int
    read: str
    write: str
    declarations: str


@dataclass(frozen=True, slots=True)
class Architecture:
    """A family of CPUs.

    `names` begin its triples.  `vectors` are widest first, and the last need nothing.  `fma`: what a CPU must have to
    fuse a multiplication and an addition, None if that cannot be known.  `float16` likewise for conversions between
    float16 and "float" or "double" with one rounding.  `levels`: features that the name of a CPU implies.
    `pause` is an instruction for loops that wait, as a call and its declaration, `stores_fence` one that puts
    non-temporal stores before later ones, where they are not anyway; `dots` sum products of narrow numbers;
    `futex` is the number of Linux's call.  `float_control`: None where subnormal numbers always stay.  `samples`:
    targets that tests emulate.
    """

    names: tuple[str, ...]
    vectors: tuple[Vectors, ...] = (Vectors(128, 16),)
    fma: Features | None = None
    float16: Mapping[str, Features] = field(default_factory=lambda: MappingProxyType({}))
    levels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    pause: tuple[str, str] = ("", "")
    stores_fence: tuple[str, str] = ("", "")
    dots: tuple[Dot, ...] = ()
    futex: int | None = None
    float_control: FloatControl | None = None
    samples: tuple[Sample, ...] = ()

    def vectors_of(self, features: Set[str], bits: int | None = None) -> Vectors:
        """The widest vectors of a CPU with these features, of so many bits at most where that is given."""
        fitting = [each for each in self.vectors if each.needs <= features]
        return next((each for each in fitting if bits is None or each.bits <= bits), fitting[-1])

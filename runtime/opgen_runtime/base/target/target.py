"""A compilation target: an LLVM CPU with its features, its machine, and the dispatch keys of strategies."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from types import TracebackType
from typing import Final

from ..errors import StrategyError
from ..lazy import lazy
from ..vocabulary import DType
from .answer import ask
from .architecture import Architecture, Dot, Vectors
from .families import architecture_of
from .host import caches, default_threads, host
from .machine import GENERIC, Machine, machine_of, measured
from .machine_file import machine_named, machines_stamp

KINDS: Final[dict[str, tuple[str, ...]]] = {"llvm": ("cpu",)}  # kind -> keys when none are given

_MACHINE_OPTION: Final = re.compile(r" -machine=\S+")
_NARROW_POINTERS: Final = re.compile(r"-p:(?!64:)")
_MAX_THREADS: Final = 1024
_LANE_BITS: Final = 32  # what the lanes of a machine are told in


_entered: Final[ContextVar[tuple[Target, ...]]] = ContextVar("opgen_target", default=())


@dataclass(frozen=True, init=False)
class Target:
    """What to compile for.  `Target.host()` is this machine; `Target("llvm -mcpu=... -keys=...")` is read from a text.

    with rt.Target("llvm -num-threads=1"):
        executable = rt.build(module)  # for this target, which none is given for

    `features` is LLVM's feature string.  `keys` order the search of strategies, most specific first.  `machine` has the
    caches, registers and costs that schedules go by.  `tuned`: values that parameters of schedules have instead of
    their defaults, by name, sorted.
    """

    kind: str
    triple: str
    cpu: str
    features: str
    keys: tuple[str, ...]
    num_threads: int
    machine: Machine
    tuned: tuple[tuple[str, int], ...] = ()

    def __init__(
        self,
        kind: str,
        triple: str | None = None,
        cpu: str = "",
        features: str = "",
        keys: tuple[str, ...] = (),
        num_threads: int = 1,
        machine: Machine = GENERIC,
        tuned: tuple[tuple[str, int], ...] = (),
    ) -> None:
        """A target by its fields; of a text alone the one that `parse` reads.  Raises as `parse` does."""
        values: tuple[object, ...] = (kind, triple, cpu, features, keys, num_threads, machine, tuned)
        if triple is None:
            found = Target.parse(kind)
            values = tuple([getattr(found, each.name) for each in fields(found)])
        for each, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, each.name, value)

    @staticmethod
    def current() -> Target:
        """The target of the innermost `with` around; this machine outside of any."""
        entered = _entered.get()
        return entered[-1] if entered else Target.host()

    def __enter__(self) -> Target:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _entered.set(_entered.get()[:-1])

    @staticmethod
    def host() -> Target:
        """This machine with all CPUs that this process may use."""
        return _host_target(default_threads())

    @staticmethod
    def parse(text: str | Target) -> Target:
        """Read `KIND [-mcpu=NAME] [-mattr=+f,-g] [-mtriple=T] [-keys=a,b] [-num-threads=N] [-machine=ROW] [-tuned=..]`.

        `-mcpu=native` (or no -mcpu, -mattr and -mtriple at all) is this machine.  The kind's own keys follow
        those given.  Without `-machine` the row is that of the CPU.  `-tuned=parameter:1,..`: schedules refuse
        parameters and values that they do not have.  Raises StrategyError for an unknown kind, option or row, and for
        what LLVM does not know or cannot do.
        """
        return (
            text if isinstance(text, Target) else _parse(text, machines_stamp() if "-machine" in text else "")
        )

    @staticmethod
    def of_code(text: str) -> Target:
        """The target that code was compiled for; the row of its machine, which none asks for now, need not be known."""
        return Target.parse(_MACHINE_OPTION.sub("", text))

    def __str__(self) -> str:
        return self._text(f"-machine={self.machine.name}")

    @lazy
    def kernel_key(self) -> str:
        """What kernels depend on: the text, with the values of the machine in place of its name."""
        return self._text(self.machine.values)

    def _text(self, machine: str) -> str:
        text = (
            f"{self.kind} -mtriple={self.triple} -mcpu={self.cpu} -mattr={self.features}"
            f" -keys={','.join(self.keys)} -num-threads={self.num_threads} {machine}"
        )
        values = ",".join([f"{name}:{value}" for name, value in self.tuned])
        return f"{text} -tuned={values}" if values else text

    @lazy
    def tuning_key(self) -> str:
        """What records of tuning are matched by: instruction set and row, whatever the CPU is called."""
        features = ",".join(sorted(self.enabled_features))
        keys = ",".join(self.keys)
        return (
            f"{self.kind} {self.triple} {features} {keys} {self.num_threads} {self.machine.name} {self.tuned}"
        )

    def __reduce__(self) -> tuple[type[Target], tuple[object, ...]]:
        """Pickled by what it is, without what was found of it since."""
        return Target, tuple([getattr(self, field.name) for field in fields(self)])

    @staticmethod
    def tuning_key_of(text: str) -> str:
        """The `tuning_key` of a target's text, without asking LLVM; the text itself where it is no such text."""
        try:
            return _read(text).tuning_key
        except StrategyError:
            return text

    def tuned_to(self, values: Mapping[str, int]) -> Target:
        """The same target with these values of parameters of schedules, and no others."""
        return replace(self, tuned=tuple(sorted(values.items())))

    @lazy
    def enabled_features(self) -> frozenset[str]:
        """The features that are on, without their sign."""
        return frozenset(f[1:] for f in self.features.split(",") if f.startswith("+"))

    def has(self, feature: str) -> bool:
        """Whether the CPU has an LLVM feature such as "avx2"."""
        return feature in self.enabled_features

    @lazy
    def architecture(self) -> Architecture:
        """The family that the CPU belongs to."""
        return architecture_of(self.triple)

    @lazy
    def vectors(self) -> Vectors:
        """The widest vector registers that the CPU has and the machine is to use."""
        found = self.architecture.vectors_of(self.enabled_features, _LANE_BITS * self.machine.lanes)
        return replace(found, registers=min(found.registers, self.machine.registers))

    @property
    def vector_bits(self) -> int:
        """The width of a vector register in bits."""
        return self.vectors.bits

    @lazy
    def has_fma(self) -> bool:
        """Whether a product and a sum are fused in one instruction."""
        needed = self.architecture.fma
        return needed is not None and needed <= self.enabled_features

    def converts_float16(self, wide: str) -> bool:
        """Whether the CPU converts between float16 and `wide` ("float" or "double") with one rounding."""
        needed = self.architecture.float16.get(wide)
        return needed is not None and needed <= self.enabled_features

    def dot(self, steps: int, bits: int) -> Dot | None:
        """The instruction that sums `steps` products of narrow numbers in each lane of a vector of so many bits."""
        fitting = [each for each in self.architecture.dots if each.steps == steps and each.bits == bits]
        return next((each for each in fitting if each.needs <= self.enabled_features), None)

    def lanes(self, dtype: DType) -> int:
        """How many elements of `dtype` a vector register holds."""
        return self.vector_bits // max(8, dtype.bits)

    @property
    def parallel_threshold(self) -> int:
        """Cycles of elements, one by one, below which a loop is not worth sharing between threads."""
        return max(1, round(self.machine.cycles["share_loop"]))

    @property
    def elsewhere(self) -> str:
        """What the target is called where this machine is another one; empty where its code runs here."""
        return "" if self.is_host else f"{self.cpu} on {self.triple}"

    @property
    def evaluating(self) -> Target:
        """What computes the values of constants while something is compiled: itself where its code runs here."""
        return self if self.is_host else Target.host()

    def check_objects(self) -> None:
        """Raises StrategyError for another machine than this one whose objects are no little-endian ELF of 64 bits."""
        if self.is_host:
            return
        layout = ask(self.triple, self.cpu, self.features).data_layout or ""
        if not layout.startswith("e-m:e-") or _NARROW_POINTERS.search(layout):
            raise StrategyError(
                f"target {self.triple}: objects are written for machines of 64 bits, little-endian, in the ELF format; "
                f"LLVM's layout of its data is {layout.split('-i64')[0]}"
            )

    @lazy
    def is_host(self) -> bool:
        """Whether code for this target runs on this machine."""
        here = host()
        if (
            self.triple != here.triple
            and ask(self.triple, self.cpu, self.features).data_layout != here.data_layout
        ):
            return False  # another architecture, width of pointers or format of objects
        return self.enabled_features <= frozenset(
            f[1:] for f in here.features.split(",") if f.startswith("+")
        )


@lru_cache(maxsize=8)
def _host_target(num_threads: int) -> Target:
    here = host()
    return Target(
        "llvm", here.triple, here.cpu, here.features, KINDS["llvm"], num_threads, _host_machine(here.features)
    )


def _host_machine(features: str) -> Machine:
    """The row of this machine, for code of these features."""
    here = host()
    return measured(_machine(here.triple, here.cpu, features), here.triple, caches())


def _machine(triple: str, cpu: str, features: str) -> Machine:
    """The row of a CPU with these features."""
    enabled = frozenset(each[1:] for each in features.split(",") if each.startswith("+"))
    return machine_of(triple, cpu, architecture_of(triple).vectors_of(enabled).bits // _LANE_BITS)


_OPTIONS: Final = ("mcpu", "mattr", "mtriple", "keys", "num-threads", "machine", "tuned")


@lru_cache(maxsize=64)
def _parse(text: str, stamp: str) -> Target:
    """`stamp`: the state of the machines that users add."""
    target = _read(text)
    problem = ask(target.triple, target.cpu, target.features).problem
    if problem is not None:
        raise StrategyError(f"target {text!r}: {problem}")
    return target


def _read(text: str) -> Target:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise StrategyError(f"target {text!r}: {error}") from None
    kind = words[0] if words else ""
    if kind not in KINDS:
        raise StrategyError(f"target {text!r}: unknown kind {kind!r}; expected one of {', '.join(KINDS)}")
    options = dict(_option(text, word) for word in words[1:])
    base = _base(text, options)
    given_keys = tuple(k for k in options.get("keys", "").split(",") if k)
    threads = options.get("num-threads", str(default_threads()))
    if not (threads.isascii() and threads.isdigit() and 1 <= int(threads) <= _MAX_THREADS):
        expected = f"expected a whole number of at least 1 and at most {_MAX_THREADS}"
        raise StrategyError(f"target {text!r}: -num-threads={threads}: {expected}")
    keys = tuple(dict.fromkeys((*given_keys, *KINDS[kind])))
    tuned = _tuned(text, options.get("tuned", ""))
    return replace(base, kind=kind, keys=keys, num_threads=int(threads), tuned=tuned)


def _tuned(text: str, written: str) -> tuple[tuple[str, int], ...]:
    found: dict[str, int] = {}
    for each in written.split(",") if written else ():
        name, _, value = each.partition(":")
        if not name or not (value.isascii() and value.isdigit()):
            raise StrategyError(f"target {text!r}: -tuned={each}: expected parameter:value, a whole number")
        found[name] = int(value)
    return tuple(sorted(found.items()))


def _option(text: str, word: str) -> tuple[str, str]:
    name, equals, value = word.lstrip("-").partition("=")
    if not word.startswith("-") or not equals or name not in _OPTIONS:
        known = ", ".join(f"-{option}=" for option in _OPTIONS)
        raise StrategyError(f"target {text!r}: unknown option {word!r}; expected one of {known}")
    return name, value


def _base(text: str, options: dict[str, str]) -> Target:
    """CPU, features, triple, machine; a foreign CPU has only the features that are given or that its name implies."""
    here = Target.host()
    cpu = options.get("mcpu", "native" if not {"mattr", "mtriple"} & options.keys() else "generic")
    triple = options.get("mtriple", here.triple)
    given = options.get("mattr", "")
    native = cpu in ("native", here.cpu) and triple == here.triple
    features = given if given else (here.features if native else architecture_of(triple).levels.get(cpu, ""))
    if "machine" in options:
        machine = _given_machine(text, options["machine"])
    else:
        machine = _host_machine(features) if native else _machine(triple, cpu, features)
    return Target("llvm", triple, here.cpu if cpu == "native" else cpu, features, (), 1, machine)


def _given_machine(text: str, name: str) -> Machine:
    try:
        return machine_named(name)
    except StrategyError as error:
        raise StrategyError(f"target {text!r}: {error}") from None

"""`PassContext`: under which settings passes run; instruments that watch them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Any, Final

from ..base.errors import PassError
from ..ir import IRModule


@dataclass(frozen=True, slots=True)
class PassInfo:
    """What is known of a pass.

    `opt_level`: the least level of the context at which a Sequential runs it.  `required`: names of passes whose
    result it relies on.  `preserves`: names of passes whose result still holds after it.  `changes_type`: whether
    the type of `main` may be another one after it.
    """

    name: str
    opt_level: int = 0
    required: tuple[str, ...] = ()
    preserves: tuple[str, ...] = ()
    changes_type: bool = False


class PassInstrument:
    """Watches passes; override what is of interest.  An exception in any method ends the run and is passed on."""

    def enter_pass_context(self) -> None:
        """The context is entered."""

    def exit_pass_context(self) -> None:
        """The context is left; called exactly for those instruments whose context was entered."""

    def should_run(self, module: IRModule, info: PassInfo) -> bool:
        """Whether the pass may run; required passes run in any case."""
        return True

    def run_before_pass(self, module: IRModule, info: PassInfo) -> None:
        """The pass is about to run on `module`."""

    def run_after_pass(self, module: IRModule, info: PassInfo) -> None:
        """The pass has given `module`."""


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """A setting that some pass reads."""

    name: str
    kind: type
    default: Any
    doc: str


_config_keys: Final[dict[str, ConfigKey]] = {}


def register_config(name: str, kind: type, default: object, doc: str) -> ConfigKey:
    """Make a configuration key known. Raises PassError if it is known with other properties."""
    key = ConfigKey(name, kind, default, doc)
    if _config_keys.setdefault(name, key) != key:
        raise PassError(f"configuration key {name!r} is registered already, with other properties")
    return key


def config_keys() -> list[ConfigKey]:
    """All keys, by name."""
    return [_config_keys[name] for name in sorted(_config_keys)]


class PassContext:
    """Settings of passes: `with PassContext(opt_level=3, disabled=["FuseOps"]):`.

    `required`: names of passes that run whatever their level; `disabled`: names of passes that a Sequential leaves
    out.  `config`: values of registered keys.  Raises PassError for an unknown key, listing those there are, and
    for a value of the wrong type.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required: Iterable[str] = (),
        disabled: Iterable[str] = (),
        config: Mapping[str, object] | None = None,
        instruments: Sequence[PassInstrument] = (),
    ) -> None:
        self.opt_level = opt_level
        self.required = frozenset(required)
        self.disabled = frozenset(disabled)
        self.config: Mapping[str, object] = MappingProxyType(_checked_config(config or {}))
        self.instruments = tuple(instruments)
        self._entered: list[tuple[Token[PassContext], int]] = []

    @staticmethod
    def current() -> PassContext:
        """The innermost context that is entered, or the default one."""
        return _current.get()

    def enabled(self, info: PassInfo) -> bool:
        """Whether a Sequential runs the pass."""
        if info.name in self.disabled:
            return False
        return info.name in self.required or info.opt_level <= self.opt_level

    def value(self, key: ConfigKey) -> Any:
        """The value of a configuration key, or its default."""
        return self.config.get(key.name, key.default)

    def __enter__(self) -> PassContext:
        entered = 0
        try:
            for instrument in self.instruments:
                instrument.enter_pass_context()
                entered += 1
        except BaseException:
            self._leave_instruments(entered)
            raise
        self._entered.append((_current.set(self), entered))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        token, entered = self._entered.pop()
        _current.reset(token)
        self._leave_instruments(entered)

    def _leave_instruments(self, count: int) -> None:
        """Tell the first `count` instruments, last first; the first exception is passed on after all were told."""
        failures: list[BaseException] = []
        for instrument in reversed(self.instruments[:count]):
            try:
                instrument.exit_pass_context()
            except BaseException as failure:
                failures.append(failure)
        if failures:
            raise failures[0]


def _checked_config(config: Mapping[str, object]) -> dict[str, object]:
    for name, value in config.items():
        key = _config_keys.get(name)
        if key is None:
            near = difflib.get_close_matches(name, _config_keys, n=3)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            listed = ", ".join(sorted(_config_keys)) or "none"
            raise PassError(f"unknown configuration key {name!r}{hint} (known: {listed})")
        if type(value) is not key.kind:
            raise PassError(
                f"configuration key {name!r} takes {key.kind.__name__}, found {value!r} of {type(value).__name__}"
            )
    return dict(config)


_DEFAULT: Final = PassContext()
_current: Final[ContextVar[PassContext]] = ContextVar("opgen_pass_context", default=_DEFAULT)

"""`PassContext`: under which settings passes run."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import Token
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Final

from ..base import Target
from ..base.altered import pass_context
from ..base.errors import PassError
from ..base.functions import list_global_func_names
from ..base.kernel_options import OPTIONS
from ..base.vocabulary import dataclass
from .evaluator import Evaluator
from .info import Option, PassInfo, candidates

if TYPE_CHECKING:
    from .instruments import PassInstrument

NAMESPACE: Final = "transform"


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """A setting that some pass, or a phase of kernels, reads."""

    name: str
    kind: type
    default: Any
    doc: str
    least: int | None = None


_config_keys: Final[dict[str, ConfigKey]] = {
    name: ConfigKey(name, type(option.default), option.default, option.doc, option.least)
    for name, option in OPTIONS.items()  # of kernels
}
_unregistered: Final[set[str]] = set()  # names of passes that no decorator made, such as those of Sequentials


def register_config(name: str, kind: type, default: object, doc: str) -> ConfigKey:
    """Make a configuration key known. Raises PassError if it is known with other properties."""
    key = ConfigKey(name, kind, default, doc)
    if _config_keys.setdefault(name, key) != key:
        raise PassError(f"configuration key {name!r} is registered already, with other properties")
    return key


def register_options(pass_name: str, options: Mapping[str, Option]) -> dict[str, ConfigKey]:
    """The keys `pass.option` of a pass's options, by option; those of an earlier pass of the name are forgotten."""
    for name in [name for name in _config_keys if name.startswith(f"{pass_name}.")]:
        del _config_keys[name]
    keys: dict[str, ConfigKey] = {}
    for name, option in options.items():
        full = f"{pass_name}.{name}"
        keys[name] = ConfigKey(full, type(option.default), option.default, option.doc, option.least)
        _config_keys[full] = keys[name]
    return keys


def config_keys() -> list[ConfigKey]:
    """All keys, by name."""
    return [_config_keys[name] for name in sorted(_config_keys)]


def know_pass(name: str) -> None:
    """Make the name of a pass one that a context may disable or require."""
    _unregistered.add(name)


def check_pass_names(names: Iterable[str], what: str) -> None:
    """Raises PassError for a name that no pass has, listing those there are; `what` says where it was given."""
    for name in names:
        if name in _unregistered:
            continue
        registered = {found.partition(".")[2] for found in list_global_func_names(NAMESPACE)}
        if name not in registered:
            raise PassError(f"{what} names {name!r}, which no pass has{candidates(name, registered)}")


class PassContext:
    """Settings of passes: `with PassContext(opt_level=3, disabled=["FuseOps"]):`.

    `required`: names of passes that run whatever their level; `disabled`: names of passes that a Sequential leaves
    out.  `config`: values of registered keys; each option of a pass is one, `{"FuseOps.max_ops": 8}`, and each
    of kernels, `{"tir.vectorize.disable": True}` (`tir.OPTIONS`).  `hooks`:
    functions from loop IR to loop IR, each run after the stage of a kernel that it is named by (`opgen explain OP
    --stages` prints the names).  `target`: what passes decide for, this machine unless `for_target` or a build says
    another.  `evaluator`: what finds the values of constants; without one that is `Evaluator`, and
    for programs that are built one that compiles.  Raises PassError for an unknown key or name, listing those there
    are, and for a value of the wrong type or a level that is no int from 0 on.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required: Iterable[str] = (),
        disabled: Iterable[str] = (),
        config: Mapping[str, object] | None = None,
        instruments: Sequence[PassInstrument] = (),
        hooks: Mapping[str, Callable[[Any], Any]] | None = None,
        evaluator: type[Evaluator] | None = None,
    ) -> None:
        self.opt_level = _checked_level(opt_level)
        self.required = frozenset(_names(required, "required"))
        self.disabled = frozenset(_names(disabled, "disabled"))
        self.config: Mapping[str, object] = MappingProxyType(_checked_config(dict(config or {})))
        self.instruments = tuple(instruments)
        self.evaluator = evaluator
        self._target: Target | None = None
        self.hooks: Mapping[str, Callable[[Any], Any]] = MappingProxyType(dict(hooks or {}))
        self._entered: list[tuple[Token[Any], tuple[PassInstrument, ...]]] = []  # whom each entry has told

    @staticmethod
    def current() -> PassContext:
        """The innermost context that is entered, or the default one."""
        found: PassContext | None = pass_context.get()
        return _DEFAULT if found is None else found

    @staticmethod
    def list_configs() -> dict[str, ConfigKey]:
        """The keys that `config` takes, by name: the type of each, its default and what it means."""
        return {key.name: key for key in config_keys()}

    def enabled(self, info: PassInfo) -> bool:
        """Whether a Sequential runs the pass."""
        if info.name in self.disabled:
            return False
        return info.name in self.required or info.opt_level <= self.opt_level

    def value(self, key: ConfigKey) -> Any:
        """The value of a configuration key, or its default."""
        return self.config.get(key.name, key.default)

    @property
    def target(self) -> Target:
        """What the program is compiled for; outside of builds the current target."""
        return Target.current() if self._target is None else self._target

    def for_target(self, target: Target | str | None) -> PassContext:
        """The context for another target; None changes nothing.  Raises StrategyError for what is no target."""
        return self if target is None else self._with(_target=Target.parse(target))

    def evaluating_by(self, default: type[Evaluator]) -> PassContext:
        """The context with `default` for its evaluator, if it has none of its own."""
        if self.evaluator is not None:
            return self
        return self._with(evaluator=default)

    def at_level(self, opt_level: int) -> PassContext:
        """The context with another level."""
        return self if opt_level == self.opt_level else self._with(opt_level=_checked_level(opt_level))

    def _with(self, **changed: object) -> PassContext:
        same = copy.copy(self)
        for name, value in {**changed, "_entered": []}.items():
            setattr(same, name, value)
        return same

    def override_instruments(self, instruments: Sequence[PassInstrument] | None) -> None:
        """Have these instruments watch from now on, None for no instrument.

        Those so far are told that the context is left, those to come that it is entered; where one of them raises,
        the context has none.  Raises PassError for a context that is not entered.
        """
        if not self._entered:
            raise PassError("override_instruments is for a context that is entered: with PassContext(...):")
        tokens = [token for token, _ in self._entered]
        left = [instrument for _, entered in self._entered for instrument in entered]
        self.instruments, self._entered = (), [(token, ()) for token in tokens]
        _leave(left)
        chosen = tuple(instruments or ())
        for k, token in enumerate(tokens):
            self._entered[k] = (token, _enter(chosen))
        self.instruments = chosen

    def __enter__(self) -> PassContext:
        entered = _enter(self.instruments)
        self._entered.append((pass_context.set(self), entered))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        token, entered = self._entered.pop()
        pass_context.reset(token)
        _leave(entered)


def _enter(instruments: tuple[PassInstrument, ...]) -> tuple[PassInstrument, ...]:
    """Tell all that the context is entered; where one raises, those before it are told that it is left."""
    entered: list[PassInstrument] = []
    try:
        for instrument in instruments:
            instrument.enter_pass_context()
            entered.append(instrument)
    except BaseException:
        _leave(entered)
        raise
    return instruments


def _leave(instruments: Sequence[PassInstrument]) -> None:
    """Tell all, last first, that the context is left; the first exception is passed on after all were told."""
    failures: list[BaseException] = []
    for instrument in reversed(instruments):
        try:
            instrument.exit_pass_context()
        except BaseException as failure:
            failures.append(failure)
    if failures:
        raise failures[0]


def _checked_level(level: object) -> int:
    if type(level) is not int or level < 0:
        raise PassError(f"opt_level is {level!r:.80}, expected an int of at least 0")
    return level


def _names(names: Iterable[str], what: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise PassError(f"{what} is a list of names of passes, found the text {names!r}")
    listed = tuple(names)
    check_pass_names(listed, f"PassContext({what}=...)")
    return listed


def _checked_config(config: dict[str, Any]) -> dict[str, object]:
    for name, value in config.items():
        key = _config_keys.get(name)
        if key is None:
            raise PassError(f"unknown configuration key {name!r}{candidates(name, _config_keys)}")
        if type(value) is not key.kind:
            raise PassError(
                f"configuration key {name!r} takes {key.kind.__name__}, found {value!r} of {type(value).__name__}"
            )
        if key.least is not None and isinstance(value, int) and value < key.least:
            raise PassError(f"configuration key {name!r} is at least {key.least}, found {value}")
    return config


_DEFAULT: Final = PassContext()

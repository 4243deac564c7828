"""`IRModule`: functions by name, and the object that module passes map to another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from ..base.errors import RegistryError
from .expr import Expr, Function, GlobalVar
from .loops import lifted
from .picture import Pictured
from .visitor import free_vars


class IRModule(Pictured):
    """An immutable mapping of global names to functions, in order of definition.

    `valid` names the passes whose results hold for the module; a changed module starts without any.  `typed`: the
    functions known to have every type; what is found out of a function goes on to the modules that hold it.
    """

    __slots__ = ("_by_name", "functions", "typed", "valid")
    functions: Mapping[GlobalVar, Function]
    valid: frozenset[str]
    typed: set[Function]

    def __init__(
        self,
        functions: Mapping[GlobalVar, Function] | None = None,
        valid: frozenset[str] = frozenset(),
        typed: Collection[Function] = (),
    ) -> None:
        """Raises RegistryError for two functions of one name."""
        self.valid = valid
        self.functions = MappingProxyType(dict(functions or {}))
        self.typed = set(typed).intersection(self.functions.values()) if typed else set()
        self._by_name: dict[str, GlobalVar] = {}
        for var in self.functions:
            if var.name in self._by_name:
                raise RegistryError(f"two functions of a module are named @{var.name}")
            self._by_name[var.name] = var

    @staticmethod
    def from_expr(expr: Expr) -> IRModule:
        """A module whose `main` is `expr`, as a function of its free variables if it is not a function.

        The loops that it holds (`loops.py`) are functions of the module.
        """
        found, loops = lifted(expr, ("main",))
        function = found if isinstance(found, Function) else Function(tuple(free_vars(found)), found)
        named = {GlobalVar(name, loop.checked_type): loop for name, loop in loops.items()}
        return IRModule({GlobalVar("main", function.checked_type): function, **named})

    def global_var(self, name: str) -> GlobalVar:
        """The variable that names function `name`. Raises RegistryError, listing the names there are."""
        var = self._by_name.get(name)
        if var is None:
            raise RegistryError(
                f"the module has no function @{name}; it has {', '.join(self._by_name) or 'none'}"
            )
        return var

    def __getitem__(self, name: str | GlobalVar) -> Function:
        return self.functions[self.global_var(name if isinstance(name, str) else name.name)]

    def __contains__(self, name: object) -> bool:
        return (name.name if isinstance(name, GlobalVar) else name) in self._by_name

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def with_function(self, name: str | GlobalVar, function: Function) -> IRModule:
        """The module with `name` defined as `function`, replaced in its place or added at the end."""
        return self.with_functions({name if isinstance(name, str) else name.name: function})

    def with_functions(self, functions: Mapping[str, Function]) -> IRModule:
        """The module with each function defined under its name, replaced in its place or added at the end."""
        merged = dict(self.functions)
        for name, function in functions.items():
            known = self._by_name.get(name)
            merged[GlobalVar(name, function.checked_type) if known is None else known] = function
        return IRModule(merged, typed=self.typed)

    def update(self, other: IRModule | Mapping[GlobalVar, Function]) -> IRModule:
        """The module with the functions of another: those of a name that it has in their place, new ones at the end.

        Modules are immutable: what is called stays as it is.
        """
        functions = other.functions if isinstance(other, IRModule) else other
        return self.with_functions({var.name: function for var, function in functions.items()})

    def with_valid(self, valid: frozenset[str]) -> IRModule:
        """The same module with other results of passes known to hold."""
        return self if valid == self.valid else IRModule(self.functions, valid, self.typed)

    def without_function(self, name: str) -> IRModule:
        """The module without `name`. Raises RegistryError if there is no such function."""
        gone = self.global_var(name)
        kept = {var: function for var, function in self.functions.items() if var is not gone}
        return IRModule(kept, typed=self.typed)

    def astext(self) -> str:
        """The module as text, as `str` gives it: what `parse_module` reads."""
        return str(self)

    def __str__(self) -> str:
        from .printer import to_text  # printing is the one service a node needs from above

        return to_text(self)

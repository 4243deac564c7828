"""What everything stands on: errors, dtypes, scalar expressions with proofs, targets.

errors.py  vocabulary.py     what raises, and names for things
contract.py                  rules in tables
functions.py                 functions by dotted name
forks.py  kept.py  lazy.py   what forks, what is kept, what is made on first use
arith/                       scalar expressions and proofs
target/                      machines that code is made for; storeys above know them by the names that stand here
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .forks import import_module

if TYPE_CHECKING:
    from .target import Target as Target
    from .target import architecture_of as architecture_of
    from .target import ask as ask
    from .target import available_cpus as available_cpus

_OF_TARGET: Final = ("Target", "architecture_of", "ask", "available_cpus")


def __getattr__(name: str) -> object:
    """What is made of targets, imported on first use: errors and names alone are needed earlier and by more."""
    if name not in _OF_TARGET:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    value = globals()[name] = getattr(import_module(f"{__name__}.target"), name)
    return value

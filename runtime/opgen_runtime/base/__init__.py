"""What everything stands on: errors, dtypes, scalar expressions with proofs, targets.

errors.py  vocabulary.py     what raises, and names for things
contract.py                  rules in tables
version.py                   of the package
functions.py                 functions by dotted name
dataclass.py                 `dataclass` as in the standard library, made in a quarter of its time
forks.py  lru_cache.py            what forks, the LRU cache
altered.py                   what a process alters of the runtime
garbage.py                   how often Python looks for garbage
user_folder.py               where what a user has is kept
lazy.py  lazy_imports.py             attributes that are made, and names that are imported, with their first use
arith/                       scalar expressions and proofs
target/                      machines that code is made for; storeys above know them by the names that stand here
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy_imports import import_lazily

if TYPE_CHECKING:
    from .target import GENERIC as GENERIC
    from .target import Machine as Machine
    from .target import Target as Target
    from .target import Vectors as Vectors
    from .target import architecture_of as architecture_of
    from .target import ask as ask
    from .target import available_cpus as available_cpus
    from .target import machines_file as machines_file
    from .target import machines_stamp as machines_stamp
    from .target import write_machine as write_machine
else:  # errors and names alone are needed earlier and by more
    _NAMES = (
        "GENERIC", "Machine", "Target", "Vectors", "architecture_of", "ask", "available_cpus", "machines_file",
        "machines_stamp", "write_machine",
    )  # fmt: skip
    __getattr__ = import_lazily(__name__, dict.fromkeys(_NAMES, "target"))

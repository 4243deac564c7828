"""Compilation targets."""

from .answer import ask
from .architecture import Architecture, Vectors
from .families import architecture_of
from .host import available_cpus
from .machine import GENERIC, Machine
from .machine_file import machines_file, machines_stamp, write_machine
from .target import Target

__all__ = [
    "GENERIC",
    "Architecture",
    "Machine",
    "Target",
    "Vectors",
    "architecture_of",
    "ask",
    "available_cpus",
    "machines_file",
    "machines_stamp",
    "write_machine",
]

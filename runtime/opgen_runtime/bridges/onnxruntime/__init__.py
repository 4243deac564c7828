"""Declared ops as custom ops of onnxruntime: libraries that are compiled ahead of time and need nothing of opgen.

api.py            what is used of onnxruntime's C API: positions, versions
requests.py       what a library is asked to have
splitting.py      requests that take several entries
entry_text.py     the sizes of an entry as LLVM IR
tables_text.py    the tables of a library
words.py          the words of the handler's text
messages_text.py, create_text.py, compute_text.py, handler_text.py     what onnxruntime calls, as LLVM IR
library.py        requests to a file

onnxruntime itself is not needed to write a library.
"""

from .library import Refused, export
from .requests import (
    BUILT_IN,
    Request,
    as_open,
    domain_of,
    first_that_suits,
    open_type,
    request,
    why_not_callable,
)

__all__ = [
    "BUILT_IN",
    "Refused",
    "Request",
    "as_open",
    "domain_of",
    "export",
    "first_that_suits",
    "open_type",
    "request",
    "why_not_callable",
]

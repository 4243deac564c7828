"""Python text of syntax trees, laid out by ourselves: no formatter and no formatter version in the loop.

document.py   a small pretty printer: groups that break when they do not fit
literal.py    strings, docstrings and comments that cannot be broken out of
printer.py    expressions of Python's `ast` to documents
statements.py statements to lines
module.py     a rendered module: unused imports are dropped, logical lines that are too long are laid out again
"""

from .document import WIDTH
from .literal import comment_text, docstring_lines, fill, fold, quote, text_lines
from .module import lay_out
from .printer import expression_text
from .statements import statement_lines

__all__ = [
    "WIDTH",
    "comment_text",
    "docstring_lines",
    "expression_text",
    "fill",
    "fold",
    "lay_out",
    "quote",
    "statement_lines",
    "text_lines",
]

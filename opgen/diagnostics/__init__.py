"""Located findings about declarations, and how they are printed."""

from .codes import CODES
from .diagnostic import Diagnostic, Diagnostics, Edit, Suggestion, did_you_mean, meant
from .mending import mended
from .place import Place
from .render import printable, to_json, to_text
from .sarif import to_sarif

__all__ = [
    "CODES",
    "Diagnostic",
    "Diagnostics",
    "Edit",
    "Place",
    "Suggestion",
    "did_you_mean",
    "meant",
    "mended",
    "printable",
    "to_json",
    "to_sarif",
    "to_text",
]

"""Checked ops to plain views: every decision about what is printed is taken here; templates only print.

text.py        values and calls as Python text
wrapper.py     its function: parameters, annotations, documentation
op.py          its module
suite.py       its suite
page.py        its reference page, with example.py for a call of it
onnx.py        it as an ONNX function, with onnx_*.py for the expression
index.py       the package's index and stub
"""

from .index import IndexView, index_view, module_name
from .op import OpView, op_view
from .suite import SuiteView, suite_view

__all__ = [
    "IndexView",
    "OpView",
    "SuiteView",
    "index_view",
    "module_name",
    "op_view",
    "suite_view",
]

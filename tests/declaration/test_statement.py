"""What a generated module states: its docstring documents the op, and modules of the older form say what to do."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from opgen_runtime.base.vocabulary import OpPattern
from opgen_runtime.declaration import statement
from opgen_runtime.declaration.documentation import Documentation, documentation_of, plain
from opgen_runtime.operator.registry import Op, remove_global_func, remove_op
from opgen_runtime.operator.types import Bound, Let

DOCSTRING: Final = """Sum of some slices,
    which is a tensor.

    A second paragraph: of two sentences. This is the other.

        out[i] = sum(x[i, k] for k in range(n))

    Parameters
    ----------
    x : tensor of shape (N, K), dtype T (number)
        The slices, one after the other. A line
        that goes on.

          an indented line
          and another
    n : int, required, 0 <= n
    scale : float, default=1.0
        Said in
        two lines.

    Returns
    -------
    out : tensor of shape (N,), dtype T
        The sums.

    Computed by the hand-written function package.module:function.
    """


def test_a_docstring_documents_all() -> None:
    indented = "The slices, one after the other. A line that goes on.\n\n  an indented line\n  and another"
    assert documentation_of(DOCSTRING) == Documentation(
        "Sum of some slices, which is a tensor.\n\nA second paragraph: of two sentences. This is the other.",
        {"x": indented, "n": "", "scale": "Said in two lines."},
        {"out": "The sums."},
    )
    assert documentation_of(None) == documentation_of("") == Documentation()
    assert documentation_of("One line.") == Documentation("One line.")
    assert documentation_of("One.\n\nDeprecated: use two.\n") == Documentation("One.")
    assert documentation_of(DOCSTRING.replace("\n    ", "\n")) == documentation_of(
        DOCSTRING
    )  # Python 3.13 dedents
    assert plain("a\nb\n\n\n  c\n d\n") == "a b\n\n  c\n d"


def test_what_a_docstring_quotes_is_not_a_section() -> None:
    quoted = "One.\n\n    Parameters\n    ----------\n\nParameters\n----------\nx : tensor\n    An x.\n"
    assert documentation_of(quoted) == Documentation("One.", {"x": "An x."})


class ScaleAttrs(statement.Attrs):
    type_key = "attrs.test_statement"
    n: int = statement.attr("int", bounds="0 <= n")
    scale: float = statement.attr("float", default=1.0, doc="Said here.")


def stated(x: statement.ExprLike, n: int, scale: float = 1.0) -> statement.Call:
    return statement.call(Op.get("stated"), (x,), n=n, scale=scale)


stated.__doc__ = DOCSTRING


@pytest.fixture
def op() -> Iterator[Op]:
    yield statement.declare(
        stated,
        statement.Input("x", dtype="number"),
        statement.Bound("n", lambda n, x: n < x.ndim),
        statement.let("a, b = (n, 2)", lambda n: (n, 2)),
        statement.Output("out", shape="x.shape", dtype="x.dtype"),
        attrs=ScaleAttrs, compute=lambda x, out: None, pattern=OpPattern.ELEMWISE,
    )  # fmt: skip
    remove_op("stated")
    remove_global_func("op._make.stated")


def test_a_statement_is_completed(op: Op) -> None:
    declaration = op.get_attr("declaration")
    assert (op.name, op.origin, declaration.arity, declaration.support_level) == ("stated", __file__, 1, 10)
    assert op.description == declaration.doc == documentation_of(DOCSTRING).text
    assert op.arguments[0].description == documentation_of(DOCSTRING).parameters["x"]
    assert ScaleAttrs.list_field_info() == (
        ("n", "int, required, 0 <= n", ""),
        ("scale", "float, default=1.0", "Said here."),
    )
    assert ScaleAttrs.__doc__ == "The attrs of test_statement."
    bound, let = declaration.signature.rules
    assert isinstance(bound, Bound)
    assert bound.text == "0 <= n"  # of the attr
    assert isinstance(let, Let)
    assert (let.names, let.text) == (("a", "b"), "a, b = (n, 2)")
    assert declaration.signature.outputs[0].doc == "The sums."


OLDER: Final = '''
"""half: half."""

from __future__ import annotations

import typing as _t

from opgen_runtime.compute import lang as _l
from opgen_runtime.declaration import OpDeclaration as _OpDeclaration
from opgen_runtime.declaration import call as _call
from opgen_runtime.declaration import declare as _declare
from opgen_runtime.ir import Call as _Call
from opgen_runtime.ir import ExprLike as _ExprLike
from opgen_runtime.operator.types import Input as _Input
from opgen_runtime.operator.types import Output as _Output
from opgen_runtime.operator.types import Signature as _Signature
from opgen_runtime.base.vocabulary import OpPattern as _OpPattern


def compute(data: _t.Any, out: _t.Any) -> None:
    """out[*i] = data[*i] / 2"""
    out.define(lambda *i: _l.div(data[*i], 2))


OP = _declare(
    _OpDeclaration(
        name="half",
        doc="Half.",
        support_level=10,
        arity=1,
        attrs=None,
        signature=_Signature(
            inputs=(_Input("data", dtype="float"),),
            outputs=(_Output("out", shape="data.shape", dtype="data.dtype"),),
        ),
        compute=compute,
        extern=None,
        pattern=_OpPattern.ELEMWISE,
    ),
    __file__,
)


def half(data: _ExprLike) -> _Call:
    """Half."""
    return _call(OP, (data,))
'''


def test_a_module_of_the_older_form_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "_older_half.py"
    module.write_text(OLDER)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ImportError) as caught:
        importlib.import_module("_older_half")
    assert str(caught.value) == (
        f"{module} was generated by an older opgen, for another version of opgen_runtime; run: opgen generate"
    )

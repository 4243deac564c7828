"""Layout: what is printed has the same syntax tree, and fits."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgen.formatting import comment_text, docstring_lines, fill, lay_out, module, quote
from opgen.formatting import expression_text as text_of
from opgen.formatting import statement_lines as contiguous_rows_of
from opgen.formatting.module import _is_same


@pytest.mark.parametrize(
    "source",
    [
        "a + b * c",
        "(a + b) * c",
        "a - (b - c)",
        "a ** -b ** c",
        "(-a) ** b",
        "-(-a)",
        "not (a and b) or c",
        "(a or b) and not c",
        "a if b else c if d else e",
        "(a if b else c) if d else e",
        "(lambda x: x)(1)",
        "lambda *i, k=1: i[k]",
        "f(lambda: a, *b, k=c, **d)",
        "t[*i[:a], k, *i[a + 1:]]",
        "t[a,]",
        "t[()]",
        "sum((x for x in y if x < 0 if z))",
        "f((x for x in y), 1)",
        "(x,)",
        "()",
        "{1: 2, **d}",
        "{1, 2}",
        "[x for x, y in z]",
        "1 < x <= 2",
        "(a < b) == c",
        "a & (b | c) ^ ~d",
        "(1).real",
        "a is not None and b not in c",
        "x << 2 + y",
    ],
)
def test_expression_keeps_its_tree(source: str) -> None:
    tree = ast.parse(source, mode="eval").body
    for width in (110, 12):
        assert ast.dump(ast.parse(f"({text_of(tree, width=width)})", mode="eval").body) == ast.dump(tree)


@pytest.mark.parametrize("source", ["a + b * c", "-(-a)", "a ** -b", "(x,)", "t[*i[:a], k]", "not a"])
def test_short_expression_is_printed_plainly(source: str) -> None:
    assert text_of(ast.parse(source, mode="eval").body) == source


def test_long_call_breaks_one_argument_a_line() -> None:
    source = 'x = f(first="a" * 3, second=lambda i: g(i, i + 1), third=("a", "b", "c"))\n'
    assert lay_out(source, width=40) == (
        'x = f(\n    first="a" * 3,\n    second=lambda i: g(i, i + 1),\n    third=("a", "b", "c"),\n)\n'
    )


def test_short_arguments_share_lines() -> None:
    source = (
        "x = f(name, 'text', (1, 2), k=-3, lambda_=lambda: y, call=g(z), long=g(aaaaaaaaaa, bbbbbbbbbbbbb, ccccccc),"
        " last=v[0])\n"
    )
    assert lay_out(source, width=40) == (
        "x = f(\n"
        '    name, "text", (1, 2), k=-3,\n'
        "    lambda_=lambda: y, call=g(z),\n"
        "    long=g(\n"
        "        aaaaaaaaaa, bbbbbbbbbbbbb,\n"
        "        ccccccc,\n"
        "    ),\n"
        "    last=v[0],\n"
        ")\n"
    )
    function = "def f(a: int, b: int, c: int = 1, *, d: int = 2) -> int:\n    return a\n"
    assert lay_out(function, width=32) == (
        "def f(\n    a: int, b: int, c: int = 1,\n    *, d: int = 2,\n) -> int:\n    return a\n"
    )


def test_a_sole_argument_breaks_in_its_own_brackets() -> None:
    source = "out.define(lambda i: total(over(range(n), lambda k: first[i, k] * second[k, i])))\n"
    assert lay_out(source, width=60) == (
        "out.define(lambda i: total(over(\n    range(n), lambda k: first[i, k] * second[k, i]\n)))\n"
    )
    alone = "y = f(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa + bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb)\n"
    assert lay_out(alone, width=60) == (
        "y = f(\n    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n    + bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,\n)\n"
    )


def test_only_long_statements_are_laid_out_again() -> None:
    kept = "# a comment\n\nx  =  {  }\n\n\ndef f( a ):\n    return  a  # why\n"
    long = "y = call(" + ", ".join(f"argument_{n}" for n in range(12)) + ")\n"
    assert lay_out(kept + long).startswith(kept)
    assert max(len(line) for line in lay_out(kept + long).splitlines()) <= 110


def test_long_string_is_broken_at_spaces() -> None:
    text = "word " * 60
    laid = lay_out(f"x = f({text!r}, 1)\n")
    assert max(len(line) for line in laid.splitlines()) <= 110
    assert ast.dump(ast.parse(laid)) == ast.dump(ast.parse(f"x = f({text!r}, 1)"))


def test_statements() -> None:
    source = (
        "if a:\n    x = 1\nelif b:\n    x, y = z\nelse:\n    pass\n"
        "for i, j in zip(a, b):\n    with g(i) as h:\n        x[i] += h\n"
        "def f(p, /, q: int = 1, *r, k, **m) -> None:\n    return"
    )
    lines = contiguous_rows_of(ast.parse(source).body)
    assert ast.dump(ast.parse("\n".join(lines))) == ast.dump(ast.parse(source))


def test_a_group_of_unused_imports_leaves_one_blank_line() -> None:
    source = "from __future__ import annotations\n\nimport a as _a\nimport b as _b\n\nfrom c import d as _d\n\n_d\n"
    kept = "from __future__ import annotations\n\nfrom c import d as _d\n\n_d\n"
    assert lay_out(source) == kept


def test_unused_imports_are_dropped() -> None:
    source = (
        "import a as _a\nimport b as _b\nfrom c import d, e as _e, f as _f\nfrom g import h as h\n_b(_f)\n"
    )
    assert lay_out(source) == "import b as _b\nfrom c import f as _f\nfrom g import h as h\n_b(_f)\n"


@given(st.text())
def test_quoted_text_means_itself(text: str) -> None:
    literal = quote(text)
    assert ast.literal_eval(literal) == text
    assert literal.isprintable()


@given(st.text(alphabet=st.one_of(st.sampled_from("\"\\\n{}#'"), st.characters())), st.sampled_from([0, 4]))
def test_docstring_cannot_be_broken_out_of(text: str, indent: int) -> None:
    lines = docstring_lines(fill(text, 40), indent)
    body = ast.parse("\n".join([" " * indent + lines[0], *lines[1:]]) if not indent else
                     "def f():\n" + "\n".join(["    " + lines[0], *lines[1:]])).body  # fmt: skip
    assert len(body) == 1
    inner = body[0] if not indent else body[0].body
    assert isinstance(inner, ast.Expr) or len(inner) == 1


@given(st.text())
def test_comment_stays_on_its_line(text: str) -> None:
    assert ast.parse(f"x = 1  # {comment_text(text)}\ny = 2").body[1].lineno == 2


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("f(1, x)", "f(\n  1,\n  x,\n)", True),
        ("x = 1e999 - 1e999", "x=1e999-1e999", True),
        ("f(1)", "f(1.0)", False), ("f(1)", "f(True)", False), ("f(a, b)", "f(a)", False), ("x", "y", False),
        ("'a' 'b'", "'ab'", True), ("a if b else c", "a if c else b", False), ("-(1)", "-1", True),
        ("0.0", "-0.0", False),
    ],
)  # fmt: skip
def test_the_same_tree_elsewhere_is_the_same(one: str, other: str, same: bool) -> None:
    assert _is_same(ast.parse(one), ast.parse(other)) is same


@pytest.mark.parametrize(
    "source",
    [
        "import unused; x = 1\n",
        "x = 1; import unused\n",
        f"x = 1; y = f({'a, ' * 40})\n",
    ],
)
def test_statements_in_one_line_are_not_dropped(source: str) -> None:
    with pytest.raises(AssertionError, match="layout"):
        lay_out(source)


def test_layout_that_changes_the_meaning_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    source = f"x = f({'a, ' * 40})\n\n\ndef g(a, {'b, ' * 40}c):\n    return a\n"
    assert lay_out(source)
    for name in ("statement_lines", "header_lines"):
        right = getattr(module, name)
        monkeypatch.setattr(
            module,
            name,
            lambda *given, right=right, **options: [
                line.replace("(", "(z, ", 1) for line in right(*given, **options)
            ],
        )
        with pytest.raises(AssertionError, match="meaning"):
            lay_out(source)
        monkeypatch.undo()

"""Hostile texts."""

from __future__ import annotations

import builtins
import keyword
from typing import Final

from hypothesis import strategies as st

MARK: Final = "opgen_was_here"
_RUN: Final = f"__import__('os').system('touch {MARK}')"

# Each tries to end what it stands in, or is something that a careless reader resolves, expands or obeys.
INJECTIONS: Final = (
    f'"""\n{_RUN}\n"""', f"'''\n{_RUN}\n'''", f'"); {_RUN}; ("', f"'); {_RUN}; ('", f'\\"""; {_RUN} #', f"\n{_RUN}\n",
    f"\r{_RUN}\r", f"\x0c\n{_RUN}", f"\u2028{_RUN}\u2029", f"\x85{_RUN}", f"x\n    {_RUN}", f"# \n{_RUN}", "\\", '"',
    '\\"', "'", "\\'", '"' * 3, '"' * 6, "\\" * 3 + '"', '\\N{DIGIT ONE}', "\\x41", "\\\n", "{0.__class__}", "{}", "{{",
    "{{ 7 * 7 }}", "{{ ''.__class__.__mro__[1].__subclasses__() }}", "{% for x in (1).__class__ %}{% endfor %}",
    "{# #}", "{%- raw -%}", "{{ op.__init__.__globals__ }}", "%s%n", "${HOME}", "$(id)", "`id`", "<script>", "\x00",
    "\x07", "\x1b[31m", "\x7f", "\u202eevil\u202c", "\u200b", "\ufeff",
    "\u0430xis", "ﬁle", "𝐝𝐚𝐭𝐚", "a\u0301", "\U0010ffff",
    "!!python/object/apply:os.system [id]", "!!python/name:os.system", "&a [*a]", "*a", "<<: *a", "- - -", "---", "...",
    "%YAML 1.1", "? x", ": :", "|", ">", "@x", "null", "~", "yes", "0o17", "1:30", "1e-5", ".inf", "=", "", " ", "\t",
    "None", "True", "lambda: 0", "yield", "await x", "x := 1", "import os", "open('f')", "exec('1')", "eval",
    "__builtins__", "__class__", "data.__class__", "data.shape.__class__", "_l", "_l.np", "_b.eval('1')", "_t", "OP",
    "self", "_x", "compute", "reference", "np", "math", "attrs", "case", "range", "9" * 1_000_000, "-" + "9" * 500,
    "0x" + "f" * 100_000, "1e999", "1e-999", "1_000", "1j", "9" * 19, "9223372036854775808", "1.5", "nan", "-inf",
    "(" * 500, "[" * 500, "((((" * 9, "not " * 300, "-" * 5000, "~" * 100, "1+" * 5000 + "1", "a" * 100_000,
    "a." * 500 + "a", "x[" * 39 + "0" + "]" * 39, "f(" * 39 + ")" * 39, "1 if 1 else " * 300 + "1",
    "a and " * 500 + "a", "0 < " * 500 + "1", "def f(x): return f(x)", "for i in range(10**9): x = 1", "[1, 2]",
    "10 ** 10 ** 10", "2 ** 2 ** 2 ** 2 ** 9", "1 << 10 ** 9", "1 << 10 ** 18", "'a' * 10 ** 9", "(1,) * 10 ** 9",
    "range(10 ** 18)", "tuple(range(10 ** 9))", "sum(i for i in range(10 ** 9))", "tuple(tuple(range(10**5)))",
    "sorted(i for i in ndindex((1000, 1000, 1000)))", "len(tuple(i for i in range(10 ** 12)))", "1 // 0", "1 % 0",
    "data.shape[10 ** 30]", "data.shape[::0]", "data.shape.index(77)", "min(())", "next(i for i in range(0))",
    "float32[999999999, 999999999]", "float32[-1]", "float32[" + "2, " * 5000 + "2]", "float32[1e9]", "int8[2] in 9..1",
    "int8[2] in -1e99..1e99", "float32[2, 3] in nan..inf", "float128[2]", "float32[٣]", "float32[2]\n, int8[3]",
    "*" * 50, "*A, *B, *C", "K, K, K", "*(1, 2)", "*data.shape", "j in range(10 ** 9)", "os:system", "os.path:join",
    "..:x", "a.b:c.d", "subprocess:run", "opgen.analyse:check_project", "soft", "soft:soft",
)  # fmt: skip
NAMES: Final = (
    *keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self", "cls", "OP", "SoftAttrs", "SoftAttrs_", "Attrs",
    "compute", "reference", "annotations", "np", "numpy", "math", "os", "sys", "testing", "pytest", "Case", "cases",
    "Suite", "module", "_l", "_b", "_d", "_x", "__x__", "__class__", "__dict__", "type_key", "list_field_info",
    "as_dict", "fields", "to_json", "from_json", "visit_fields", "init_by_packed_args", "copy", "mro", "span", "name",
    "shape", "dtype", "ndim", "float32", "int8", "i", "k", "r", "a", "A", "out", "data", "axis", "É", "ﬁ", "a b", "a-b",
    "1a", "a.b", "", "a\n", "a;b", "a" * 10_000, "T", "K", "soft", "default", "lambda_", "case", "type", "op", "j",
)  # fmt: skip


def texts(longest: int = 10_000_000) -> st.SearchStrategy[str]:
    """Injections of at most `longest` characters, any unicode, and mixtures of both."""
    anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
    some = st.sampled_from([text for text in INJECTIONS if len(text) <= longest])
    small = st.sampled_from([text for text in INJECTIONS if len(text) < 200])
    return st.one_of(some, anything, st.lists(st.one_of(small, anything), max_size=4).map("".join))


def names() -> st.SearchStrategy[str]:
    return st.one_of(st.sampled_from(NAMES), texts())

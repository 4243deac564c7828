"""Which key of the declaration a line of a generated file comes from."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Final

# A keyword of `_d.declare`, an attribute of a suite, or a function of either file -> the key of the declaration.
_KEYS: Final = {
    "attrs": "attrs", "compute": "compute", "extern": "compute", "te": "compute", "pattern": "compute",
    "support_level": "support_level", "traits": "traits", "strategy": "strategy", "doc": "doc", "dtypes": "dtypes",
    "dynamic": "dynamic", "relation": "type_relation", "fields": "attrs", "cases": "tests", "sampled": "tests",
    "bounds": "attrs", "refused": "inputs", "inferred": "inputs", "reference": "reference",
}  # fmt: skip
_COMPUTE: Final = (("compute",), ("composed",))
_PART: Final = {"Input": "inputs", "Output": "outputs", "Bound": "attrs", "Require": "type_relation"}
_SECTIONS: Final = {"Parameters": ("attrs", "inputs"), "Returns": ("outputs",)}
_SAID: Final = re.compile(r"(\w+) : ")
_TRIED: Final = re.compile(r"(\w+)=[^,|]*\|")  # `axis=0|-1` of a suite's bounds


@dataclass(frozen=True, slots=True)
class Origin:
    """Paths of keys, of which the first that is there counts; and a pattern of what it is in the value.

    `number`: which of the places of that pattern it is, from 0.
    """

    keys: tuple[tuple[str, ...], ...]
    pattern: str = ""
    number: int = 0


def origin_of(text: str, line: int) -> Origin:
    """The origin of a line, from 1, of a generated module or suite; what belongs to no key comes from `op`."""
    for node in ast.parse(text).body:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            found = _of_statement(node, line, text.splitlines())
            if found is not None:
                return found
    return Origin((("op",),))


def _of_statement(node: ast.stmt, line: int, lines: list[str]) -> Origin | None:
    if isinstance(node, ast.FunctionDef):
        if node.name == "compute":
            return _of_definition(node, line)
        if ast.get_docstring(node) is not None and line > node.lineno:
            return _of_documentation(lines[node.lineno : line])
        return Origin((("inputs",),))
    if isinstance(node, ast.ClassDef):
        return _of_member(node, line, lines)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        return _of_part(node.value, line)
    return None


def _of_definition(function: ast.FunctionDef, line: int) -> Origin:
    """A line of `compute`: the definition of a tensor, as many-th of that tensor as here."""
    numbers: dict[str, int] = {}
    for statement in function.body:
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
        defined = [name for call in calls if (name := _defined(call)) is not None]
        if statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            for name in defined:
                return Origin(_COMPUTE, _definition(name), numbers.get(name, 0))
            created = statement.targets[0] if isinstance(statement, ast.Assign) else None
            return Origin(_COMPUTE, _definition(created.id) if isinstance(created, ast.Name) else "")
        for name in defined:
            numbers[name] = numbers.get(name, 0) + 1
    return Origin(_COMPUTE)


def _definition(tensor: str) -> str:
    """The pattern of the left side of a definition."""
    return rf"(?m:^)[ \t]*\b{tensor}\["


def _defined(call: ast.Call) -> str | None:
    """The tensor that a call defines: `out.define(...)`."""
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in ("define", "put"):
        return function.value.id if isinstance(function.value, ast.Name) else None
    return None


def _of_documentation(above: list[str]) -> Origin:
    """The last of some lines of a wrapper's docstring."""
    sections: tuple[str, ...] = ()
    said = ""
    is_formula = False
    for line in above:
        stripped = line.strip().strip('"')
        indent = len(line) - len(line.lstrip())
        if stripped in _SECTIONS:
            sections, said = _SECTIONS[stripped], ""
        elif sections and indent == 4 and (match := _SAID.match(stripped)):
            said = match[1]
        is_formula = not sections and indent >= 8
    if sections:
        return Origin(tuple((section, said) for section in sections))
    return Origin(_COMPUTE, re.escape(above[-1].strip())) if is_formula else Origin((("doc",),))


def _of_member(node: ast.ClassDef, line: int, lines: list[str]) -> Origin | None:
    """A field of an attrs class, a table of a suite, or the reference."""
    for member in node.body:
        if not member.lineno <= line <= (member.end_lineno or member.lineno):
            continue
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            return Origin((("attrs", member.target.id),))
        if isinstance(member, ast.FunctionDef):
            return Origin(((_KEYS.get(member.name, "op"),),), re.escape(lines[line - 1].strip()))
        if isinstance(member, ast.Assign) and isinstance(member.targets[0], ast.Name):
            name = member.targets[0].id
            if name == "fields":
                return Origin((("attrs", lines[line - 1].strip().partition(":")[0]), ("attrs",)))
            tried = _TRIED.search(lines[line - 1]) if name == "bounds" else None
            if tried is not None:
                return Origin((("attrs", tried[1], "bounds"), ("attrs", tried[1])))
            number = line - member.lineno - 1 if name == "cases" else 0
            return Origin(((_KEYS.get(name, "op"), str(number)), (_KEYS.get(name, "op"),)))
    return None


def _of_part(call: ast.Call, line: int) -> Origin | None:
    """An argument of `_d.declare`."""
    for argument in call.args:
        if isinstance(argument, ast.Call) and argument.lineno <= line <= (argument.end_lineno or 0):
            return _of_call(argument)
    for keyword in call.keywords:
        if keyword.lineno <= line <= (keyword.end_lineno or 0):
            return Origin(((_KEYS.get(keyword.arg or "", "op"),),))
    return None


def _of_call(part: ast.Call) -> Origin:
    kind = part.func.attr if isinstance(part.func, ast.Attribute) else ""
    first = part.args[0].value if part.args and isinstance(part.args[0], ast.Constant) else ""
    if kind == "let":
        return Origin((("let",), ("composed",)), re.escape(str(first)))
    if kind == "Bound":
        return Origin((("attrs", str(first), "bounds"), ("attrs", str(first))))
    key = _PART.get(kind, "op")
    return Origin(((key, str(first)), (key,)))

"""The base of the suites of declared rewrites: programs before a pass and after it, and those that must stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..base.vocabulary import dataclass
from ..ir import Function, parse_expr, structural_equal
from ..transform import InferType, PassContext, PassMaker, VerifyIR


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A case: the rule, the program, what becomes of it (None: nothing), and the options of the pass."""

    name: str
    before: str
    after: str | None
    options: Mapping[str, bool]


class RewriteSuite:
    """`make` makes the pass; each of `cases` is a function as text."""

    make: ClassVar[PassMaker[Any]]
    cases: ClassVar[Sequence[Rewritten]]

    def test_what_becomes_of_programs(self) -> None:
        """The whole result, held to the contract of passes; what must stay is the same object."""
        for case in self.cases:
            program = _program(case.before)
            with PassContext(instruments=[VerifyIR()]):
                found = type(self).make(**case.options)(program)
            if case.after is None:
                assert found is program, f"{case.name}\nfired on\n{program}\nand gave\n{found}"
            else:
                expected = _program(case.after)
                assert structural_equal(found, expected), f"{case.name}\ngave\n{found}\nexpected\n{expected}"


def _program(text: str) -> Function:
    found = parse_expr(text)
    assert isinstance(found, Function)
    return InferType()(found)

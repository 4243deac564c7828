"""The base of generated suites: a suite is tables, the tests are here.

    class TestAxisAbs(Suite):
        module = _axis_abs
        fields = "..."      # each attr and its type text
        cases = "..."       # declared calls
        sampled = "..."     # changes of them: other extents, ranks, dtypes and attrs
        bounds = "..."      # values of attrs on both sides of the ends of their bounds
        refused = "..."     # calls that the type relation refuses, and how

        @staticmethod
        def reference(data, axis, indice): ...

Tables are text (see `lines.py`).  A test that fails names file and line of its case.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, ClassVar, Final

from ..operator import Op
from .bounds import check_bound
from .cases import Case, Inferred, Place, Probe, declaration_of
from .gradient import check_grad
from .inference import check_types
from .interface import check_interface, check_refused
from .lines import LineError, parse_cases, parse_fields, parse_probes, parse_refusals
from .values import check_values

_GRADIENTS: Final = 4  # sampled cases of which gradients are tested
_EXECUTORS: Final = ("debug", "graph")
_TABLES: Final = {
    "test_types": ("cases",), "test_values": ("cases", "reference"),
    "test_sampled_types": ("sampled",), "test_sampled_values": ("sampled", "reference"),
    "test_bounds": ("bounds",), "test_refused": ("refused",), "test_gradient": ("cases",),
}  # fmt: skip


class Suite:
    """The suite of one op, which its `module` declares.  A test whose tables are empty is none.

    Raises LineError where a table holds what is no call, when the class is made.
    """

    module: ClassVar[ModuleType]
    fields: ClassVar[str] = ""
    inferred: ClassVar[Inferred] = Inferred()  # in every case that says nothing else
    cases: ClassVar[str] = ""
    sampled: ClassVar[str] = ""
    bounds: ClassVar[str] = ""
    refused: ClassVar[str] = ""
    reference: ClassVar[Callable[..., Any] | None] = None

    op: ClassVar[Op]
    function: ClassVar[Callable[..., Any]]
    declared_cases: ClassVar[tuple[Case, ...]]
    sampled_cases: ClassVar[tuple[Case, ...]]
    probes: ClassVar[tuple[Probe, ...]]
    refusals: ClassVar[tuple[tuple[Case, str], ...]]
    _file: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._file = sys._getframe(1).f_code.co_filename
        cls.op = cls.module.OP
        cls.function = getattr(cls.module, declaration_of(cls.op).name)
        inputs = [operand.name for operand in declaration_of(cls.op).signature.inputs]
        try:
            cls.declared_cases = parse_cases("cases", cls.cases, inputs)
            cls.sampled_cases = parse_cases("sampled", cls.sampled, inputs)
            cls.probes = parse_probes("bounds", cls.bounds, inputs)
            cls.refusals = parse_refusals("refused", cls.refused, inputs)
        except LineError as error:
            raise LineError(f"{cls._file}: {cls.__name__}: {error}") from None
        for test, tables in _TABLES.items():
            if not all([getattr(cls, table) for table in tables]):
                setattr(cls, test, None)

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Pytest asks it for the arguments of each test."""
        given: Mapping[str, Sequence[object]] = {
            "types": self.declared_cases,
            "values": self.declared_cases,
            "sampled_types": self.sampled_cases,
            "sampled_values": self.sampled_cases,
        }
        test = metafunc.function.__name__.removeprefix("test_")
        if test in given:
            metafunc.parametrize("case", given[test], ids=str)
        if test.endswith("values"):
            metafunc.parametrize("executor", _EXECUTORS)
        if test == "bounds":
            metafunc.parametrize("probe", self.probes, ids=str)
        if test == "refused":
            metafunc.parametrize(("case", "error"), self.refusals, ids=str)

    def test_interface(self) -> None:
        check_interface(self.op, type(self).function, parse_fields(self.fields))

    def test_types(self, case: Case) -> None:
        with _At(self._file, type(self).__name__, case.place):
            check_types(self.op, case, self.inferred)

    def test_sampled_types(self, case: Case) -> None:
        with _At(self._file, type(self).__name__, case.place):
            check_types(self.op, case, self.inferred)

    def test_values(self, case: Case, executor: str) -> None:
        with _At(self._file, type(self).__name__, case.place):
            check_values(self.op, case, _given(type(self).reference), executor)

    def test_sampled_values(self, case: Case, executor: str) -> None:
        with _At(self._file, type(self).__name__, case.place):
            check_values(self.op, case, _given(type(self).reference), executor, sampled=True)

    def test_bounds(self, probe: Probe) -> None:
        with _At(self._file, type(self).__name__, probe.place):
            check_bound(self.op, probe)

    def test_gradient(self) -> None:
        """Each case of floats, and some changes of them."""
        for case in (*self.declared_cases, *self.sampled_cases[:_GRADIENTS]):
            with _At(self._file, type(self).__name__, case.place):
                check_grad(self.op, case)

    def test_refused(self, case: Case, error: str) -> None:
        with _At(self._file, type(self).__name__, case.place):
            check_refused(self.op, case, error)


class _At:
    """Adds file and line of a case to whatever its check raises."""

    def __init__(self, file: str, suite: str, place: Place | None) -> None:
        self._where = (file, suite, place)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        file, suite, place = self._where
        if error is not None and place is not None:
            table, number = place
            lines = _lines_of(file)
            start = _starts(file).get((suite, table))
            own = None if start is None else start + number
            text = "" if own is None or own > len(lines) else f": {lines[own - 1].strip()}"
            error.add_note(f"{os.path.relpath(file)}:{own or f' {suite}.{table}'}{text}")


def _given(reference: Callable[..., Any] | None) -> Callable[..., Any]:
    assert reference is not None
    return reference


def suite_of(module: ModuleType) -> type[Suite]:
    """The suite that a module of tests holds."""
    (found,) = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Suite) and each is not Suite
    ]
    return found


@lru_cache(maxsize=8)
def _lines_of(file: str) -> list[str]:
    """The lines of a suite; none where it cannot be read any more."""
    try:
        return Path(file).read_text(encoding="utf-8").split("\n")
    except OSError:
        return []


@lru_cache(maxsize=8)
def _starts(file: str) -> dict[tuple[str, str], int]:
    """The line at which the text of each table begins, by class and table."""
    try:
        tree = ast.parse("\n".join(_lines_of(file)))
    except SyntaxError:
        return {}
    return {
        (suite.name, target.id): statement.value.lineno
        for suite in tree.body
        if isinstance(suite, ast.ClassDef)
        for statement in suite.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }

"""A plugin of pytest that has the tests of each file run on a worker of a cluster, and reports them as if run here."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import pytest

from .failure import Failure
from .scheduler import cluster

PLUGIN: Final = __name__
REQUEST: Final = "OPGEN_TEST_ELSEWHERE"
"""The variable of the environment that has, as JSON, the scheduler's address, a path for imports, and options."""

Reports: TypeAlias = Sequence[tuple[str, Any, list[dict[str, Any]]]]
"""Of each test its id, its place, and pytest's reports as data."""


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Instead of pytest's own loop: files in their order, each as soon as it and those before it are done."""
    if session.testsfailed or session.config.option.collectonly:
        return None  # pytest's own loop tells
    files = list(dict.fromkeys([str(item.path) for item in session.items]))
    address, root, arguments = json.loads(os.environ[REQUEST])
    units = [(os.getcwd(), [*arguments, file]) for file in files]
    done: dict[int, Reports] = {}
    told = 0
    try:
        with cluster(address, [root]) as pool:
            for number, reports in pool.each(reports_of, units):
                done[number] = reports
                while told in done:
                    _tell(session, done.pop(told))
                    told += 1
    except Failure as failure:
        raise pytest.UsageError(failure.message) from None
    return True


def _tell(session: pytest.Session, reports: Reports) -> None:
    config = session.config
    for nodeid, location, parts in reports:
        config.hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
        for data in parts:
            report = config.hook.pytest_report_from_serializable(config=config, data=data)
            config.hook.pytest_runtest_logreport(report=report)
        config.hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)


def reports_of(unit: tuple[str, Sequence[str]]) -> Reports:
    """What a worker does: pytest in a folder, with arguments."""
    folder, arguments = unit
    os.chdir(folder)
    noted = _Noted()
    pytest.main(list(arguments), plugins=[noted])
    return [(nodeid, location, parts) for nodeid, (location, parts) in noted.reports.items()]


class _Noted:
    """A plugin that keeps the reports of a run."""

    def __init__(self) -> None:
        self.reports: dict[str, tuple[Any, list[dict[str, Any]]]] = {}
        self._config: pytest.Config | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        assert self._config is not None
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self.reports.setdefault(report.nodeid, (report.location, []))[1].append(data)

# SPDX-License-Identifier: GPL-2.0-or-later
"""The test suite itself: a run that executes no test does not pass."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Literal, cast

import pytest

from tests import conftest
from tests.cli.command import ROOT
from tests.conftest import _MUST_RUN


@pytest.mark.parametrize("executed", [0, 1])
def test_a_run_without_tests_fails(executed: int) -> None:
    """With `sh run test` a run without an executed test fails, also if all were skipped."""
    counter = conftest._Executed()
    # Only this attribute of a session is used.
    session = cast(pytest.Session, SimpleNamespace(exitstatus=pytest.ExitCode.OK))
    reports: list[tuple[Literal["setup", "call"], Literal["passed", "skipped"]]] = [
        ("setup", "passed"),
        ("call", "skipped"),
        *[("call", "passed")] * executed,
    ]
    for when, outcome in reports:
        report = pytest.TestReport("test", ("test", 0, "test"), {}, outcome, None, when)
        counter.pytest_runtest_logreport(report)
    counter.pytest_sessionfinish(session)
    assert (session.exitstatus == pytest.ExitCode.OK) == bool(executed)


def test_test_command_sets_the_variable() -> None:
    """The script that CI runs sets the variable."""
    script = (ROOT / "run").read_text(encoding="utf-8")
    assert f"export {_MUST_RUN}=1" in script.partition("run_tests() {")[2].partition("\n}")[0]

# SPDX-License-Identifier: GPL-2.0-or-later
"""The test suite itself: a run that executes no test does not pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Literal, cast

import pytest

from tests import conftest
from tests.cli.command import ROOT, environment
from tests.conftest import _MUST_RUN

ONE = "tests/wire/test_shown.py"
"""Some quick tests."""


def status(*arguments: str, must_run: str = "1", **variables: str) -> int:
    """The exit status of pytest in a process of its own."""
    # Options of whoever runs these tests do not count.
    clean = {"CI": "", "PYTEST_ADDOPTS": "", "PYTEST_XDIST_AUTO_NUM_WORKERS": "1", **variables}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env=environment(**{_MUST_RUN: must_run}, **clean),
        timeout=120,
    )
    return done.returncode


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


@pytest.mark.slow
def test_collecting_is_not_running() -> None:
    """Collecting is not running, in CI either. A developer may collect alone."""
    assert status("--collect-only", ONE) == pytest.ExitCode.NO_TESTS_COLLECTED
    assert status(ONE, PYTEST_ADDOPTS="--collect-only") == pytest.ExitCode.NO_TESTS_COLLECTED
    assert status("--collect-only", ONE, must_run="", CI="true") != 0
    assert status("--collect-only", ONE, must_run="") == 0


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--collect-only"], ["-k", "nosuch"], []])
def test_run_without_tests_in_workers_fails(arguments: list[str]) -> None:
    """Tests that workers have executed count."""
    assert (status("-n", "1", *arguments, ONE) == 0) is (not arguments)


def test_test_command_sets_the_variable() -> None:
    """The script that CI runs sets the variable."""
    script = (ROOT / "run").read_text(encoding="utf-8")
    assert f"export {_MUST_RUN}=1" in script.partition("run_tests() {")[2].partition("\n}")[0]


@pytest.mark.slow
def test_hanging_test_ends(tmp_path: Path) -> None:
    """pytest-timeout limits the time of every test."""
    hanging = tmp_path / "test_hanging.py"
    hanging.write_text("import time\n\n\ndef test_it():\n    time.sleep(60)\n", encoding="utf-8")
    config = os.fspath(ROOT / "pyproject.toml")
    assert status("-c", config, "-o", "timeout=0.5", os.fspath(hanging)) == 1

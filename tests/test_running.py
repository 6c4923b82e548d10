# SPDX-License-Identifier: GPL-2.0-or-later
"""How the tests themselves run: nothing passes because nothing was looked at."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Literal, cast

import pytest

import tests
from tests import conftest
from tests.cli.command import ROOT, environment
from tests.conftest import _MUST_RUN

ONE = "tests/wire/test_shown.py"
"""Some quick tests."""


def status(*arguments: str, must_run: str = "1", **variables: str) -> int:
    """The exit status of pytest in a process of its own."""
    # Whoever runs these tests may have options of their own.
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
    """If `sh run test` asks for it: what was not executed, or skipped, has shown nothing."""
    counter = conftest._Executed()
    # Of a session nothing but this is looked at.
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
def test_what_was_only_collected_was_not_run() -> None:
    """In CI, too; but a developer may ask what there is."""
    assert status("--collect-only", ONE) == pytest.ExitCode.NO_TESTS_COLLECTED
    assert status(ONE, PYTEST_ADDOPTS="--collect-only") == pytest.ExitCode.NO_TESTS_COLLECTED
    assert status("--collect-only", ONE, must_run="", CI="true") != 0
    assert status("--collect-only", ONE, must_run="") == 0


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--collect-only"], ["-k", "nosuch"], []])
def test_the_same_with_several_workers(arguments: list[str]) -> None:
    """Tests that workers have executed count."""
    assert (status("-n", "1", *arguments, ONE) == 0) is (not arguments)


def test_the_test_command_asks_for_it() -> None:
    """The script that CI runs sets the variable."""
    script = (ROOT / "run").read_text(encoding="utf-8")
    assert f"export {_MUST_RUN}=1" in script.partition("run_tests() {")[2].partition("\n}")[0]


def test_helpers_show_values() -> None:
    """pytest rewrites the asserts of modules that hold no tests, too."""
    names = [each.name for each in pkgutil.walk_packages(tests.__path__, "tests.")]
    assert {"tests.cli.command", "tests.truth.mpastream", "tests.stream.feed"} < set(names)
    plain = [
        name
        for name in names
        if name not in ("tests.conftest", "tests.effort", "tests.schema")
        and type(getattr(find_spec(name), "loader", None)).__name__ != "AssertionRewritingHook"
    ]
    assert plain == []


@pytest.mark.slow
def test_a_test_that_hangs_ends(tmp_path: Path) -> None:
    """The time limit of pytest-timeout is in force, and there is one for every test."""
    hanging = tmp_path / "test_hanging.py"
    hanging.write_text("import time\n\n\ndef test_it():\n    time.sleep(60)\n", encoding="utf-8")
    config = os.fspath(ROOT / "pyproject.toml")
    assert status("-c", config, "-o", "timeout=0.5", os.fspath(hanging)) == 1

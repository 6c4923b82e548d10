# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures for all tests, and settings of property tests."""

import gc
import os
import pkgutil
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import tests
from tests import effort, schema

# pytest also shows the values of plain asserts in helpers.
pytest.register_assert_rewrite(
    *(
        f"tests.{each.name}"
        for each in pkgutil.iter_modules(tests.__path__)
        if each.name not in ("conftest", "effort", "schema")
    )
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options that choose how many tests run."""
    group = parser.getgroup("scapy_mpa")
    group.addoption("--quick", action="store_true", help="the core alone, with a few examples")
    group.addoption("--thorough", action="store_true", help="with all examples there are")


def _choose(config: pytest.Config) -> None:
    """Store this choice before any test is imported."""
    effort.chosen = next(
        (level for level in ("quick", "thorough") if config.getoption(level)), "usual"
    )
    # In CI the examples are the same each time. A slow machine must not fail one.
    parent = settings.get_profile("ci") if os.environ.get("CI") else settings.get_profile("default")
    settings.register_profile(
        "chosen",
        parent=parent,
        deadline=None,
        max_examples=effort.DRAWN[effort.chosen],
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("chosen")


def _path_of(program: str) -> str:
    """The path of a program that may be missing.

    Then the test is skipped. In CI (the environment variable ``CI`` is set) it fails, so that
    no test is left out unnoticed.
    """
    path = shutil.which(program)
    if path is None:
        reason = f"install {program} to run this test (Debian: apt-get install {program})"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@pytest.fixture(scope="session")
def tshark() -> str:
    """The path of tshark, for tests that compare with Wireshark's dissector."""
    return _path_of("tshark")


@pytest.fixture(scope="session")
def jq() -> str:
    """The path of jq, for examples in documents."""
    return _path_of("jq")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore tests outside the core in a quick run."""
    if not config.getoption("quick") or collection_path.suffix != ".py":
        return None
    is_core = collection_path.parent.name in effort.CORE and collection_path.stem != "test_bounds"
    return None if is_core or not collection_path.name.startswith("test_") else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out examples that do not run. pytest shows their number."""
    left_out = effort.left_out(items)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Exclude what stays until the end from garbage collection: all of Scapy, and the tests."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that draws at random, as Scapy's ``fuzz()`` does, draws the same every time."""
    random.seed(item.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run without an executed test, since it shows nothing."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    # Workers of xdist have none.
    if reporter is None or session.config.option.collectonly:
        return
    if session.exitstatus == pytest.ExitCode.OK and not reporter.stats.get("passed"):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many tests run, and check records against their schema."""
    _choose(config)
    schema.check_records()

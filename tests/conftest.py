# SPDX-License-Identifier: GPL-2.0-or-later
"""What every test may ask for, and how property tests run."""

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

# Of a plain assert in a helper of the tests, too, pytest is to show the values.
pytest.register_assert_rewrite(
    *(
        f"tests.{each.name}"
        for each in pkgutil.iter_modules(tests.__path__)
        if each.name not in ("conftest", "effort", "schema")
    )
)

_MUST_RUN = "SCAPY_MPA_TESTS_MUST_RUN"
"""The environment variable by which `sh run test` says that a run without tests is a failed one."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let whoever runs the tests say how much they try."""
    group = parser.getgroup("scapy_mpa")
    group.addoption("--quick", action="store_true", help="the core alone, with a few examples")
    group.addoption("--thorough", action="store_true", help="with all examples there are")


def _choose(config: pytest.Config) -> None:
    """Take note of how much is to be tried, before any test is imported."""
    effort.chosen = next(
        (level for level in ("quick", "thorough") if config.getoption(level)), "usual"
    )
    # In CI the examples are the same each time.  A busy machine must not fail one for being slow.
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
    """The path of a program that may not be there.

    Then the test is skipped, except in CI (the environment variable ``CI`` is set): there it fails,
    so that nothing is left out unnoticed.
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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave alone what does not belong to the core, if that is to be quick."""
    if not config.getoption("quick") or collection_path.suffix != ".py":
        return None
    is_core = collection_path.parent.name in effort.CORE and collection_path.stem != "test_bounds"
    return None if is_core or not collection_path.name.startswith("test_") else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out examples that are not tried; pytest says how many these are."""
    left_out = effort.left_out(items)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays until the end: all of Scapy, and the tests."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have a test that draws at random, as Scapy's ``fuzz()`` does, draw the same every time."""
    random.seed(item.nodeid)


class _Executed:
    """Fails a run in which no test was executed: it has shown nothing."""

    def __init__(self) -> None:
        self._tests = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what was executed, here or in a worker of xdist."""
        self._tests += report.when == "call" and not report.skipped

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Change the status if all seems to be well."""
        if not self._tests and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def pytest_configure(config: pytest.Config) -> None:
    """Hold records against their schema, and count executed tests if there must be some.

    Workers of xdist leave the counting to their master.
    """
    _choose(config)
    schema.hold_records()
    is_worker = hasattr(config, "workerinput")
    if not is_worker and (os.environ.get("CI") or os.environ.get(_MUST_RUN)):
        config.pluginmanager.register(_Executed())

# SPDX-License-Identifier: GPL-2.0-or-later
"""What every test may ask for, and how property tests run."""

import gc
import os
import pkgutil
import random
import shutil

import pytest
from hypothesis import settings

import tests

# Of a plain assert in a helper of the tests, too, pytest is to show the values.
pytest.register_assert_rewrite(
    *(
        f"tests.{each.name}"
        for each in pkgutil.iter_modules(tests.__path__)
        if each.name != "conftest"
    )
)

_MUST_RUN = "SCAPY_MPA_TESTS_MUST_RUN"
"""The environment variable by which `sh run test` says that a run without tests is a failed one."""

# In CI Hypothesis takes a profile of its own, without deadlines and with the same examples every
# time. Elsewhere a busy machine must not fail an example for being slow either.
if not os.environ.get("CI"):
    settings.register_profile("local", deadline=None)
    settings.load_profile("local")


@pytest.fixture(scope="session")
def tshark() -> str:
    """The path of tshark, for tests that compare with Wireshark's dissector.

    Without tshark the test is skipped, except in CI (the environment variable ``CI`` is set):
    there it fails, so that nothing is left out unnoticed.
    """
    path = shutil.which("tshark")
    if path is None:
        reason = "install tshark to run this test (Debian: apt-get install tshark)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


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
    """Count executed tests if there must be some; workers of xdist leave that to their master."""
    is_worker = hasattr(config, "workerinput")
    if not is_worker and (os.environ.get("CI") or os.environ.get(_MUST_RUN)):
        config.pluginmanager.register(_Executed())

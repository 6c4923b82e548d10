# SPDX-License-Identifier: GPL-2.0-or-later
"""What every test may ask for, and how property tests run."""

import os
import shutil

import pytest
from hypothesis import settings

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

# SPDX-License-Identifier: GPL-2.0-or-later
"""The test suite itself: a run that executes no test does not pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import ROOT

BODIES = [
    ("pass", "-n0", pytest.ExitCode.OK),
    ("pytest.skip()", "-n1", pytest.ExitCode.NO_TESTS_COLLECTED),
    ("pytest.skip()", "-n0", pytest.ExitCode.NO_TESTS_COLLECTED),
    ("pytest.skip()", "--collect-only", pytest.ExitCode.OK),
]


@pytest.mark.parametrize(("body", "option", "status"), BODIES)
def test_a_run_without_tests_fails(body: str, option: str, status: int, tmp_path: Path) -> None:
    """A run without an executed test fails, also if all were skipped."""
    test = tmp_path / "test_it.py"
    test.write_text(f"import pytest\n\n\ndef test_it():\n    {body}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", option, test]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
    assert result.returncode == status

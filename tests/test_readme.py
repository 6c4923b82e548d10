# SPDX-License-Identifier: GPL-2.0-or-later
"""What the README shows is what happens."""

from __future__ import annotations

import pathlib
import re
import shlex
import subprocess
import sys

import pytest
from click.testing import CliRunner

from scapy_mpa.cli.group import cli

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text()
DOCUMENTS = [
    *(ROOT / "benchmarks" / "README.md", ROOT / "pcaps" / "README.md"),
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
]
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
CONSOLE = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_python_examples_run(number: int) -> None:
    """Each block runs by itself, from the root of the checkout."""
    result = subprocess.run(
        [sys.executable, "-c", PYTHON[number]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_there_are_examples() -> None:
    """The tests above and below have something to run."""
    assert len(PYTHON) >= 3
    assert CONSOLE


@pytest.mark.parametrize("block", CONSOLE)
def test_commands_print_what_is_shown(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command prints the lines below it."""
    monkeypatch.chdir(ROOT)
    for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = shown.partition("\n")
        program, *arguments = shlex.split(command)
        assert program == "scapy-mpa"
        assert CliRunner().invoke(cli, arguments).output == output


def anchors(text: str) -> set[str]:
    """What links may name in a document, as forges make it of its headings."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: pathlib.Path) -> None:
    """Files that a document names are there, and so are the headings in them."""
    for name, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", document.read_text()):
        target = document.parent / name if name else document
        assert target.exists(), name
        assert not anchor or anchor in anchors(target.read_text()), f"{name}#{anchor}"

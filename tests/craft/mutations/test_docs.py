# SPDX-License-Identifier: GPL-2.0-or-later
"""``docs/mutations.md``: its table is the catalogue, its examples run.

``python -m tests.craft.mutations.test_docs`` writes the table anew.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scapy_mpa.craft.mutations import mutations
from tests.cli.command import run

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "mutations.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
CONSOLE = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
SHELL = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
HEADING = "| name | receiver | what is wrong | evident |\n|---|---|---|---|\n"


def catalogue() -> str:
    """The table as it must be."""
    rows = []
    for mutation in mutations():
        expected = str(mutation.expectation).replace("|", "\\|")
        evident = "" if mutation.is_evident or not mutation.expectation.is_error else "no"
        if mutation.is_overheard:
            evident = "to others"
        rows.append(f"| `{mutation.name}` | {expected} | {mutation.breaks} | {evident} |\n")
    return HEADING + "".join(rows)


def written() -> str:
    """The document with the table as it must be."""
    return TEXT[: TEXT.index(HEADING) if HEADING in TEXT else len(TEXT)] + catalogue()


def test_the_table_is_the_catalogue() -> None:
    """Every mutation is in the table, as it is."""
    assert written() == TEXT


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_python_examples_run(number: int) -> None:
    """Each block runs by itself."""
    result = subprocess.run(
        [sys.executable, "-c", PYTHON[number]],
        cwd=DOCUMENT.parents[1],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("block", CONSOLE)
def test_commands_print_what_is_shown(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command prints the lines below it."""
    monkeypatch.chdir(tmp_path)
    for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = shown.partition("\n")
        assert run(*command.split()[1:]).stdout == output


def test_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands that are shown without their output do something, in their order."""
    monkeypatch.chdir(tmp_path)
    assert run("fuzz", "-o", ".", "--case", "rfc5044/4.4/crc-wrong").exit_code == 0
    next(tmp_path.iterdir()).rename("trace.pcap")
    for line in "".join(SHELL).splitlines():
        program, *arguments = line.partition("#")[0].replace("'", "").split()
        assert program == "scapy-mpa"
        assert run(*arguments).exit_code == 0


def test_there_are_examples() -> None:
    """The tests above have something to run."""
    assert PYTHON and CONSOLE and SHELL


if __name__ == "__main__":
    DOCUMENT.write_text(written(), encoding="utf-8")

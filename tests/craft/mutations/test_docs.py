# SPDX-License-Identifier: GPL-2.0-or-later
"""``docs/mutations.md``: its table is the catalogue, its commands run.

``python -m tests.craft.mutations.test_docs`` writes the table anew.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scapy_mpa.craft.mutations import mutations
from tests.cli.command import run

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "mutations.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
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


def test_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands that are shown without their output do something, in their order."""
    monkeypatch.chdir(tmp_path)
    assert SHELL
    assert run("fuzz", "-o", ".", "--case", "rfc5044/4.4/crc-wrong").exit_code == 0
    next(tmp_path.iterdir()).rename("trace.pcap")
    for line in "".join(SHELL).splitlines():
        program, *arguments = line.partition("#")[0].replace("'", "").split()
        assert program == "scapy-mpa"
        assert run(*arguments).exit_code == 0


if __name__ == "__main__":
    DOCUMENT.write_text(written(), encoding="utf-8")

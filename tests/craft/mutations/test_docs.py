# SPDX-License-Identifier: GPL-2.0-or-later
"""``catalogue.md`` and ``docs/mutations.md``: entries exist, and commands run."""

import re
from pathlib import Path

from scapy_mpa.craft.mutations import catalogue, mutations
from tests.cli.command import run

TEXT = (Path(__file__).parents[3] / "docs" / "mutations.md").read_text(encoding="utf-8")
SHELL = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
CATALOGUE = Path(catalogue.__file__).with_name("catalogue.md").read_text(encoding="utf-8")


def test_every_row_is_a_mutation() -> None:
    """Every row of the table can be read, and has a change."""
    assert CATALOGUE.count("\n| `") == len(catalogue.rows())
    assert catalogue.rows().keys() == {each.name for each in mutations()}


def test_commands_run(here: Path) -> None:
    """The commands that are shown without output run in order."""
    assert SHELL
    assert run("fuzz", "-o", ".", "--case", "rfc5044/4.4/crc-wrong").exit_code == 0
    next(here.iterdir()).rename("trace.pcap")
    for line in "".join(SHELL).splitlines():
        program, *arguments = line.partition("#")[0].replace("'", "").split()
        assert program == "scapy-mpa"
        assert run(*arguments).exit_code == 0

# SPDX-License-Identifier: GPL-2.0-or-later
"""Command lines that make no sense: it is said what would."""

from __future__ import annotations

import re

import pytest
from click import Context

from scapy_mpa.cli.group import cli
from scapy_mpa.records import RECORD_TYPES
from tests.cli.command import PCAPS, run

RPING = str(PCAPS / "rping_mpa2_crcon.pcap")
DRAFT = "draft-ietf-storm-mpa-peer-connect-01"

NO_SIZES = ("0", "0k", "-1", "1.5M", "4m", "4MB", "M", "", "1_000", "٤", "1\n")
LINK_TYPES = {
    "user0": "no pair such as user0=ethernet",
    "user16=1": "'user16' is no link type",
    "65536=1": "'65536' is no link type",
    "1=": "'' is no link type",
    "user0=usb": "'usb' is no link type",
    "user0=220": "'220' is no link type that can be read",
    "user0=user1": "'user1' is no link type that can be read",
    "²=1": "'²' is no link type",
}
WRONG: list[tuple[list[str], tuple[str, ...]]] = [
    # Words of a command line, and what is said.
    ([], ("Usage: ",)),
    *(([command], ("Usage: ",)) for command in ("dissect", "summary")),
    (["dissect", "--nope", RPING], ("Usage: ", "--nope")),
    (["dissect", "--connection", "x", RPING], ("Usage: ", "--connection")),
    (["dissect", "--connection", "7", RPING], ("scapy-mpa: no connection 7: they are 0 to 0\n",)),
    (["dissect", "--type", "fpdu,packet", RPING], ("'packet'", *RECORD_TYPES)),
    (["dissect", "--type", "capture,capture_end", RPING], ("with --json only",)),
    (["dissect", "-V", "--json", RPING], ("choose one",)),
    (["summary", "--timing", "--json", RPING], ("message",)),
    *(
        (["summary", *words, RPING], ("Error: ", "--every"))
        for words in (["--every", "1", "--json"], ["--every", "0"], ["--every", "nan"])
    ),
    *((["dissect", "--limit-total", text, RPING], ("--limit-total", "500k")) for text in NO_SIZES),
    *(
        (["dissect", option, text, RPING], (option,))
        for option, texts in (
            ("--limit-connections", ("0", "many")),
            ("--limit-idle", ("0", "nan", "-1")),
        )
        for text in texts
    ),
    *((["dissect", "--link-type", told, RPING], (said,)) for told, said in LINK_TYPES.items()),
    *(
        ([*words, "--dialect", "rfc1149", RPING], (DRAFT,))
        for words in (["dissect"], ["summary"], ["clean", "-o", "-"])
    ),
    (["disect"], ("there is no command 'disect'; did you mean dissect?",)),
    (["explain"], ("there is no command 'explain'; there are clean, craft, dissect, ",)),
    ([RPING], ("to list what is in a capture, say `scapy-mpa dissect FILE`",)),
    (["clean", RPING], ("--output",)),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=lambda each: " ".join(each)[:60])
def test_wrong(words: list[str], said: tuple[str, ...]) -> None:
    """Status 2, and a sentence with the right words."""
    result = run(*words)
    assert result.exit_code == 2
    # click breaks lines where it likes.
    text = re.sub(r"[ \n]+", " ", result.output)
    assert all(re.sub(r"[ \n]+", " ", each) in text for each in said)


@pytest.mark.parametrize("command", ["", *cli.list_commands(Context(cli))])
def test_help_fits_a_terminal(command: str) -> None:
    """No line of it has more than 80 characters."""
    text = run(*command.split(), "--help").stdout
    assert text.startswith("Usage: ")
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_help_teaches() -> None:
    """Help has examples, the exit status, and the names that ``--type`` takes."""
    text = run("dissect", "--help").stdout
    assert text.count("\n    scapy-mpa dissect ") + text.count("| scapy-mpa dissect ") >= 4
    assert "Exit status:" in text
    assert all(name in text for name in RECORD_TYPES)

# SPDX-License-Identifier: GPL-2.0-or-later
"""For wrong command lines, the message says what would be right."""

import re
from pathlib import Path

import pytest
from click import Context

from scapy_mpa.cli.group import cli
from scapy_mpa.records.tables import RECORD_TYPES
from tests.cli.command import PCAPS, RPING, run

DRAFT = "draft-ietf-storm-mpa-peer-connect-01"

VALUES = {
    "--connection": ("is no number or range", "", "x", "3-1", "1,,2", "-", "1-2-3"),
    "--frames": ("3, 2-5 or 7-, counted from 1.", "1.5", "9" * 30, "0", "0-5", "-0"),
    "--host": ("is no address or network", "host", "10.0.0.1:4000", "1/2/3"),
    "--port": ("", "-1", "65536"),
    "--where": ("no record has a key 'crx'; did you mean crc? ", "crx=bad"),
    "--type": (f"known are {', '.join(RECORD_TYPES)}", "fpdu,packet"),
    "--dialect": (DRAFT, "rfc1149"),
    "--limit-total": ("500k", "0", "0k", "-1", "1.5M", "4m", "4MB", "M", "", "1_000", "٤", "1\n"),
    "--limit-connections": ("", "0"),
    "--limit-idle": ("", "0", "nan", "-1"),
}
"""By option, the words of the message, and wrong values."""
CASE = "rfc5044/4.3/fpduptr-not-pointing"
LINES = {
    "dissect --link-type user0 RPING": "no pair such as user0=ethernet",
    "dissect --link-type user16=1 RPING": "'user16' is no link type",
    "dissect --link-type 65536=1 RPING": "'65536' is no link type",
    "dissect --link-type 1= RPING": "'' is no link type",
    "dissect --link-type user0=usb RPING": "'usb' is no link type",
    "dissect --link-type user0=220 RPING": "'220' is no link type that can be read",
    "dissect --link-type user0=user1 RPING": "'user1' is no link type that can be read",
    "dissect --link-type ²=1 RPING": "'²' is no link type",
    "": "Usage: ",
    "dissect": "Usage: ",
    "summary": "Usage: ",
    "dissect --type capture,capture_end RPING": "with --json only",
    "dissect -V --json RPING": "choose one",
    "dissect --type fpdu --where complete=true RPING": "complete is a key of message records, ",
    "dissect --connection 0-1,3 RPING": "no connection 1, 3: they are 0 to 0",
    "dissect --connection 1- --connection 7-9 RPING": "no connection 1-, 7-9: they are 0 to 0",
    "dissect --between 2 1 RPING": "'--between': '1' is before '2'",
    "dissect --between x 9 RPING": "is no time",
    "dissect --between 1e3 9 RPING": "is no time",
    "dissect --between 2026-02-30 9 RPING": "is no time",
    "dissect --between 12:00:00 9 RPING": "is no time",
    "summary --timing --json RPING": "message",
    "summary --every 1 --json RPING": "--every",
    "summary --every nan RPING": "--every",
    "disect": "there is no command 'disect'; did you mean dissect?",
    "explain": "there is no command 'explain'; there are clean, craft, dissect, ",
    "RPING": "to list what is in a capture, say `scapy-mpa dissect FILE`",
    "clean RPING": "--output",
    "clean / -o x": "scapy-mpa: /: it is a directory; name a capture file in it",
    "clean --connection 0,2 RPING -o x": f"scapy-mpa: {RPING}: no connection 2: they are 0 to 0",
    "clean README -o x": "not a pcap or pcapng capture; give a file",
    "clean missing -o x": "there is no such file",
    "clean RPING -o no/x": "scapy-mpa: no/x: cannot be written",
    "clean RPING -o x.gz": "cannot be written compressed (leave out .gz)",
    "clean RPING -o - --dialect rfc1149": DRAFT,
    "craft": "name a preset (--list shows them) or a file",
    "craft send": "say where the capture goes (-o FILE)",
    "craft sned -o x": "there is no preset and no file 'sned'; did you mean send?",
    "craft no/such/file -o x": "no preset and no file 'no/such/file'; `scapy-mpa craft --list`",
    "craft . -o x": ".: cannot be read (Is a directory)",
    "craft send -o x --snap 10": "a snap length of 10 octets is below the 54 of the headers",
    "craft send -o x --segment 0": "segments are tiny, super, or of 1 to 65160 octets, not 0",
    "craft send -o no/x": "no/x: cannot be written (No such file",
    "craft send -o x.pcap --truth x.pcap": "x.pcap: that is the capture itself",
    "craft --reorder send -o x": "'send' is no share such as 1% or 0.01; without a share, put ",
    "craft send -o x --loss 101%": "'101%' is no share",
    "craft send -o x --loss=2": "'2' is no share",
    "craft sctp -o x --overlap": "about TCP, and this is SCTP; it has no counterpart: leave it out",
    "craft sctp -o x --segment 9": "a cut into other segments is about TCP, and this is SCTP",
    "craft sctp -o x --cut-startup": "this is SCTP; use LateStart (--skip)",
    "craft send -o x --segment huge": "'huge' is none of tiny, super and a number",
    "craft send -o x --connections 64513": "64513 is not in the range",
    "craft send -o x --payload": "say --truth FILE",
    "craft send -o - --truth -": "Capture and truth cannot both go to standard output",
    "fuzz": "say where the captures go",
    "fuzz --list --only nothing*": "no mutation has a name like 'nothing*'",
    "fuzz -o x --json": "--json goes with --list",
    "fuzz -o x --case nothing": "there is no mutation 'nothing'; `scapy-mpa fuzz --list`",
    f"fuzz -o x --case {CASE}-": f"there is no mutation '{CASE}-'; did you mean {CASE} ",
    f"fuzz -o x --case {CASE} --only rfc*": "--case names one mutation",
    "fuzz -o x --from missing": "there is no such file",
    "fuzz -o x --from ABSENT": "no connection with startup",
    "fuzz -o x --from RPING --only rfc793/*": "no mutation has a name like",
    "fuzz -o x --from RPING --only rfc5043/*": "nothing for 'rfc5043/*' to break; with --from",
    f"fuzz -o x --from RPING --case {CASE}": f"nothing for '{CASE}' to break; with --from",
    f"fuzz -o x --from RPING --case {CASE}-": "did you mean",
    "fuzz -o x --from RPING --connection 1": f"{RPING}: connection 1 is not one with startup",
    "fuzz -o x --connection 1": "--connection selects one of a capture: say --from",
    "fuzz -o RPING/below": "cannot be written (Not a directory)",
}
"""The words of the message for wrong command lines."""
FILES = {
    "RPING": str(RPING),
    "ABSENT": str(PCAPS / "listener_absent.pcap"),
    "README": str(PCAPS / "README.md"),
}
WRONG = [
    *(
        (["dissect", option, text, str(RPING)], [option, hint])
        for option, (hint, *texts) in VALUES.items()
        for text in texts
    ),
    *(
        (
            [re.sub("|".join(FILES), lambda name: FILES[name[0]], word) for word in line.split()],
            [hint],
        )
        for line, hint in LINES.items()
    ),
]


@pytest.mark.parametrize(("words", "hint"), WRONG, ids=lambda each: " ".join(each)[:60])
def test_wrong_command_lines(words: list[str], hint: list[str], here: Path) -> None:
    """The status is 2, the message has the right words, and nothing is written."""
    result = run(*words)
    assert result.exit_code == 2
    assert not list(here.iterdir())
    # click breaks lines anywhere.
    text = re.sub(r"[ \n]+", " ", result.output)
    assert all(re.sub(r"[ \n]+", " ", each) in text for each in hint)


@pytest.mark.parametrize("command", ["", *cli.list_commands(Context(cli))])
def test_help_fits_a_terminal(command: str) -> None:
    """No line of it has more than 80 characters, or others than a terminal can show."""
    text = run(*command.split(), "--help").stdout
    assert text.startswith("Usage: ")
    assert text.replace("\n", "").isprintable()
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_content_of_help() -> None:
    """Help has examples, the exit status, and the names that ``--type`` takes."""
    text = run("dissect", "--help").stdout
    assert text.count("\n    scapy-mpa dissect ") + text.count("| scapy-mpa dissect ") >= 4
    assert "Exit status:" in text
    assert all(name in text for name in RECORD_TYPES)

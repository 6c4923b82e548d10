# SPDX-License-Identifier: GPL-2.0-or-later
"""On a terminal, records are shown in columns that fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_mpa.cli.columns import Columns
from scapy_mpa.cli.words import WORDS
from scapy_mpa.stream.clock import Clock
from tests.captures import PCAPS, REAL, capture_name
from tests.cli.command import Record, records, run
from tests.cli.running import on_terminal

TERMINATED = PCAPS / "term_sendnorecv.pcap"

SHOWN = """\
                   #0  192.168.7.1:46132 > 192.168.7.2:7175
     4    0.003841 #0  > Request rev 2 M0 C1 IRD 16 ORD 16 PD 0
     6    0.129024 #0  < Reply rev 2 M0 C1 IRD 16 ORD 16 PD 16
     8    0.150502 #0  > Send            qn 0       msn 1              8 L
    10    0.160597 #0  < Terminate       qn 2       msn 1             24 L: DDP
                         / Untagged Buffer Error / Invalid MSN - no buffer
                         available (mirrored)
    13    0.161828 #0  - ended: terminated by the Responder: DDP / Untagged
                         Buffer Error / Invalid MSN - no buffer available
                         (mirrored), of the Send qn 0 msn 1 mo 0, seq 630298884
                         in frame 8, rfc6581, CRC on, 1/1 FPDUs, 56/88 octets,
                         IRD 16/16, ORD 16/16
"""


def values_of(fpdu: Record) -> list[str]:
    """The values that the columns of an FPDU must show."""
    if fpdu["tagged"]:
        return [fpdu["stag"], fpdu["to"], str(fpdu["payload_length"])]
    return [str(fpdu[name]) for name in ("qn", "msn", "payload_length")]


@pytest.mark.parametrize("path", REAL, ids=capture_name)
def test_records_fit(path: Path) -> None:
    """Lines have at most 80 characters, and the same content as in a pipe."""
    columns = Columns(Clock(), 80)
    for record in records(path):
        lines = columns.line(record).splitlines()
        assert max(map(len, lines)) <= 80
        text = " ".join(line[25:] for line in lines)
        if record["type"] == "fpdu" and (record["tagged"] or record["mo"] is not None):
            assert set(values_of(record)) <= set(text.split())
        else:
            assert WORDS[record["type"]](record) in text


def test_terminal() -> None:
    """A terminal shows columns, or with ``--wide`` the lines of a pipe."""
    for options, wanted in ((), SHOWN), (("--wide",), run("dissect", TERMINATED).stdout):
        shown = on_terminal("dissect", *options, TERMINATED, NO_COLOR="1").decode()
        assert shown.replace("\r\n", "\n") == wanted


@pytest.mark.parametrize("command", ["craft", "fuzz"])
def test_lists_fit_a_terminal(command: str) -> None:
    """Names are on lines of their own, and the texts below them are wrapped."""
    printed = run(command, "--list").stdout.splitlines()[command == "fuzz" :]
    shown = on_terminal(command, "--list").decode().replace("\r\n", "\n").splitlines()
    assert max(map(len, shown)) <= 80
    names = [line for line in shown if not line.startswith(" ")]
    assert names == [line.split()[0] for line in printed]

# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of connections."""

from __future__ import annotations

from pathlib import Path

from scapy_mpa.capture import open_capture
from scapy_mpa.craft.mutations import find
from tests.cli.command import LOSSY, PCAPS, PROBE, cells, parsed, run
from tests.truth import pcapfile

ABSENT = PCAPS / "listener_absent.pcap"

TABLE = """\
#  Initiator          Responder         Dialect  Rev  M    CRC  FPDUs  Octets  Seconds  OoO  Ahead\
  Late  Rexmit  Stalls  Gaps    IRD    ORD  RTR  Err  Ended
0  192.168.7.1:46132  192.168.7.2:7175  rfc6581    2  0/0  on     1/1   56/88    0.162  0/0    0/0\
   0/0     0/0       0   0/0  16/16  16/16  -      0  terminated by R
"""
"""Octets: 24 of the Request and 32 of an FPDU; 40 of the Reply and 48 of the Terminate."""


def test_table() -> None:
    """The table of one connection that carried MPA."""
    result = run("summary", "--wide", PCAPS / "term_sendnorecv.pcap")
    assert result.stdout == TABLE
    assert result.exit_code == 1


def test_check(tmp_path: Path) -> None:
    """``--check`` counts what a receiver above MPA must not accept, as a finding."""
    path = tmp_path / "qn.pcapng"
    find("rfc5041/7.1/qn-unknown").case(1).conversation.write(path)
    for options, errors in ((), 0), (("--check",), 1):
        assert cells(*options, path)["Err"] == str(errors)
        records = run("summary", "--json", *options, path)
        assert parsed(records.stdout)[0]["errors"] == errors
        assert run("summary", *options, path).exit_code == records.exit_code == errors


def test_tcp_without_mpa_is_counted() -> None:
    """Connections of other protocols are counted in one line."""
    assert run("summary", ABSENT).stdout == "1 TCP connection without MPA (--all lists it)\n"
    *_, last = run("summary", "--wide", PROBE).stdout.splitlines()
    # One connection carries HTTP, one sends nothing. One ends within the header of its Request,
    # which is an error (RFC 5044 8).
    assert last == "2 TCP connections without MPA (--all lists them)"


def test_loss_before_the_capture() -> None:
    """Segments that fill a hole are late.  What a side left open is marked."""
    shown = cells(LOSSY)
    assert (shown["Late"], shown["Rexmit"]) == ("17/0", "0/32")
    assert "reset by I!\n" in run("summary", LOSSY).stdout


def test_roles_that_are_not_known(tmp_path: Path) -> None:
    """The table does not claim to know the Initiator, nor who sent the Requests."""
    path = tmp_path / "late.pcap"
    with open_capture(LOSSY) as capture:
        frames = [frame.octets for frame in capture.raw_frames]
    path.write_bytes(pcapfile.pcap(frames[119:]))
    table, timing = run("summary", "--timing", path).stdout.split("\n\n")
    assert table.split("\n")[1].split()[1:3] == ["192.168.7.2:7175?", "192.168.7.1:47945?"]
    assert "reset by R?!\n" in table
    *rows, last = timing.splitlines()[1:]
    assert last == "not counted: 1 Response whose Request is not known"
    found = [row.split()[:4] for row in rows]
    assert found == [["0", "I?", "Read", "0"], ["0", "R?", "Read", "2"]]


def test_all_lists_them() -> None:
    """``--all`` makes a row of each connection."""
    heading, row = run("summary", "--all", "--wide", ABSENT).stdout.splitlines()
    assert heading.startswith("#  Initiator")
    cells = "0 192.168.7.1:53075 192.168.7.2:7999 - - -/- - 0/0"
    assert row.split()[:8] == cells.split()
    assert len(run("summary", "--all", "--wide", PROBE).stdout.splitlines()) == 1 + 127

# SPDX-License-Identifier: GPL-2.0-or-later
"""``--dialect``, and what was negotiated, on the command line."""

from __future__ import annotations

import pytest

from scapy_mpa.layers import MPARequest
from scapy_mpa.wire.errors import LocalProtocolError
from tests.cli.command import PCAPS, PROBE, cells, records, run

DRAFT = "draft-ietf-storm-mpa-peer-connect-01"
OF_DRAFT = PCAPS / "crafted" / "draft_rtr_read.pcap"
OF_PEERS = PCAPS / "p2p_rtr_write_crcoff.pcap"


def test_flags_are_shown_by_dialect() -> None:
    """The letters are those of the bits. Their meaning is the dialect's (RFC 6581 9.2)."""
    text = run("dissect", OF_DRAFT).stdout
    assert "flags ABC (peer-to-peer, RTR by Send, RTR by Write)" in text
    text = run("dissect", "--dialect", DRAFT, OF_DRAFT).stdout
    assert "flags ABC (RTR by Send, RTR by Write, RTR by Read)" in text
    assert DRAFT in text and "RTR by Read" in text.splitlines()[-1]
    flags = [record["control_flags"] for record in records("--type", "startup", OF_DRAFT)]
    assert flags == ["ABC", "ABC"]


def test_layer_takes_a_dialect() -> None:
    """The dialect is no part of the octets. A copy of the packet keeps it."""
    request = MPARequest(revision=2, s=1, a=1, c=1, dialect=DRAFT)
    assert bytes(request) == bytes(MPARequest(revision=2, s=1, a=1, c=1))
    assert request.copy().dialect == DRAFT
    shown = request.show(dump=True)
    assert "RTR by zero-length Send" in shown and "RTR by zero-length Read" in shown
    assert "reserved" in MPARequest(revision=2, s=1, d=1, dialect=DRAFT).show(dump=True)
    with pytest.raises(LocalProtocolError):
        MPARequest(dialect="x")


def test_summary() -> None:
    """The table has columns for IRD, ORD and the RTR indication if anything was negotiated."""
    row = cells(OF_PEERS)
    assert (row["IRD"], row["ORD"], row["RTR"]) == ("1/1", "1/1", "write")
    assert "RTR" not in run("summary", "--wide", PCAPS / "mix_mpa1_crcon.pcap").stdout
    row = cells("--dialect", DRAFT, OF_DRAFT)
    assert (row["Dialect"], row["IRD"], row["RTR"]) == (DRAFT, "-/4", "read")


def test_broken_promise_is_marked() -> None:
    """A broken promise is marked in the table, and described in the connection's last line."""
    rows = run("summary", "--wide", PROBE).stdout.splitlines()
    # Not the mark of an open message, which ends the row.
    marked = [row.split()[0] for row in rows if "! " in row]
    assert marked == ["6", "38", "39"]
    text = run("dissect", "--connection", 39, PROBE).stdout
    assert "no RTR, not kept: the first FPDU is no RTR indication (RFC 6581 9.2)" in text

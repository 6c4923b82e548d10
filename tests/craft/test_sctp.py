# SPDX-License-Identifier: GPL-2.0-or-later
"""Crafting DDP over SCTP: verbs and their packets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.craft import (
    ControlItem,
    SctpConversation,
    conversation_of,
)
from scapy_mpa.craft.presets import PRESETS
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from tests.capture.reading import shown
from tests.craft.reading import plain
from tests.truth import sctpstream as sctp

SCTP = [name for name in PRESETS if name.startswith("sctp")]


def packets(conversation: SctpConversation) -> list[bytes]:
    """The SCTP packets."""
    return [segment.octets for segment in conversation.segments()]


def test_octets() -> None:
    """Packets are those written by hand, except Verification Tags, cookie and window."""
    conversation = SctpConversation()
    conversation.startup(b"hello", b"hi")
    conversation.initiator.send(b"one")
    conversation.close()
    bodies = [each[12:] for each in packets(conversation)]
    assert sctp.data(1000, 17, sctp.control(0, 1, b"hello")) in bodies
    assert sctp.data(5000, 17, sctp.control(0, 2, b"hi")) in bodies
    assert sctp.data(1001, 16, sctp.segment(1, sctp.send(1, b"one"))) in bodies
    assert sctp.data(1002, 17, sctp.control(2, 4)) in bodies
    assert sctp.data(5001, 17, sctp.control(1, 4)) in bodies
    for each in packets(conversation):
        assert int.from_bytes(each[8:12], "little") == sctp.crc32c(each[:8] + bytes(4) + each[12:])
    init = packets(conversation)[0]
    assert init[4:8] == bytes(4) and init[12] == sctp.INIT
    assert bytes.fromhex("c006000800000001") in init


def test_fields_of_an_fpdu_are_refused() -> None:
    """A DDP Segment Chunk has none of them, so they are not left out in silence."""
    conversation = SctpConversation()
    conversation.initiator.fpdu(bytes(20), crc=b"")
    with pytest.raises(LocalProtocolError, match="no fields of an FPDU"):
        conversation.segments()


def test_dialects() -> None:
    """Control flags are those of the named document. Others are not used over SCTP."""
    letters = {}
    for dialect in (Dialect.RFC6581, Dialect.DRAFT_PEER_CONNECT_01):
        conversation = SctpConversation(dialect=dialect)
        conversation.startup(rtr="read")
        items: list[Any] = conversation.script
        controls = [each for each in items if isinstance(each, ControlItem)]
        letters[dialect] = [each.control_flags for each in controls]
    assert letters == {
        Dialect.RFC6581: ["AD", "AD"],
        Dialect.DRAFT_PEER_CONNECT_01: ["C", "C"],
    }
    assert SctpConversation(dialect="rfc5043").options.revision == 1
    with pytest.raises(LocalProtocolError, match="not spoken in the dialect erdma"):
        SctpConversation(dialect="erdma")


@pytest.mark.parametrize(("packing", "least"), [("aligned", 1), ("packed", 3)])
def test_packing(packing: Any, least: int) -> None:
    """A packet holds one DATA chunk, or as many as fit (RFC 5043 11.2)."""
    conversation = SctpConversation(packing=packing, mss=500)
    for _ in range(6):
        conversation.initiator.send(bytes(100))
    conversation.close()
    most = max(each.count(bytes(100)) for each in packets(conversation))
    assert most == least
    assert max(map(len, packets(conversation))) <= 500


def test_tshark_dissects_the_chunks(tmp_path: Path, tshark: str) -> None:
    """Wireshark shows the same TSNs, streams and PPIDs, good checksums, and the indication."""
    conversation = conversation_of("sctp-bundled", seed=3)
    path = tmp_path / "sctp.pcapng"
    conversation.write(path)
    fields = ("data_tsn_raw", "data_sid", "data_payload_proto_id", "checksum.status")
    names = [f"sctp.{each}" for each in fields] + ["sctp.adaptation_layer_indication"]
    lines = shown(tshark, path, *names, options=("-o", "sctp.checksum:CRC 32c"))
    rows = [line.split("\t") for line in lines]
    seen = [
        (int(tsn, 0), int(stream, 0), int(ppid, 0))
        for row in rows
        if row[0]
        for tsn, stream, ppid in zip(*(each.split(",") for each in row[:3]), strict=True)
    ]
    ppids = {"session_control": 17, "ddp_segment": 16}
    found = [
        (each["tsn"], each["stream"], ppids[str(each["type"])])
        for each in plain(conversation.frames())
        if "tsn" in each
    ]
    assert seen == found
    assert {row[3] for row in rows} == {"1"}
    assert [int(row[4], 0) for row in rows[:2]] == [1, 1]

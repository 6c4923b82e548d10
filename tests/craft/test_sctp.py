# SPDX-License-Identifier: GPL-2.0-or-later
"""Crafting DDP over SCTP: verbs and their packets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.craft import SctpConversation, conversation_of
from scapy_mpa.craft.presets import PRESETS
from scapy_mpa.wire.errors import LocalProtocolError
from tests.capture.reading import shown
from tests.craft.reading import plain

SCTP = [name for name in PRESETS if name.startswith("sctp")]


def packets(conversation: SctpConversation) -> list[bytes]:
    """The SCTP packets."""
    return [segment.octets for segment in conversation.segments()]


def test_fields_of_an_fpdu_are_refused() -> None:
    """A DDP Segment Chunk has none of them, so they are not left out in silence."""
    side = SctpConversation().initiator
    with pytest.raises(LocalProtocolError, match="no fields of an FPDU"):
        side.fpdu(bytes(20), crc=b"")


def test_dialects() -> None:
    """The revision is that of the dialect. Some dialects are not spoken over SCTP."""
    assert SctpConversation(dialect="rfc5043").options.revision == 1
    assert SctpConversation(dialect="draft-ietf-storm-mpa-peer-connect-01").options.revision == 2
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

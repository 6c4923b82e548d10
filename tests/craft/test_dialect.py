# SPDX-License-Identifier: GPL-2.0-or-later
"""Conversations in a named dialect, DDP over SCTP among them: options, verbs and packets."""

from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.craft import Conversation, SctpConversation, StartupItem, conversation_of
from scapy_mpa.layers import RPCRDMAPrivateData
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from tests.capture.reading import shown
from tests.craft.reading import plain


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
    packets = [segment.octets for segment in conversation.segments()]
    assert max(each.count(bytes(100)) for each in packets) == least
    assert max(map(len, packets)) <= 500


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


DRAFT = "draft-ietf-storm-mpa-peer-connect-01"


@pytest.mark.parametrize(("revision", "other"), [(2, 1), (2, 0), (1, 2), (1, 0), (0, 1)])
def test_request_and_reply_of_two_revisions(revision: int, other: int) -> None:
    """Only the frame of revision 2 has enhanced data. Headers have the version of the Reply."""
    conversation = Conversation(revision=revision, reply_revision=other, strict=False)
    conversation.startup(b"x", b"y")
    conversation.initiator.send()
    records = [each for each in conversation.truth() if each["type"] == "startup"]
    assert [each["revision"] for each in records] == [revision, other]
    assert [each["ird"] is not None for each in records] == [revision == 2, other == 2]
    assert conversation.options.ddp_version == min(other, 1)


def test_revision_is_that_of_the_dialect() -> None:
    """The revision is the dialect's unless it is given. The default dialect is RFC 5044."""
    for dialect, revision in {
        None: 1,
        "rfc5044": 1,
        "draft-ietf-rddp-mpa-01": 0,
        "rtr-frame-proposal-2007": 1,
        "rfc6581": 2,
        DRAFT: 2,
    }.items():
        options = Conversation(dialect=dialect).options
        assert (options.revision, options.rdmap_version) == (revision, int(revision > 0))
        assert Conversation(dialect=dialect, revision=3).options.revision == 3
        # rtr-frame-proposal-2007 2
        assert options.has_rtr_frame == (dialect == "rtr-frame-proposal-2007")


def test_each_dialect_has_conversations() -> None:
    """Each dialect has one class of conversations. An unknown name is refused."""
    others = {Dialect.RFC5043: "SctpConversation", Dialect.DRAFT_IFT_01: "IFTConversation"}
    for dialect in Dialect:
        if dialect in others:
            wanted = f"dialect {dialect.value} is an {others[dialect]}"
            with pytest.raises(LocalProtocolError, match=wanted):
                Conversation(dialect=dialect)
        else:
            assert Conversation(dialect=dialect).options.dialect is dialect
    with pytest.raises(LocalProtocolError, match="there is no dialect"):
        Conversation(dialect="rfc1149")


def test_private_data_of_a_layer() -> None:
    """A layer may be given as Private Data. Its octets are taken."""
    conversation = Conversation(revision=2)
    conversation.startup(RPCRDMAPrivateData(send_size=1024), RPCRDMAPrivateData())
    item = next(item for item in conversation.script if isinstance(item, StartupItem))
    assert item.private_data == bytes.fromhex("f6ab0e1801010003")

# SPDX-License-Identifier: GPL-2.0-or-later
"""Wireshark finds in a cleaned capture what this project finds in the original.

All fields of every FPDU that both show are compared, with the verdict on its CRC and the payload,
for each direction and in stream order.  Wireshark need not be able to read the original.
"""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from scapy_mpa.capture import Frame
from scapy_mpa.craft import Conversation
from scapy_mpa.stream.events import FPDURecovered
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.wire.fpdu import STANDARD
from scapy_mpa.wire.tcp import ACK
from tests.captures import OF_OSC, OVER_TCP, PCAPS
from tests.clean.cleaning import Cleaned, clean, events, frames_of
from tests.craft.test_impairments import lose
from tests.differential.test_tshark import comparable, miscut
from tests.differential.tshark import Row, fields, printed, rows
from tests.stream.feed import decoded
from tests.truth.cases import case

PROBE = "live_siw_probe_guest_eth0.pcap.gz"
CAPTURES = [path for path in OVER_TCP + OF_OSC if path.name != PROBE]

NFS = PCAPS / "ulp_nfs4_rdma_crcoff.pcap"

UNLIKE = ("frame", "crc_field")
"""Fields that cleaning changes.  A CRC covers the Markers, too."""


def our_row(event: FPDURecovered) -> Row:
    """Our row of an FPDU, without what Wireshark does not show."""
    row = comparable(event)
    if event.markers or event.form is not STANDARD:
        # A Marker stands within the FPDU, or its layout is not that of RFC 5044.
        row.pop("pad", None)
    if miscut(row):
        for name in ("copied_ddp_header", "copied_rdmap_header"):
            row.pop(name, None)
    return {name: value for name, value in row.items() if name not in UNLIKE}


def our_fpdus(frames: list[Frame]) -> dict[bytes, list[FPDURecovered]]:
    """Our FPDUs by flow, in stream order."""
    by_flow: dict[bytes, list[tuple[int, FPDURecovered]]] = {}
    near: dict[bytes, int] = {}
    for event in events(frames):
        if isinstance(event, FPDURecovered):
            flow = event.connection.flows[event.direction]
            near[flow] = unwrap(event.seq, near.get(flow, event.seq))
            by_flow.setdefault(flow, []).append((near[flow], event))
    return {
        flow: [event for _, event in sorted(each, key=lambda pair: pair[0])]
        for flow, each in by_flow.items()
    }


def their_fpdus(cleaned: Cleaned, tshark: str, path: Path) -> dict[bytes, list[Row]]:
    """Wireshark's FPDUs in a cleaned capture by flow, in file order."""
    path.write_bytes(cleaned.file)
    flow_of = {segment.frame: segment.flow for segment in decoded(cleaned.frames)}
    by_flow: dict[bytes, list[Row]] = {}
    for row in rows(tshark, path, reordering=False):
        if row["kind"] == "fpdu":
            by_flow.setdefault(flow_of[int(row["frame"])], []).append(row)
    return by_flow


def identity(row: Row) -> list[int]:
    """Numbers that distinguish FPDUs of a direction."""
    return [
        int(row.get(name, -1)) for name in ("ulpdu_length", "opcode", "stag", "to", "msn", "mo")
    ]


def compare(frames: list[Frame], tshark: str, path: Path) -> int:
    """Compare a capture with its cleaned one, and return how many FPDUs it has."""
    ours = {flow: list(map(our_row, fpdus)) for flow, fpdus in our_fpdus(frames).items()}
    cleaned = clean(frames)
    theirs = their_fpdus(cleaned, tshark, path)
    for flow, fpdus in ours.items():
        shown = theirs.pop(flow, [])
        assert len(shown) == len(fpdus)
        if cleaned.report.late:
            # The report says that some FPDUs are not in order.
            fpdus.sort(key=identity)
            shown.sort(key=identity)
        for wanted, row in zip(fpdus, shown, strict=True):
            assert {name: row[name] for name in wanted if name in row} == wanted
    assert not theirs
    return sum(map(len, ours.values()))


def filled(conversation: Conversation) -> Conversation:
    """The conversation, with every kind of message whose payload Wireshark shows."""
    rng = random.Random(7)
    initiator, responder = conversation.initiator, conversation.responder
    for size in (0, 1, 17, 600, 1500, 5000):
        initiator.send(rng.randbytes(size))
        responder.send(rng.randbytes(size), invalidate_stag=size, solicited=True)
        initiator.write(rng.randbytes(3 * size), 0x1234, size << 20)
        responder.read(rng.randbytes(2 * size), 1, 2, 3, 4)
    conversation.close()
    return conversation


def test_markers(tshark: str, tmp_path: Path) -> None:
    """Markers in both directions, and FPDUs anywhere in their segments."""
    conversation = filled(Conversation(markers=True, packing="stream", revision=2))
    frames = conversation.frames()
    assert compare(frames, tshark, tmp_path / "cleaned.pcapng") > 50
    assert clean(frames).report.markers > 100


@pytest.mark.examples
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name.partition(".")[0])
def test_real_captures(capture: Path, tshark: str, tmp_path: Path) -> None:
    """All real captures but the probe."""
    compare(frames_of(capture), tshark, tmp_path / "cleaned.pcapng")


@pytest.mark.parametrize("seed", range(32))
def test_constructed_captures(seed: int, tshark: str, tmp_path: Path) -> None:
    """Connections with any impairment but cut FPDUs, which Wireshark does not show."""
    harm: dict[str, object] = {"damage": ("none", "CRC", "flip", "FPDUPTR")[seed % 4], "snap": 0}
    if harm["damage"] in ("CRC", "flip"):
        # With CRCs off a length would be damaged instead, and Wireshark shows no such FPDU.
        harm["crc"] = True
    frames = frames_of(case(seed, **harm).pcap())
    compare(frames, tshark, tmp_path / "cleaned.pcapng")


def test_an_acknowledged_reply_is_missing(tshark: str, tmp_path: Path) -> None:
    """The supplied Reply does not look like a copy of acknowledged octets."""
    conversation = filled(Conversation())
    _, _, _, request, reply, *others = conversation.segments()
    ack = reply.seq + len(reply.octets)
    bare = replace(reply, side=request.side, seq=reply.ack, ack=ack, flags=ACK, octets=b"")
    frames = conversation.frames([request, bare, *others])
    assert compare(frames, tshark, tmp_path / "cleaned.pcapng") > 30


@pytest.mark.parametrize("late", [1, 30])
def test_acknowledgement_before_its_octets(late: int, tshark: str, tmp_path: Path) -> None:
    """The acknowledgement of the Request was captured before the Request."""
    conversation = filled(Conversation(ack_every=1))
    segments = conversation.segments()
    segments.insert(3 + late, segments.pop(3))
    assert compare(conversation.frames(segments), tshark, tmp_path / "cleaned.pcapng") > 30


def selected(tshark: str, capture: Path, display_filter: str) -> list[str]:
    """The frames that a display filter selects, with checksums verified."""
    verified = "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"
    return printed(tshark, capture, "-Y", display_filter, *verified).splitlines()


def test_holes_are_reported_by_wireshark(tshark: str, tmp_path: Path) -> None:
    """Wireshark's TCP dissector reports where octets are missing, and no other fault."""
    conversation = filled(Conversation(markers=True, packing="stream"))
    rng = random.Random(5)
    frames = conversation.frames(lose(conversation.segments(), rng))
    cleaned = clean(frames)
    path = tmp_path / "cleaned.pcapng"
    path.write_bytes(cleaned.file)
    lost = selected(tshark, path, "tcp.analysis.lost_segment")
    assert len(lost) == cleaned.report.holes > 0
    faults = "tcp.analysis.retransmission || tcp.analysis.out_of_order || tcp.checksum.status == 0"
    assert not selected(tshark, path, faults)


def test_no_fault_where_nothing_is_missing(tshark: str, tmp_path: Path) -> None:
    """Sequence numbers, acknowledgement numbers and checksums are right in both directions."""
    path = tmp_path / "cleaned.pcapng"
    path.write_bytes(clean(filled(Conversation(markers=True, packing="stream")).frames()).file)
    assert not selected(tshark, path, "tcp.analysis.flags && !tcp.analysis.window_full")
    assert not selected(tshark, path, "tcp.checksum.status == 0 || ip.checksum.status == 0")


RPC = ("rpcordma.xid", "rpc.msgtyp", "rpc.xid", "nfs.opcode")


def test_rpc_over_rdma(tshark: str, tmp_path: Path) -> None:
    """Wireshark decodes all NFS over RPC over RDMA in a cleaned capture."""
    wanted = fields(tshark, NFS, RPC, "-Y", "rpcordma")
    assert len(wanted) == 70
    path = tmp_path / "cleaned.pcapng"
    path.write_bytes(clean(frames_of(NFS)).file)
    assert fields(tshark, path, RPC, "-Y", "rpcordma") == wanted

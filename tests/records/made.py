# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of every type with values of every kind, sensible or not."""

from __future__ import annotations

from hypothesis import strategies as st

from scapy_mpa.records import RecordedEvent
from scapy_mpa.stream.events import (
    AdaptionIndicationSeen,
    ChunksMissing,
    ConnectionEnded,
    ConnectionId,
    DDPSegmentRecovered,
    ErrorFound,
    FPDURecovered,
    GapFound,
    HalfSummary,
    IFTFrameRecovered,
    MessageRecovered,
    Negotiated,
    OverlapDiffers,
    SessionControlSeen,
    StartupSeen,
)
from scapy_mpa.wire.control_flags import RTR
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.ift_frame import FrameHeader
from scapy_mpa.wire.ift_indication import parse_indication
from scapy_mpa.wire.interoperability import RNIC, Kinds
from scapy_mpa.wire.rdmap import ReadRequest
from scapy_mpa.wire.sctp_ddp import SessionControl
from scapy_mpa.wire.startup import StartupFrame, StartupKind

counts = st.integers(0, 2**70)
numbers = st.integers(0, 2**32 - 1)
flags = st.booleans()


def maybe(strategy: st.SearchStrategy[int]) -> st.SearchStrategy[int | None]:
    """A value, or None."""
    return st.none() | strategy


connections = st.builds(
    ConnectionId,
    number=st.integers(0, 20),
    flow=st.binary(min_size=12, max_size=12) | st.binary(min_size=36, max_size=36),
)

common = {
    "connection": connections,
    "direction": st.integers(0, 1),
    "frame": counts,
    "time_ns": st.integers(-(2**66), 2**96),
}

startup_frames = st.builds(
    StartupFrame,
    kind=st.sampled_from(StartupKind),
    markers=flags,
    crc=flags,
    rejected=flags,
    s_bit=flags,
    reserved=st.integers(0, 15),
    revision=st.integers(0, 3) | st.integers(0, 255),
    pd_length=st.integers(0, 65535),
    data=st.binary(max_size=40),
)

startups = st.builds(
    StartupSeen,
    **common,
    seq=numbers,
    octets=st.just(b""),
    frames=st.just(()),
    startup=startup_frames,
    dialect=st.none() | st.sampled_from(Dialect),
)

fpdus = st.builds(
    FPDURecovered,
    **common,
    seq=numbers,
    offset=maybe(counts),
    ulpdu_length=st.integers(0, 40) | st.integers(0, 65535),
    octets=st.binary(max_size=80),
    phase=st.none() | st.sampled_from(range(0, 512, 4)),
    markers=st.integers(0, 130),
    crc=st.sampled_from(["good", "bad", "off", "unknown"]),
    located_by=st.sampled_from(["start", "length", "marker", "search"]),
    out_of_order=flags,
    frames=st.lists(counts, max_size=4).map(tuple),
)

session_controls = st.builds(
    SessionControlSeen,
    **common,
    seq=numbers,
    stream=st.integers(0, 65535),
    octets=st.binary(max_size=40),
    unordered=flags,
    out_of_order=flags,
    frames=st.lists(counts, max_size=4).map(tuple),
    control=st.builds(
        SessionControl,
        ddp_ssn=st.integers(0, 65535),
        function_code=st.integers(0, 9) | st.integers(0, 65535),
        data=st.binary(max_size=40),
    ),
)

ddp_segments = st.builds(
    DDPSegmentRecovered,
    **common,
    seq=numbers,
    stream=st.integers(0, 65535),
    serial=counts,
    begun=flags,
    ulpdu_length=st.integers(0, 40) | st.integers(0, 65535),
    octets=st.binary(max_size=80),
    unordered=flags,
    crc=st.sampled_from(["good", "unknown"]),
    out_of_order=flags,
    frames=st.lists(counts, max_size=4).map(tuple),
)

read_requests = st.builds(
    ReadRequest,
    sink_stag=numbers,
    sink_to=counts,
    rdma_read_size=numbers,
    src_stag=numbers,
    src_to=counts,
)

messages = st.builds(
    MessageRecovered,
    **common,
    opcode=st.none() | st.integers(0, 15),
    length=counts,
    fpdus=counts,
    complete=flags,
    qn=maybe(numbers),
    msn=maybe(numbers),
    stag=maybe(numbers),
    to=maybe(counts),
    seq=maybe(numbers),
    size=maybe(counts),
    missing=st.lists(st.tuples(maybe(counts), maybe(counts)), max_size=3).map(tuple),
    cut_off=counts,
    duplicates=counts,
    overlaps=counts,
    conflicts=counts,
    messages=counts,
    answers=maybe(numbers),
    requested=st.none() | flags,
    as_requested=st.none() | flags,
    read_request=st.none() | read_requests,
    request_identifier=maybe(numbers),
)

gaps = st.builds(
    GapFound,
    **common,
    seq=numbers,
    length=counts,
    reason=st.sampled_from(
        ["acknowledged", "connection ended", "capture ended", "limit", "snap length"]
    ),
)

chunks_missing = st.builds(
    ChunksMissing,
    **common,
    seq=numbers,
    length=counts,
    reason=st.sampled_from(["connection ended", "capture ended", "limit"]),
    serial=counts,
)

overlaps = st.builds(OverlapDiffers, **common, seq=numbers, length=counts)

errors = st.builds(
    ErrorFound, **common, code=st.sampled_from(ErrorCode), seq=numbers, text=st.text()
)

halves = st.builds(
    HalfSummary,
    markers=st.none() | flags,
    fpdus=counts,
    octets=counts,
    crc_bad=counts,
    gaps=counts,
    out_of_order=counts,
    retransmitted=counts,
    farthest_ahead=counts,
)

rnics = st.lists(st.sampled_from(RNIC), min_size=1, unique=True).map(tuple)
depths = st.tuples(maybe(numbers), maybe(numbers))
negotiated = st.builds(
    Negotiated,
    peer_to_peer=st.none() | flags,
    ird=depths,
    ord=depths,
    rtr_agreed=st.none() | st.lists(st.sampled_from(RTR), max_size=3).map(tuple),
    rtr=st.none() | st.sampled_from(RTR),
    kept=st.none() | flags,
    broken=st.lists(st.text(), max_size=2).map(tuple),
)
endings = st.builds(
    ConnectionEnded,
    **common,
    initiator=st.none() | st.text(),
    responder=st.none() | st.text(),
    dialect=st.none() | st.sampled_from(Dialect),
    revision=maybe(st.integers(0, 255)),
    crc=st.none() | flags,
    rejected=flags,
    halves=st.tuples(halves, halves),
    errors=counts,
    ending=st.sampled_from(["closed", "reset", "half closed", "reused", "capture ended"]),
    rnics=st.none() | st.builds(Kinds, rnics, rnics),
    negotiated=st.none() | negotiated,
)

indications = st.builds(
    AdaptionIndicationSeen,
    **common,
    seq=numbers,
    octets=st.just(b""),
    frames=st.just(()),
    indication=st.binary(min_size=64, max_size=64).map(parse_indication),
)

frames = st.builds(
    IFTFrameRecovered,
    **common,
    seq=numbers,
    offset=counts,
    header=st.builds(FrameHeader, *[st.integers(0, 40) | st.integers(0, 65535)] * 3),
    octets=st.binary(max_size=80),
    rdma=st.none() | flags,
    header_crc=st.sampled_from(["good", "bad", "off", "unknown"]),
    payload_crc=st.sampled_from(["good", "bad", "off", "unknown"]),
    located_by=st.sampled_from(["start", "length", "search"]),
    out_of_order=flags,
    frames=st.lists(counts, max_size=4).map(tuple),
)

events: st.SearchStrategy[RecordedEvent] = st.one_of(
    startups,
    fpdus,
    session_controls,
    ddp_segments,
    messages,
    gaps,
    chunks_missing,
    overlaps,
    errors,
    endings,
    indications,
    frames,
)

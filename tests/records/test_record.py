# SPDX-License-Identifier: GPL-2.0-or-later
"""One complete record of each type: names, order and values are the interface.

The headers of an FPDU are compared with the ULPDU read by hand.
"""

import json
from ast import literal_eval
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.records.ddp import ddp_fields, ddp_payload
from scapy_mpa.records.record import RecordedEvent, json_of, record_of, type_of, when
from scapy_mpa.records.tables import CAPTURE, CAPTURE_END, RECORD_TYPES
from scapy_mpa.stream import events
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import build_fpdu, fpdu_layout
from scapy_mpa.wire.ift_frame import FrameHeader
from scapy_mpa.wire.ift_indication import parse_indication
from scapy_mpa.wire.interoperability import RNIC, Kinds
from scapy_mpa.wire.rdmap import ReadRequest
from scapy_mpa.wire.sctp_ddp import SessionControl
from scapy_mpa.wire.startup import parse_startup
from tests.layers.strategies import ulpdus
from tests.records import made
from tests.records.made import CLOCK
from tests.truth import messages, mpastream, sctpstream
from tests.truth.headers import header_of, header_of_record
from tests.wire.test_rdmap import FIGURES

CONNECTION = events.ConnectionId(
    3, bytes.fromhex("fd00" + "00" * 13 + "01" + "fd00" + "00" * 13 + "02" + "9c400fa0")
)
AT: dict[str, Any] = {
    "connection": CONNECTION,
    "direction": 0,
    "frame": 7,
    "time_ns": 1_700_000_000_250_000_000,
}
OVER_SCTP = events.SctpConnectionId(3, CONNECTION.flow, 3)


def event(kind: str, words: str, **others: Any) -> Any:
    """An event with names and values in words, and with values that are no single word."""
    pairs = words.split()
    named = dict(zip(pairs[::2], map(literal_eval, pairs[1::2]), strict=True))
    return getattr(events, kind)(**{**AT, **named, **others})


def fpdu(
    ulpdu: bytes, phase: int | None = None, captured: int | None = None
) -> events.FPDURecovered:
    """The event of an FPDU.  ``captured`` is the number of its captured octets; None: all."""
    words = f"seq 5000 offset 44 phase {phase} markers 0 crc 'good' located_by 'length' "
    words += f"out_of_order False frames (6,7) ulpdu_length {len(ulpdu)}"
    octets = build_fpdu(ulpdu, phase)[:captured]
    return cast(events.FPDURecovered, event("FPDURecovered", words, octets=octets))


STARTUP = mpastream.startup_frame(
    mpastream.REPLY_KEY,
    crc=1,
    enhanced=1,
    revision=2,
    private_data=mpastream.enhanced_data(4, 8, a=1, d=1) + b"\xab\xcd",
)
ENHANCED: events.StartupSeen = event(
    "StartupSeen",
    "seq 1 frames (7,)",
    octets=STARTUP,
    startup=parse_startup(STARTUP),
    dialect=Dialect.RFC6581,
)
SEGMENT = messages.write(0xFFFFFFFF, 2**64 - 1, b"\x00\xff")[0]
INDICATION = bytes.fromhex("52444450 0001 0001 92000003 ABCD 0200") + bytes(48)
"""Phase 1, DDP mode, payload CRCs, speculative placement, two reserved flags; its CRC is wrong."""
HALVES = (
    events.HalfSummary(False, 1, 100, 0, 2, 3, 4, 1460, retransmitted_octets=300, late=5),
    events.HalfSummary(None, 5, 200, 6, 7, 8, 9, 0),
)

EVENTS: list[RecordedEvent] = [
    ENHANCED,
    event("StreamingSeen", "seq 1001 length 5 octets b'cut' frames (5,6)"),
    fpdu(SEGMENT),
    event(
        "MessageRecovered",
        "opcode 3 captured_length 9 fpdus 2 complete False qn 0 msn 4 stag None to None captured 7 "
        "captured_from 6 missing ((0,7),(16,None)) cut_off 1 duplicates 2 overlaps 3 conflicts 4",
        parts=(events.Part(1, (6, 7), 0, 9),),
    ),
    event(
        "MessageRecovered",
        "direction 1 opcode 2 captured_length 50 fpdus 1 complete True qn None msn None stag 7 "
        "captured 6 captured_from 6 request_frame 5 length 50 answers 3 requested True "
        "as_requested False request_identifier None",
        to=2**40,
        parts=(events.Part(1, (6,), 2**40, 50),),
        read_request=ReadRequest(7, 2**40, 60, 8, 9),
    ),
    event("GapFound", "seq 9 length 1460 reason 'acknowledged'"),
    event(
        "SessionControlSeen",
        "seq 77 stream 3 octets b'' pd_length 6 unordered True out_of_order False frames (6,7)",
        connection=OVER_SCTP,
        control=SessionControl(0, 6, sctpstream.enhanced(8, 4, a=1, d=1) + b"hi"),
    ),
    event(
        "DDPSegmentRecovered",
        "seq 78 stream 3 serial 65537 begun True ulpdu_length 16 unordered True crc 'good' "
        "out_of_order True frames (7,)",
        connection=OVER_SCTP,
        octets=sctpstream.segment(1, sctpstream.write(7, 9, b"xy")),
    ),
    event(
        "ChunksMissing", "seq 5 length 2 serial 65541", connection=OVER_SCTP, reason="capture ended"
    ),
    event("OverlapDiffers", "direction 1 seq 9 length 3"),
    event("ErrorFound", "seq 9", code=ErrorCode.CRC_MISMATCH, text="it is 'wrong'"),
    event(
        "ConnectionEnded",
        "direction 1 initiator '[fd00::2]:4000' responder '[fd00::1]:40000' revision 0 crc True "
        "rejected False errors 1 negotiated None",
        dialect=Dialect.DRAFT_MPA_01,
        halves=HALVES,
        ending="half closed",
        rnics=Kinds((RNIC.RDMAC,), (RNIC.RDMAC, RNIC.PERMISSIVE)),
        end=events.End(
            "responder", 6, "closed", "closed, as it were", ("initiator", "responder"), (3, None)
        ),
        timing=events.Timing(2, 1_699_999_999_750_000_000, None, 2_000_000, 3, 250_000_000, 6, 2),
    ),
    event(
        "AdaptionIndicationSeen",
        "seq 1001 frames (6,7)",
        octets=INDICATION,
        indication=parse_indication(INDICATION),
    ),
    event(
        "IFTFrameRecovered",
        "seq 5000 offset 64 carries_rdmap True header_crc 'good' payload_crc 'off' "
        "located_by 'search' out_of_order True frames (5,7)",
        header=FrameHeader(14, 2, 0xABCD),
        octets=b"\x00\x0e\x00\x02\xab\xcd" + SEGMENT[:14] + b"HCRC" + SEGMENT[14:],
    ),
]
COMPLETE = [
    (event, json.loads(line))
    for event, line in zip(
        EVENTS, (Path(__file__).parent / "records.jsonl").read_text().splitlines(), strict=True
    )
]
"""Each event and its record, with all keys in order."""


@pytest.mark.parametrize(("event", "record"), COMPLETE, ids=lambda each: type(each).__name__)
def test_record(event: RecordedEvent, record: dict[str, object]) -> None:
    """Keys, their order, and values."""
    found = record_of(event, CLOCK)
    assert found == record
    assert list(found) == list(record)


def test_every_type_is_here() -> None:
    """There is a record of each type in the list."""
    assert {str(record["type"]) for _, record in COMPLETE} == set(RECORD_TYPES) - {
        CAPTURE,
        CAPTURE_END,
    }


def test_payload_is_optional_and_last() -> None:
    """``payload`` is the octets after the DDP header, in hexadecimal, in ``fpdu`` records only."""
    record = record_of(fpdu(SEGMENT), CLOCK, payload=True)
    assert list(record)[-1] == "payload"
    assert record["payload"] == "00ff"
    assert "payload" not in record_of(ENHANCED, CLOCK, payload=True)


@given(made.events, st.booleans())
def test_any_event(event: RecordedEvent, payload: bool) -> None:
    """The type of a record alone decides its keys and their order. ``json.loads`` of its line
    gives the record."""
    keys = {str(record["type"]): list(record) for _, record in COMPLETE}
    assert list(record_of(event, CLOCK)) == keys[type_of(event)]
    line = json_of(record_of(event, CLOCK, payload=payload))
    assert line.isascii() and line.isprintable()
    assert json.loads(line) == record_of(event, CLOCK, payload=payload)


@given(st.integers(-(2**66), 2**66), st.integers(0, 2**62))
def test_times(time_ns: int, begin_ns: int) -> None:
    """``time`` is relative, and exact in a capture of 100 days. ``timestamp`` is always exact."""
    found = when(1, time_ns, Clock(begin_ns))
    after = time_ns - begin_ns
    if abs(after) < 100 * 86400 * SECOND:
        assert Fraction(str(found["time"])) == Fraction(after, SECOND)
    stamp = found["timestamp"]
    if stamp is None:
        assert not -62135596800 <= time_ns // SECOND < 253402300800
    else:
        second, fraction = str(stamp).split(".")
        since = datetime.fromisoformat(second) - datetime(1970, 1, 1)
        assert (since // timedelta(seconds=1)) * SECOND + int(fraction[:-1]) == time_ns


NAMES = {opcode: name for opcode, *_, name in FIGURES}

# Most are such that a Marker lies in the header.
phases = st.sampled_from([None, 0, 256, *range(480, 512, 4)])


@given(
    st.lists(ulpdus() | st.binary(max_size=40), min_size=6, max_size=6),
    phases,
    st.none() | st.integers(0, 60),
)
def test_headers_of_any_octets(
    several: list[bytes], phase: int | None, captured: int | None
) -> None:
    """The headers and the payload are those of the ULPDU read by hand, with a Marker anywhere.

    A field that the snap length cut off or divided is None.
    """
    for ulpdu in several:
        found = fpdu(ulpdu, phase, captured)
        markers = [] if phase is None else fpdu_layout(len(ulpdu), phase).markers
        there = sum(
            not any(at <= octet < at + 4 for at in markers) for octet in range(len(found.octets))
        )
        there = max(0, min(there - 2, len(ulpdu)))
        fields = ddp_fields(found)
        header = header_of(ulpdu[:there], len(ulpdu))
        assert header_of_record(fields) == header
        opcode = header.opcode
        message = None if opcode is None else NAMES.get(opcode, f"Reserved opcode {opcode}")
        assert fields["message"] == message
        tagged = there and ulpdu[0] >= 0x80
        assert ddp_payload(found) == ulpdu[14 if tagged else 18 : there]

# SPDX-License-Identifier: GPL-2.0-or-later
"""Values that no header can hold, and octets that are too few for one."""

from collections.abc import Callable
from functools import partial

import pytest

from scapy_mpa.wire import ift_indication as ift
from scapy_mpa.wire import rdmap, sctp_chunks, sctp_ddp, sctp_packet, startup
from scapy_mpa.wire.ddp import DDPHeader, build_ddp, ulpdus_of
from scapy_mpa.wire.errors import LocalProtocolError, RemoteProtocolError
from scapy_mpa.wire.fpdu import build_fpdu, fpdu_layout, fpdu_length
from scapy_mpa.wire.ift_frame import build_frame, parse_frame_header
from scapy_mpa.wire.terminate import build_terminate, parse_terminate
from tests.truth.mpastream import REQUEST_KEY, startup_frame

REQUEST = startup.parse_startup(startup_frame(REQUEST_KEY))
INDICATION = ift.AdaptionIndication(ph=False, vtag=1)

UNFIT: list[Callable[[], object]] = [
    # IRD and ORD have 14 bits each, there are four control flags (RFC 6581 9), and a Key has 16
    # octets.
    lambda: startup.build_enhanced("E", 0, 0),
    lambda: startup.build_enhanced("", 0x4000, 0),
    lambda: startup.build_enhanced("", 0, 0x4000),
    lambda: startup.build_startup(REQUEST._replace(revision=256)),
    lambda: startup.build_startup(REQUEST._replace(pd_length=1 << 16)),
    lambda: startup.build_startup(REQUEST._replace(reserved=16)),
    lambda: startup.build_startup(REQUEST, key=b"short"),
    # DDP; some fields are only in one kind of header.
    lambda: build_ddp(DDPHeader(True, True, reserved=16)),
    lambda: build_ddp(DDPHeader(True, True, ddp_version=4)),
    lambda: build_ddp(DDPHeader(True, True, rsvdulp=256)),
    lambda: build_ddp(DDPHeader(True, True, stag=2**32)),
    lambda: build_ddp(DDPHeader(True, True, qn=0)),
    lambda: build_ddp(DDPHeader(False, True, mo=2**32)),
    lambda: build_ddp(DDPHeader(False, True, stag=0)),
    # RDMAP
    lambda: rdmap.build_control(16, 1, 0),
    lambda: rdmap.build_control(0, 4, 0),
    lambda: rdmap.build_control(0, 1, 4),
    lambda: rdmap.build_read_request(rdmap.ReadRequest(0, 0, 2**32, 0, 0)),
    lambda: rdmap.build_atomic_request(rdmap.AtomicRequest(0, 16, 0, 0, 0, 0, 0, 0, 0)),
    lambda: rdmap.build_atomic_request(rdmap.AtomicRequest(2**28, 0, 0, 0, 0, 0, 0, 0, 0)),
    lambda: rdmap.build_atomic_response(rdmap.AtomicResponse(0, 2**64)),
    lambda: rdmap.build_immediate_data(rdmap.ImmediateData(b"7 octet")),
    lambda: build_terminate(16, 0, 0),
    lambda: build_terminate(0, -1, 0),
    lambda: build_terminate(0, 0, 256),
    lambda: build_terminate(0, 0, 0, reserved=0x2000),
    lambda: build_terminate(0, 0, 0, ddp_segment_length=65536),
    # iWARP Framing for TCP
    lambda: ift.build_indication(INDICATION._replace(vtag=1 << 16)),
    lambda: ift.build_indication(INDICATION._replace(reserved=bytes(43))),
    lambda: ift.build_indication(INDICATION._replace(reserved_flags=1 << 23)),
    # SCTP
    lambda: sctp_packet.build_packet(65536, 0, 0, []),
    lambda: sctp_packet.build_chunk(256, 0),
    lambda: sctp_chunks.build_data(sctp_chunks.DataChunk(1 << 32, 0, 0, 0, b"", 0)),
    lambda: sctp_chunks.build_init(sctp_chunks.InitChunk(0, 0, 65536, 0, 0)),
    lambda: sctp_chunks.build_init(sctp_chunks.InitChunk(0, 0, 0, 0, 0, 1 << 32)),
    lambda: sctp_chunks.build_parameter(65536, b""),
    lambda: sctp_chunks.build_sack(-1),
    lambda: sctp_ddp.build_segment(65536, b""),
    lambda: sctp_ddp.build_session_control(sctp_ddp.SessionControl(0, 65536)),
]

unchecked = partial(build_frame, header_crc=False, payload_crc=False)
NAMED: list[tuple[Callable[[], object], str]] = [
    # ULPDU_Length has 16 bits.  With Markers an FPDU begins at a multiple of 4 below 512 (RFC 5044
    # 4.3).
    *(
        (partial(fpdu_layout, ulpdu_length, phase), "not in 0 to 65535")
        for ulpdu_length in (-1, 65536)
        for phase in (None, 0)
    ),
    *(
        (partial(laid_out, what, phase), f"cannot begin at offset {phase} modulo")
        for laid_out, what in ((fpdu_length, 42), (build_fpdu, bytes(42)))
        for phase in (-4, 1, 2, 3, 6, 510, 511, 512, 516)
    ),
    # MULPDU must have room for more than a header.
    (lambda: ulpdus_of(DDPHeader(True, True, 0, 1, 0x40, 1, 0), b"1", 14), "14 octets"),
    (lambda: unchecked(b"", b"", 1 << 16), "vtag 65536: one does not fit its field"),
    (lambda: unchecked(b"", bytes(1 << 16), 1), "payload_size 65536"),
]
"""Others, with a part of the error's text."""


@pytest.mark.parametrize(("build", "text"), [*((build, ".") for build in UNFIT), *NAMED])
def test_values_that_do_not_fit(build: Callable[[], object], text: str) -> None:
    """They are refused, not cut to fit a field."""
    with pytest.raises(LocalProtocolError, match=text):
        build()


NEEDED: list[tuple[Callable[[bytes], object], int]] = [
    (parse_terminate, 4),
    (ift.parse_indication, 64),
    (parse_frame_header, 6),
    (lambda octets: sctp_packet.parse_header(bytes(8) + octets), 4),
    (sctp_chunks.parse_init, 16),
    (lambda octets: sctp_chunks.parse_data(0, octets, len(octets)), 12),
    (sctp_chunks.parse_cumulative_ack, 4),
    (sctp_ddp.parse_session_control, 4),
    (sctp_ddp.parse_segment, 2),
]


@pytest.mark.parametrize(("parse", "needed"), NEEDED)
def test_too_few_octets(parse: Callable[[bytes], object], needed: int) -> None:
    """The error says how many octets are needed, and how many there are."""
    for there in (0, needed - 1):
        with pytest.raises(RemoteProtocolError, match=f"needs {needed} octets, {there} are there"):
            parse(bytes(there))

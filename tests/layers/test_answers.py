# SPDX-License-Identifier: GPL-2.0-or-later
"""Which packets Scapy takes for answers to which."""

from __future__ import annotations

import pytest
from scapy.packet import Packet

from scapy_mpa.layers import (
    FPDU,
    DDPTagged,
    DDPUntagged,
    MPAReply,
    MPARequest,
    MPARtr,
    RDMAPAtomicRequest,
    RDMAPAtomicResponse,
    RDMAPReadRequest,
    RDMAPReadResponse,
    RDMAPSend,
    RDMAPSendWithSE,
    RDMAPTerminate,
    RDMAPWrite,
)


def read_response(stag: int, to: int, size: int) -> Packet:
    """A segment of an RDMA Read Response."""
    return FPDU() / DDPTagged(stag=stag, to=to) / RDMAPReadResponse() / bytes(size)


def untagged(message: Packet) -> Packet:
    """An FPDU with an Untagged message."""
    return FPDU() / DDPUntagged() / message


READ = untagged(RDMAPReadRequest(sink_stag=5, sink_to=1000, rdma_read_size=300))
ATOMIC = untagged(RDMAPAtomicRequest(request_identifier=7))


@pytest.mark.parametrize("is_dissected", [False, True])
@pytest.mark.parametrize(
    ("other", "request_", "wanted"),
    [
        (read_response(5, 1000, 300), READ, True),
        (read_response(5, 1200, 100), READ, True),
        (read_response(5, 1000, 0), READ, True),
        (read_response(5, 1200, 101), READ, False),
        (read_response(5, 999, 1), READ, False),
        (read_response(6, 1000, 300), READ, False),
        (read_response(5, 1000, 300), ATOMIC, False),
        (FPDU() / DDPTagged(stag=5, to=1000) / RDMAPWrite() / b"data", READ, False),
        (READ, READ, False),
        (untagged(RDMAPAtomicResponse(original_request_identifier=7)), ATOMIC, True),
        (untagged(RDMAPAtomicResponse(original_request_identifier=8)), ATOMIC, False),
        (untagged(RDMAPAtomicResponse(original_request_identifier=7)), READ, False),
        (untagged(RDMAPTerminate()), untagged(RDMAPTerminate()), False),
        (untagged(RDMAPSendWithSE() / b"pong"), untagged(RDMAPSend() / b"ping"), True),
        (untagged(RDMAPSend() / b"pong"), READ, False),
        *((MPAReply(), MPARequest(), True), (MPARtr(), MPAReply(), True)),
        *((each, MPARequest(), False) for each in (MPARequest(), MPARtr())),
        *((MPAReply(), each, False) for each in (MPAReply(), READ)),
    ],
)
def test_answers(other: Packet, request_: Packet, wanted: bool, is_dissected: bool) -> None:
    """Responses answer their Requests, and what answers has the same hash."""
    if is_dissected:
        other, request_ = type(other)(bytes(other)), type(request_)(bytes(request_))
    assert other.answers(request_) == wanted
    assert not wanted or other.hashret() == request_.hashret()

# SPDX-License-Identifier: GPL-2.0-or-later
"""The headers of an FPDU in records, compared with the ULPDU read by hand."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.records.ddp import ddp_fields, ddp_payload
from scapy_mpa.stream.events import ConnectionId, FPDURecovered
from scapy_mpa.wire.fpdu import build_fpdu, fpdu_layout
from tests.truth import messages
from tests.truth.headers import Header, header_of, header_of_record
from tests.wire.test_rdmap import FIGURES

CONNECTION = ConnectionId(0, bytes(12))

NAMES = {opcode: name for opcode, *_, name in FIGURES}


phases = st.none() | st.sampled_from(range(0, 512, 4))


def fpdu_of(
    ulpdu: bytes, phase: int | None, captured: int | None = None, ulpdu_length: int | None = None
) -> FPDURecovered:
    """An FPDU with ``ulpdu``, of which ``captured`` octets were captured."""
    octets = build_fpdu(ulpdu, phase)[:captured]
    length = len(ulpdu) if ulpdu_length is None else ulpdu_length
    return FPDURecovered(
        CONNECTION, 0, 1, 0, 0, 0, length, octets, phase, 0, "good", "length", False, (1,)
    )


def read(fpdu: FPDURecovered) -> tuple[str | None, Header]:
    """The name of the message, and its fields."""
    fields = ddp_fields(fpdu)
    return fields["message"], header_of_record(fields)


def by_hand(ulpdu: bytes, captured: int) -> tuple[str | None, Header]:
    """The same for a ULPDU of which the first ``captured`` octets are known (RFC 5041 4)."""
    header = header_of(ulpdu[:captured], len(ulpdu))
    opcode = header.opcode
    message = None if opcode is None else NAMES.get(opcode, f"Reserved opcode {opcode}")
    return message, header


@given(st.binary(max_size=40), phases)
def test_any_octets(ulpdu: bytes, phase: int | None) -> None:
    """The fields are right for any ULPDU, with a Marker anywhere in it."""
    assert read(fpdu_of(ulpdu, phase)) == by_hand(ulpdu, len(ulpdu))


@given(st.binary(max_size=40), phases, st.integers(0, 60))
def test_cut_by_the_capture(ulpdu: bytes, phase: int | None, captured: int) -> None:
    """A field that the snap length cut off or divided is None."""
    fpdu = fpdu_of(ulpdu, phase, captured)
    markers = [] if phase is None else fpdu_layout(len(ulpdu), phase).markers
    there = sum(
        not any(at <= octet < at + 4 for at in markers) for octet in range(len(fpdu.octets))
    )
    there = max(0, min(there - 2, len(ulpdu)))
    assert read(fpdu) == by_hand(ulpdu, there)
    tagged = there and ulpdu[0] >= 0x80
    assert ddp_payload(fpdu) == ulpdu[14 if tagged else 18 : there]


@given(st.integers(0, 2**32), phases)
def test_real_messages(seed: int, phase: int | None) -> None:
    """Segments of real messages have all fields, the payload, and its length."""
    for ulpdu in messages.random_ulpdus(random.Random(seed), 6, mulpdu=900, largest=3000):
        fpdu = fpdu_of(ulpdu, phase)
        found = read(fpdu)
        assert found == by_hand(ulpdu, len(ulpdu))
        fields = found[1]
        assert ddp_payload(fpdu) == ulpdu[14 if fields.tagged else 18 :]
        assert len(ddp_payload(fpdu)) == fields.payload_length

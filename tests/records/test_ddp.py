# SPDX-License-Identifier: GPL-2.0-or-later
"""The headers of an FPDU in records, compared with the ULPDU read by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.records.ddp import ddp_fields, ddp_payload
from scapy_mpa.stream.events import ConnectionId, FPDURecovered
from scapy_mpa.wire.fpdu import build_fpdu, fpdu_layout
from tests.layers.strategies import ulpdus
from tests.truth.headers import header_of, header_of_record
from tests.wire.test_rdmap import FIGURES

CONNECTION = ConnectionId(0, bytes(12))

NAMES = {opcode: name for opcode, *_, name in FIGURES}


# Most are such that a Marker lies in the header.
phases = st.sampled_from([None, 0, 256, *range(480, 512, 4)])


def fpdu_of(ulpdu: bytes, phase: int | None, captured: int | None) -> FPDURecovered:
    """An FPDU with ``ulpdu``, of which ``captured`` octets were captured."""
    octets = build_fpdu(ulpdu, phase)[:captured]
    return FPDURecovered(
        CONNECTION, 0, 1, 0, 0, 0, len(ulpdu), octets, phase, 0, "good", "length", False, (1,)
    )


@given(
    st.lists(ulpdus() | st.binary(max_size=40), min_size=6, max_size=6),
    phases,
    st.none() | st.integers(0, 60),
)
def test_any_octets(several: list[bytes], phase: int | None, captured: int | None) -> None:
    """The fields and the payload are right for any ULPDU, with a Marker anywhere in it.

    A field that the snap length cut off or divided is None.
    """
    for ulpdu in several:
        fpdu = fpdu_of(ulpdu, phase, captured)
        markers = [] if phase is None else fpdu_layout(len(ulpdu), phase).markers
        there = sum(
            not any(at <= octet < at + 4 for at in markers) for octet in range(len(fpdu.octets))
        )
        there = max(0, min(there - 2, len(ulpdu)))
        fields = ddp_fields(fpdu)
        header = header_of(ulpdu[:there], len(ulpdu))
        assert header_of_record(fields) == header
        opcode = header.opcode
        message = None if opcode is None else NAMES.get(opcode, f"Reserved opcode {opcode}")
        assert fields["message"] == message
        tagged = there and ulpdu[0] >= 0x80
        assert ddp_payload(fpdu) == ulpdu[14 if tagged else 18 : there]

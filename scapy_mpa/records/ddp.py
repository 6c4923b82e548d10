# SPDX-License-Identifier: GPL-2.0-or-later
"""What a record says of the DDP and RDMAP headers in an FPDU (RFC 5041 4, RFC 5040 4.1).

The same goes for the user data of a DDP Segment Chunk: the DDP-SSN in front of the DDP segment has
two octets, as ULPDU_Length has (RFC 5043 5.2.2).

Each header field that was captured whole counts, even if the header as a whole was not: the ULPDU
may be too short for it, or the snap length may have cut it.
"""

from typing import Final, NamedTuple

from scapy_mpa.records.values import shown
from scapy_mpa.stream.events import DDPCarrier, IFTFrameRecovered
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH, ddp_header_length, parse_ddp
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_LENGTH, fpdu_layout, strip_markers
from scapy_mpa.wire.rdmap import parse_control
from scapy_mpa.wire.rdmap_names import INVALIDATING_OPCODES, message_name

__all__ = [
    "DDPFields",
    "copied_header",
    "ddp_fields",
    "ddp_header",
    "ddp_payload",
    "frame_fields",
    "frame_payload",
]

# The two octets of ULPDU_Length, the longest header, and a Marker that may fall in it.
_HEAD: Final = HEADER_LENGTH + UNTAGGED_LENGTH + MARKER_LENGTH


class DDPFields(NamedTuple):
    """Header fields of one DDP segment; None where a field was not captured or does not apply."""

    tagged: bool | None
    last: bool | None
    ddp_version: int | None
    rdmap_version: int | None
    opcode: int | None
    message: str | None
    """The RFC's name of the message."""
    stag: int | None
    to: int | None
    qn: int | None
    msn: int | None
    mo: int | None
    invalidate_stag: int | None
    """Only of the two Sends with Invalidate."""
    payload_length: int | None
    """ULPDU_Length minus the DDP header, at least 0; None if it is not known which header."""


_NOTHING: Final = DDPFields(*[None] * len(DDPFields._fields))


def ddp_header(fpdu: DDPCarrier) -> bytes:
    """Return the first 18 octets of the ULPDU, fewer if it has fewer or if they were cut."""
    octets = fpdu.octets
    ulpdu_length = fpdu.ulpdu_length
    start = HEADER_LENGTH
    if fpdu.phase is not None:
        layout = fpdu_layout(ulpdu_length, fpdu.phase)
        # Of Markers 512 octets apart, no second one can lie in so few octets.
        octets = strip_markers(octets[: layout.header + _HEAD], layout.markers[:1])
    return octets[start : start + min(ulpdu_length, UNTAGGED_LENGTH)]


def ddp_payload(fpdu: DDPCarrier) -> bytes:
    """Return what was captured after the DDP header."""
    ulpdu = fpdu.ulpdu
    return ulpdu[ddp_header_length(ulpdu) :]


def ddp_fields(fpdu: DDPCarrier) -> DDPFields:
    """Return the header fields of the DDP segment in ``fpdu``."""
    return _fields(ddp_header(fpdu), fpdu.ulpdu_length)


def frame_fields(frame: IFTFrameRecovered) -> DDPFields:
    """Return the header fields of the DDP segment in a frame of iWARP Framing for TCP.

    In DDP mode there is no RDMAP.
    """
    size, payload_size, _ = frame.header
    fields = _fields(frame.ulpdu[: min(size, UNTAGGED_LENGTH)], size + payload_size)
    fields = fields._replace(payload_length=payload_size)
    if frame.rdma is False:
        return fields._replace(rdmap_version=None, opcode=None, message=None, invalidate_stag=None)
    return fields


def frame_payload(frame: IFTFrameRecovered) -> bytes:
    """Return what was captured after the DDP header."""
    return frame.ulpdu[frame.header.header_size :]


def copied_header(octets: bytes) -> dict[str, object]:
    """Return the fields of a DDP header that a Terminate copies, as far as it is there."""
    fields = shown(_fields(octets, 0)._asdict())
    del fields["payload_length"]
    return fields


def _fields(octets: bytes, ulpdu_length: int) -> DDPFields:
    """Return the header fields of a DDP segment.

    :param octets: its first 18, or as many as there are.
    """
    there = len(octets)
    if not there:
        return _NOTHING if ulpdu_length else _NOTHING._replace(payload_length=0)
    header = parse_ddp(octets if there == UNTAGGED_LENGTH else octets.ljust(UNTAGGED_LENGTH, b"\0"))
    tagged, last, _, ddp_version, rsvdulp, stag, to, word, qn, msn, mo = header
    control = parse_control(rsvdulp)
    opcode = control.opcode
    invalidate_stag = word if opcode in INVALIDATING_OPCODES else None
    length = header.length
    fields = DDPFields(
        tagged,
        last,
        ddp_version,
        control.rdmap_version,
        opcode,
        message_name(opcode),
        stag,
        to,
        qn,
        msn,
        mo,
        invalidate_stag,
        max(0, ulpdu_length - length),
    )
    return fields if there >= length else _as_far_as_captured(fields, there)


def _as_far_as_captured(fields: DDPFields, there: int) -> DDPFields:
    """Return ``fields`` without those that lie after the first ``there`` octets of a header."""
    ends = (
        {"rdmap_version": 2, "opcode": 2, "message": 2, "stag": 6, "to": 14}
        if fields.tagged
        else {
            "rdmap_version": 2,
            "opcode": 2,
            "message": 2,
            "invalidate_stag": 6,
            "qn": 10,
            "msn": 14,
            "mo": 18,
        }
    )
    return fields._replace(**{name: None for name, end in ends.items() if end > there})

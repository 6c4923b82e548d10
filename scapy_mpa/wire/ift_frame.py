# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of iWARP Framing for TCP (draft-williams-iwarp-ift-01 section 5).

::

    header_size          2 octets: octets of the DDP header
    payload_size         2 octets: octets of the DDP payload
    receiver's VTag      2 octets
    DDP header           header_size octets
    header CRC           4 octets, if its sender announced it
    DDP payload          payload_size octets
    payload CRC          4 octets, if its sender announced it

Nothing is padded, so CRCs and frames begin anywhere.  The header CRC covers all octets before it.
The payload CRC covers the payload, and is present even if the payload has no octets.
"""

from struct import Struct
from typing import Final, NamedTuple

from scapy_mpa.wire.crc import CRC_LENGTH, crc_field
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.fields import packed, unpacked

FRAME_HEADER_LENGTH: Final = 6
LARGEST_SIZE: Final = 0xFFFF
"""The largest value of header_size and payload_size."""

_HEADER: Final = Struct(">HHH")


class FrameHeader(NamedTuple):
    """The IFT header of a frame (5.1)."""

    header_size: int
    """Octets of the DDP header, 16 bits."""
    payload_size: int
    """Octets of the DDP payload, 16 bits."""
    vtag: int
    """The VTag that the receiver of the frame announced, 16 bits."""


class FrameLayout(NamedTuple):
    """The places of the parts of a frame, in octets from its first octet."""

    header_end: int
    """End of the DDP header, and place of the header CRC, if any."""
    payload: int
    """Where the payload begins."""
    payload_end: int
    """End of the payload, and place of the payload CRC, if any."""
    length: int
    """Octets of the frame."""


def frame_layout(header: FrameHeader, *, header_crc: bool, payload_crc: bool) -> FrameLayout:
    """Return the places of the parts of a frame (5.1).

    :param header_crc: whether the frame has a header CRC.
    :param payload_crc: whether the frame has a payload CRC.
    """
    header_end = FRAME_HEADER_LENGTH + header.header_size
    payload = header_end + CRC_LENGTH if header_crc else header_end
    payload_end = payload + header.payload_size
    return FrameLayout(
        header_end, payload, payload_end, payload_end + CRC_LENGTH if payload_crc else payload_end
    )


def mulpdu(emss: int, *, header_crc: bool, payload_crc: bool) -> int:
    """Return the highest number of octets of DDP header and payload in a frame that fits a segment.

    At least 19, so that there is room for payload after either DDP header.

    :param emss: Effective Maximum Segment Size: octets of payload that a segment may carry.
    :param header_crc: whether frames have header CRCs.
    :param payload_crc: whether frames have payload CRCs.
    """
    room = emss - FRAME_HEADER_LENGTH - CRC_LENGTH * (header_crc + payload_crc)
    return min(max(room, UNTAGGED_LENGTH + 1), LARGEST_SIZE)


def parse_frame_header(octets: bytes | bytearray | memoryview) -> FrameHeader:
    """Read the IFT header at the beginning of ``octets`` (5.1).

    :raises RemoteProtocolError: fewer than 6 octets.
    """
    return FrameHeader(*unpacked(_HEADER, "an IFT header", octets))


def build_frame(
    ddp_header: bytes,
    payload: bytes,
    vtag: int,
    *,
    header_crc: bool,
    payload_crc: bool,
    header_size: int | None = None,
    payload_size: int | None = None,
) -> bytes:
    """Return the octets of a frame with right CRCs; given sizes are not checked (5.1).

    :param vtag: 16 bits.
    :param header_crc: whether the frame has a header CRC.
    :param payload_crc: whether the frame has a payload CRC.
    :param header_size: None: the length of ``ddp_header``.
    :param payload_size: None: the length of ``payload``.
    :raises LocalProtocolError: a number does not fit its field.
    """
    fields = {
        "header_size": len(ddp_header) if header_size is None else header_size,
        "payload_size": len(payload) if payload_size is None else payload_size,
        "vtag": vtag,
    }
    head = packed(_HEADER, "draft-williams-iwarp-ift-01 5.1", **fields) + ddp_header
    between = crc_field(head) if header_crc else b""
    return head + between + payload + (crc_field(payload) if payload_crc else b"")

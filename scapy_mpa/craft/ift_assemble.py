# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the octets of a frame item (draft-williams-iwarp-ift-01 5.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from scapy_mpa.craft.given import as_octets
from scapy_mpa.craft.script import FrameItem, FrameOverrides
from scapy_mpa.wire.crc import crc_field
from scapy_mpa.wire.ddp import ddp_header_length
from scapy_mpa.wire.ift_frame import FRAME_HEADER_LENGTH, FrameHeader, build_frame, frame_layout
from scapy_mpa.wire.ift_indication import AdaptionIndication


class AssembledFrame(NamedTuple):
    """The octets of a frame, and its parts."""

    octets: bytes
    header: FrameHeader
    header_crc: bool | None
    """Whether the header CRC is right; None if there is none."""
    payload_crc: bool | None
    """Whether the payload CRC is right; None if there is none."""
    ulpdu: bytes
    """DDP header and payload as a receiver reads them, if ``is_regular``."""
    is_regular: bool
    """Whether its end and its CRCs are where its sizes say."""
    is_right: bool
    """Whether it is regular, and its CRCs, its VTag and header_size are right."""


def assemble_frame(
    item: FrameItem, indications: tuple[AdaptionIndication, AdaptionIndication]
) -> AssembledFrame:
    """Return the octets of a frame; any of its fields may be wrong.

    :param indications: the adaption indications of Initiator and Responder.
    :raises LocalProtocolError: it cannot be expressed on the wire.
    """
    overrides = item.overrides or FrameOverrides()
    own, vtag = indications[item.side], indications[1 - item.side].vtag
    ulpdu = item.ulpdu
    size = min(len(ulpdu), ddp_header_length(ulpdu))
    head, payload = ulpdu[:size], ulpdu[size:]
    header = FrameHeader(
        size if overrides.header_size is None else overrides.header_size,
        len(payload) if overrides.payload_size is None else overrides.payload_size,
        vtag if overrides.vtag is None else overrides.vtag,
    )
    sizes = {"header_size": header.header_size, "payload_size": header.payload_size}
    bare = build_frame(head, b"", header.vtag, header_crc=False, payload_crc=False, **sizes)
    header_crc, header_is_right = _crc(bare, own.hc, overrides.header_crc)
    payload_crc, payload_is_right = _crc(payload, own.pc, overrides.payload_crc)
    octets = b"".join((bare, header_crc, payload, payload_crc))
    layout = frame_layout(header, header_crc=own.hc, payload_crc=own.pc)
    payload_at = len(bare) + len(header_crc)
    is_regular = (
        layout.payload == payload_at
        and layout.payload_end == payload_at + len(payload)
        and layout.length == len(octets)
    )
    seen = octets[FRAME_HEADER_LENGTH : layout.header_end]
    is_right = (
        is_regular
        and False not in (header_is_right, payload_is_right)
        and header.vtag == vtag
        and bool(seen)
        and ddp_header_length(seen) == header.header_size
    )
    return AssembledFrame(
        octets,
        header,
        header_is_right,
        payload_is_right,
        seen + octets[layout.payload : layout.payload_end],
        is_regular,
        is_right,
    )


def _crc(
    covered: bytes, wanted: bool, override: bytes | Callable[[bytes], bytes] | None
) -> tuple[bytes, bool | None]:
    """Return the octets of a CRC field, and whether they are right."""
    right = crc_field(covered) if wanted else b""
    field = right
    if override is not None:
        field = as_octets("a CRC", override(right) if callable(override) else override)
    return field, field == right if wanted else None

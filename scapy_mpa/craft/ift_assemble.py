# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the octets of a frame item (draft-williams-iwarp-ift-01 5.1)."""

from __future__ import annotations

from collections.abc import Callable

from scapy_mpa.craft.given import as_octets
from scapy_mpa.craft.script import FrameItem, FrameOverrides
from scapy_mpa.wire.crc import crc_field
from scapy_mpa.wire.ddp import ddp_header_length
from scapy_mpa.wire.ift_frame import build_frame
from scapy_mpa.wire.ift_indication import AdaptionIndication


def assemble_frame(
    item: FrameItem, indications: tuple[AdaptionIndication, AdaptionIndication]
) -> bytes:
    """Return the octets of a frame; any of its fields may be wrong.

    :param indications: the adaption indications of Initiator and Responder.
    :raises LocalProtocolError: it cannot be expressed on the wire.
    """
    overrides = item.overrides or FrameOverrides()
    own, vtag = indications[item.side], indications[1 - item.side].vtag
    ulpdu = item.ulpdu
    size = min(len(ulpdu), ddp_header_length(ulpdu))
    head, payload = ulpdu[:size], ulpdu[size:]
    payload_size = len(payload) if overrides.payload_size is None else overrides.payload_size
    bare = build_frame(
        *(head, b"", vtag if overrides.vtag is None else overrides.vtag),
        header_crc=False,
        payload_crc=False,
        header_size=overrides.header_size,
        payload_size=payload_size,
    )
    header_crc = _crc(bare, own.hc, overrides.header_crc)
    return b"".join((bare, header_crc, payload, _crc(payload, own.pc, overrides.payload_crc)))


def _crc(covered: bytes, wanted: bool, override: bytes | Callable[[bytes], bytes] | None) -> bytes:
    """Return the octets of a CRC field."""
    right = crc_field(covered) if wanted else b""
    if override is None:
        return right
    return as_octets("a CRC", override(right) if callable(override) else override)

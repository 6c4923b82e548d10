# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of DDP and RDMAP headers in records (RFC 5041 4, RFC 5040 4.1).

Each field that was captured whole is given, even if the header is not whole.  The ULPDU may be too
short for a header, or the snap length may have cut it.
"""

from typing import Any, Final

from scapy_mpa.records.values import number, stag
from scapy_mpa.stream.events import Carrier, IFTFrameRecovered
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH, ddp_header_length, parse_ddp
from scapy_mpa.wire.rdmap import parse_control
from scapy_mpa.wire.rdmap_names import INVALIDATING_OPCODES, message_name

_ENDS: Final = {
    **dict.fromkeys(("tagged", "last", "ddp_version"), 1),
    **dict.fromkeys(("rdmap_version", "opcode", "message"), 2),
    **dict.fromkeys(("stag", "invalidate_stag"), 6),
    **{"to": 14, "qn": 10, "msn": 14, "mo": 18},
}
"""Octets of a header up to the end of each field."""


def ddp_payload(fpdu: Carrier) -> bytes:
    """Return the captured octets after the DDP header."""
    ulpdu = fpdu.ulpdu
    return ulpdu[ddp_header_length(ulpdu) :]


def ddp_fields(fpdu: Carrier) -> dict[str, Any]:
    """Return the header fields of the DDP segment in ``fpdu``."""
    return _fields(fpdu.ulpdu[:UNTAGGED_LENGTH], fpdu.ulpdu_length)


def frame_fields(frame: IFTFrameRecovered) -> dict[str, Any]:
    """Return the header fields of the DDP segment in a frame of iWARP Framing for TCP.

    Only in RDMA mode there is RDMAP.
    """
    size, payload_size, _ = frame.header
    fields = _fields(frame.ulpdu[: min(size, UNTAGGED_LENGTH)], size + payload_size)
    fields["payload_length"] = payload_size
    if not frame.carries_rdmap:
        fields |= dict.fromkeys(("rdmap_version", "opcode", "message", "invalidate_stag"))
    return fields


def frame_payload(frame: IFTFrameRecovered) -> bytes:
    """Return the captured octets after the DDP header."""
    return frame.ulpdu[frame.header.header_size :]


def copied_header(octets: bytes) -> dict[str, object]:
    """Return the fields of the DDP header, or of a part of it, that a Terminate copies."""
    fields = _fields(octets, 0)
    del fields["payload_length"]
    return fields


def _fields(octets: bytes, ulpdu_length: int) -> dict[str, Any]:
    """Return the header fields of a DDP segment; a field not captured, or not in it, is None.

    :param octets: its first 18 octets, or fewer if fewer were captured.
    """
    known = len(octets)
    header = parse_ddp(octets if known == UNTAGGED_LENGTH else octets.ljust(UNTAGGED_LENGTH, b"\0"))
    tagged, last, _, ddp_version, rsvdulp, sink, to, word, qn, msn, mo = header
    rdmap_version, _, opcode = parse_control(rsvdulp)
    length = header.length
    fields = {
        "tagged": tagged,
        "last": last,
        "ddp_version": ddp_version,
        "rdmap_version": rdmap_version,
        "opcode": opcode,
        "message": message_name(opcode),
        "stag": stag(sink),
        "to": number(to),
        "qn": qn,
        "msn": msn,
        "mo": mo,
        "invalidate_stag": stag(word) if opcode in INVALIDATING_OPCODES else None,
        # Without any octet, the length of the header is not known.
        "payload_length": max(0, ulpdu_length - length) if known or not ulpdu_length else None,
    }
    if known < length:
        fields |= {name: None for name, end in _ENDS.items() if end > known}
    return fields

# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of startup frames and FPDUs, read from their octets by independent code."""

from typing import Any

from tests.truth.mpastream import crc_field

Fields = dict[str, Any]

# Fields and their bits, in the order of the wire.
STARTUP = "key:128 m:1 c:1 r:1 s:1 reserved:4 rev:8 pd_length:16"
ENHANCED = "a:1 b:1 ird:14 c:1 d:1 ord:14"
SEGMENT = "t:1 l:1 reserved:4 dv:2 rv:2 rsv:2 opcode:4"
TAGGED, UNTAGGED = "stag:32 to:64", "word:32 qn:32 msn:32 mo:32"
MESSAGES = {
    1: "sink_stag:32 sink_to:64 size:32 src_stag:32 src_to:64",
    7: "layer:4 etype:4 code:8 mdr:3 terminate_reserved:13",
    10: "operation:32 identifier:32 remote_stag:32 remote_to:64",
    11: "identifier:32",
}
"""By opcode, the fields at the start of messages that are an RDMAP header (RFC 5040 4, RFC 7306
5.2)."""
INDICATION = (
    "magic:32 version:16 bc_version:16 ph:1 r:1 hc:1 pc:1 ih:1 ip:1 sp:1 sm:1 rm:1 "
    "reserved_flags:23 vtag:16 interval:16 reserved:352"
)
FRAME = "header_size:16 payload_size:16 vtag:16"


def read(layout: str, octets: bytes) -> tuple[Fields, bytes]:
    """The fields at the start of octets, and the octets after them."""
    fields: Fields = {}
    left, word = 8 * len(octets), int.from_bytes(octets, "big")
    for name, _, width in (each.partition(":") for each in layout.split()):
        left -= int(width)
        fields[name] = word >> left & (1 << int(width)) - 1
    return fields, octets[len(octets) - left // 8 :]


def size(layout: str) -> int:
    """The number of octets of the fields."""
    return sum(int(each.partition(":")[2]) for each in layout.split()) // 8


def startup(octets: bytes) -> Fields:
    """The fields of a startup frame (RFC 5044 figure 8, RFC 6581 6 and 9)."""
    fields, data = read(STARTUP, octets)
    if fields["rev"] == 129:
        fields["extension"], data = data[:8], data[8:]
    if fields["rev"] == 2 and len(data) >= 4:
        enhanced, data = read(ENHANCED, data)
        flags = [enhanced.pop(name) for name in "abcd"]
        fields.update(enhanced, control_flags=flags)
    return {**fields, "private_data": data}


def without_markers(octets: bytes, offset: int | None) -> tuple[bytes, list[bytes]]:
    """The octets of an FPDU without its Markers, and the Markers.

    :param offset: of its first octet in the Full Operation Phase, None without Markers.
    """
    if offset is None:
        return octets, []
    places = range(offset, offset + len(octets))
    rest = bytes(octet for place, octet in zip(places, octets, strict=True) if place % 512 >= 4)
    begins = (-offset % 512 + at for at in range(0, len(octets), 512))
    return rest, [octets[at : at + 4] for at in begins if at < len(octets)]


def fpdu(octets: bytes, offset: int | None = None) -> Fields:
    """The fields of an FPDU (RFC 5044 4) and of its DDP and RDMAP headers.

    The CRC field is its last four octets, whatever ULPDU_Length says.
    """
    body, markers = without_markers(octets, offset)
    fields: Fields = {
        "ulpdu_length": int.from_bytes(body[:2], "big"),
        "markers": markers,
        "crc": crc_field(octets[:-4]) == octets[-4:],
    }
    ulpdu = body[2:-4]
    if len(ulpdu) < (14 if ulpdu[:1] >= b"\x80" else 18):
        return {**fields, "rest": ulpdu}
    return {**fields, **_segment(ulpdu)}


def _segment(ulpdu: bytes) -> Fields:
    """The fields of a DDP segment (RFC 5041 4), padded or not, and of its RDMAP header."""
    fields, rest = read(SEGMENT, ulpdu)
    more, rest = read(TAGGED if fields["t"] else UNTAGGED, rest)
    message = MESSAGES.get(fields["opcode"], "")
    is_there = not fields["t"] and len(rest) >= size(message)
    header, rest = read(message if is_there else "", rest)
    return {**fields, **more, **header, "rest": rest}


def indication(octets: bytes) -> Fields:
    """The fields of an adaption indication (draft-williams-iwarp-ift-01 4.1)."""
    fields, crc = read(INDICATION, octets)
    return {**fields, "crc": crc_field(octets[:60]) == crc}


def frame(octets: bytes, *, header_crc: bool, payload_crc: bool) -> Fields:
    """The fields of a frame (draft-williams-iwarp-ift-01 5.1), and of its contents.

    The first bit of the DDP header gives its length, whatever header_size says.
    """
    fields, _ = read(FRAME, octets)
    end = 6 + (14 if octets[6] >> 7 else 18)
    payload = octets[end + 4 * header_crc : len(octets) - 4 * payload_crc]
    if header_crc:
        fields["header_crc"] = crc_field(octets[:end]) == octets[end : end + 4]
    if payload_crc:
        fields["payload_crc"] = crc_field(payload) == octets[-4:]
    return {**fields, **_segment(octets[6:end] + payload)}


def differences(one: Fields, other: Fields) -> set[str]:
    """The names of the fields that differ."""
    return {
        name for name in one.keys() | other.keys() if one.get(name, None) != other.get(name, None)
    }

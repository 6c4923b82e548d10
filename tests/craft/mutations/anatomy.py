# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of startup frames and FPDUs, read from their octets by other code than ours."""

from __future__ import annotations

import struct
from typing import Any

from crc32c import crc32c

Fields = dict[str, Any]


def startup(octets: bytes) -> Fields:
    """The fields of a startup frame (RFC 5044 figure 8, RFC 6581 6 and 9)."""
    key, flags, revision, pd_length = struct.unpack_from(">16sBBH", octets)
    fields = {
        "key": key,
        "m": flags >> 7,
        "c": flags >> 6 & 1,
        "r": flags >> 5 & 1,
        "s": flags >> 4 & 1,
        "reserved": flags & 15,
        "rev": revision,
        "pd_length": pd_length,
    }
    data = octets[20:]
    if revision == 129:
        fields["extension"], data = data[:8], data[8:]
    if revision == 2 and len(data) >= 4:
        first, second = struct.unpack_from(">HH", data)
        flags = first >> 14 << 2 | second >> 14
        fields.update(ird=first & 0x3FFF, ord=second & 0x3FFF, control_flags=flags)
        data = data[4:]
    return {**fields, "private_data": data}


def without_markers(octets: bytes, offset: int | None) -> tuple[bytes, list[bytes]]:
    """The octets of an FPDU without its Markers, and these.

    :param offset: of its first octet in the Full Operation Phase, None without Markers.
    """
    if offset is None:
        return octets, []
    rest, markers = bytearray(), []
    at = 0
    while at < len(octets):
        if (offset + at) % 512 == 0:
            markers.append(octets[at : at + 4])
            at += 4
            continue
        rest.append(octets[at])
        at += 1
    return bytes(rest), markers


def fpdu(octets: bytes, offset: int | None = None) -> Fields:
    """The fields of an FPDU (RFC 5044 4), and of the DDP and RDMAP headers in it.

    The CRC field is its last four octets, whatever ULPDU_Length says.
    """
    body, markers = without_markers(octets, offset)
    fields: Fields = {
        "ulpdu_length": int.from_bytes(body[:2], "big"),
        "markers": markers,
        "crc": crc32c(octets[:-4]).to_bytes(4, "little") == octets[-4:],
    }
    ulpdu = body[2:-4]
    if len(ulpdu) < (14 if ulpdu[:1] >= b"\x80" else 18):
        return {**fields, "rest": ulpdu}
    return {**fields, **_segment(ulpdu)}


def _segment(ulpdu: bytes) -> Fields:
    """The fields of a DDP segment (RFC 5041 4), padded or not."""
    first, second = ulpdu[:2]
    fields: Fields = {
        "t": first >> 7,
        "l": first >> 6 & 1,
        "reserved": first >> 2 & 15,
        "dv": first & 3,
        "rv": second >> 6,
        "rsv": second >> 4 & 3,
        "opcode": second & 15,
    }
    if first >> 7:
        stag, to = struct.unpack_from(">IQ", ulpdu, 2)
        return {**fields, "stag": stag, "to": to, "rest": ulpdu[14:]}
    word, qn, msn, mo = struct.unpack_from(">IIII", ulpdu, 2)
    fields.update(word=word, qn=qn, msn=msn, mo=mo)
    return {**fields, **_message(second & 15, ulpdu[18:])}


def _message(opcode: int, body: bytes) -> Fields:
    """The fields of a message that is an RDMAP header (RFC 5040 4, RFC 7306 5.2), padded or not."""
    if opcode == 1 and len(body) >= 28:
        names = ("sink_stag", "sink_to", "size", "src_stag", "src_to")
        return {
            **dict(zip(names, struct.unpack_from(">IQIIQ", body), strict=True)),
            "rest": body[28:],
        }
    if opcode == 10 and len(body) >= 52:
        names = ("operation", "identifier", "remote_stag", "remote_to")
        return {
            **dict(zip(names, struct.unpack_from(">IIIQ", body), strict=True)),
            "rest": body[20:],
        }
    if opcode == 11 and len(body) >= 12:
        return {"identifier": body[:4], "rest": body[4:]}
    if opcode == 7 and len(body) >= 4:
        control, code, bits = struct.unpack_from(">BBH", body)
        return {
            "layer": control >> 4,
            "etype": control & 15,
            "code": code,
            "mdr": bits >> 13,
            "terminate_reserved": bits & 0x1FFF,
            "rest": body[4:],
        }
    return {"rest": body}


def indication(octets: bytes) -> Fields:
    """The fields of an adaption indication (draft-williams-iwarp-ift-01 4.1)."""
    magic, version, bc_version, flags, vtag, interval = struct.unpack_from(">IHHIHH", octets)
    names = ("ph", "r", "hc", "pc", "ih", "ip", "sp", "sm", "rm")
    return {
        "magic": magic,
        "version": version,
        "bc_version": bc_version,
        **{name: flags >> 31 - place & 1 for place, name in enumerate(names)},
        "reserved_flags": flags & 0x7FFFFF,
        "vtag": vtag,
        "interval": interval,
        "reserved": octets[16:60],
        "crc": crc32c(octets[:60]).to_bytes(4, "little") == octets[60:],
    }


def frame(octets: bytes, *, header_crc: bool, payload_crc: bool) -> Fields:
    """The fields of a frame (draft-williams-iwarp-ift-01 5.1), and of what is in it.

    The DDP header is as long as its first bit says, whatever header_size says.
    """
    header_size, payload_size, vtag = struct.unpack_from(">HHH", octets)
    end = 6 + (14 if octets[6] >> 7 else 18)
    payload = octets[end + 4 * header_crc : len(octets) - 4 * payload_crc]
    fields: Fields = {"header_size": header_size, "payload_size": payload_size, "vtag": vtag}
    if header_crc:
        fields["header_crc"] = crc32c(octets[:end]) == int.from_bytes(
            octets[end : end + 4], "little"
        )
    if payload_crc:
        fields["payload_crc"] = crc32c(payload) == int.from_bytes(octets[-4:], "little")
    return {**fields, **_segment(octets[6:end] + payload)}


def differences(one: Fields, other: Fields) -> set[str]:
    """The names of the fields that are not the same."""
    return {
        name for name in one.keys() | other.keys() if one.get(name, None) != other.get(name, None)
    }

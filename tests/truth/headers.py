# SPDX-License-Identifier: GPL-2.0-or-later
"""The DDP header at the beginning of a ULPDU (RFC 5041 4, RFC 5040 4.1, RFC 7306 4)."""

from typing import Any, NamedTuple

from .messages import SEND_INVALIDATE, SEND_SE_INVALIDATE, TAGGED_HEADER, UNTAGGED_HEADER


class Header(NamedTuple):
    """Header fields by the names that records have; None for a field that is not there."""

    tagged: bool | None = None
    last: bool | None = None
    ddp_version: int | None = None
    rdmap_version: int | None = None
    opcode: int | None = None
    stag: int | None = None
    to: int | None = None
    qn: int | None = None
    msn: int | None = None
    mo: int | None = None
    invalidate_stag: int | None = None
    payload_length: int | None = None


def header_of_record(record: dict[str, Any]) -> Header:
    """The fields of a record, where identifiers and wide numbers are hexadecimal text."""
    names = ("stag", "to", "invalidate_stag")
    numbers = {name: int(record[name], 16) for name in names if record[name] is not None}
    return Header(**{name: record[name] for name in Header._fields} | numbers)


def header_length(ulpdu: bytes) -> int:
    """Octets of the DDP header at the beginning of a ULPDU, by its T bit."""
    return TAGGED_HEADER if ulpdu[0] & 0x80 else UNTAGGED_HEADER


def header_of(ulpdu: bytes, ulpdu_length: int) -> Header:
    """The fields in a ULPDU, or in a captured part of it.

    ulpdu_length: the value of its ULPDU_Length field.
    """
    if not ulpdu:
        return Header(payload_length=None if ulpdu_length else 0)

    def number(start: int, end: int) -> int | None:
        return int.from_bytes(ulpdu[start:end], "big") if end <= len(ulpdu) else None

    tagged = ulpdu[0] & 0x80 != 0
    control = number(1, 2)
    opcode = None if control is None else control & 15
    invalidates = not tagged and opcode in (SEND_INVALIDATE, SEND_SE_INVALIDATE)
    return Header(
        tagged=tagged,
        last=ulpdu[0] & 0x40 != 0,
        ddp_version=ulpdu[0] & 3,
        rdmap_version=None if control is None else control >> 6,
        opcode=opcode,
        stag=number(2, 6) if tagged else None,
        to=number(6, 14) if tagged else None,
        qn=None if tagged else number(6, 10),
        msn=None if tagged else number(10, 14),
        mo=None if tagged else number(14, 18),
        invalidate_stag=number(2, 6) if invalidates else None,
        payload_length=max(0, ulpdu_length - header_length(ulpdu)),
    )

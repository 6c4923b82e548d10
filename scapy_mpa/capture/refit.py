# SPDX-License-Identifier: GPL-2.0-or-later
"""Length fields and checksums of headers after which other octets follow than were captured."""

from __future__ import annotations

from typing import Final

from scapy_mpa.capture.build_frame import checksum
from scapy_mpa.capture.headers import Headers

__all__ = ["refit"]

_NONE: Final = bytes(2)


def refit(octets: bytearray, headers: Headers, missing: int = 0) -> None:
    """Have the headers at the beginning of a frame say what the frame holds.

    A checksum of UDP, which need not be there, is taken out.

    :param octets: the frame; the headers are where they were in their own.
    :param missing: octets that a snap length has cut off its end.
    """
    end = len(octets) + missing
    for at, begin, most, instead, field, _ in headers.lengths:
        count = end - begin
        field.pack_into(octets, at, count if count <= most else instead)
    for at in headers.zeros:
        octets[at : at + 2] = _NONE
    # The innermost first: those around it cover it.
    for at, begin, stop in reversed(headers.sums):
        octets[at : at + 2] = _NONE
        octets[at : at + 2] = checksum(bytes(octets[begin:stop])).to_bytes(2, "big")

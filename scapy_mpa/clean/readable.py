# SPDX-License-Identifier: GPL-2.0-or-later
"""What was recovered, in octets that other tools can read.

FPDUs lose their Markers (RFC 5044 4.3), and keep the verdict on their CRCs.  Startup frames are
written as RFC 5044 and RFC 6581 have them.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.events import FPDURecovered, FPDUWithoutCRC
from scapy_mpa.wire.crc import CRC_LENGTH, crc_field
from scapy_mpa.wire.dialect import OSC_REVISIONS, TRAITS, Dialect, extension_length
from scapy_mpa.wire.fpdu import HEADER_LENGTH, fpdu_layout, pad_length, strip_markers
from scapy_mpa.wire.startup import STARTUP_HEADER_LENGTH, StartupFrame

_FLAGS_AT: Final = 16
_REVISION_AT: Final = 17
_M: Final = 0x80


def unmarked_octets(event: FPDURecovered) -> bytes:
    """Return the octets of an FPDU as they would be in a direction without Markers.

    The CRC field is wrong by the same bits as it was: a good one is good, a bad one is bad.  Where
    CRCs are off it stays as it is; one that was not there is zero.
    """
    octets = event.octets
    is_whole = len(octets) == event.place[3]
    if event.dialect is Dialect.SOFTUIWARP:
        padded = HEADER_LENGTH + event.ulpdu_length
        trailer = pad_length(event.ulpdu_length) + CRC_LENGTH if is_whole else 0
        return octets[:padded] + bytes(trailer)
    lacks_crc = isinstance(event, FPDUWithoutCRC)
    if not (event.markers or lacks_crc):
        return octets
    layout = fpdu_layout(event.ulpdu_length, event.phase)
    without = strip_markers(octets, layout.markers)
    if lacks_crc:
        return without + bytes(CRC_LENGTH) if is_whole else without
    if event.crc == "off" or len(octets) < layout.length:
        return without
    body = without[:-CRC_LENGTH]
    wrong_by = _number(crc_field(octets[:-CRC_LENGTH])) ^ _number(octets[-CRC_LENGTH:])
    field = _number(crc_field(body)) ^ wrong_by
    return body + field.to_bytes(CRC_LENGTH, "big")


def _number(field: bytes) -> int:
    return int.from_bytes(field, "big")


def known_revision(revision: int) -> int:
    """Return the revision in which a startup frame is written.

    One with an extension is written without it (erdma), as RFC 5044 has it; any other stays.
    """
    return TRAITS[Dialect.RFC5044].revision if extension_length(revision) else revision


def known_octets(startup: StartupFrame, octets: bytes, dialect: Dialect | None) -> bytes:
    """Return a startup frame that asks for no Markers, has no extension, and says nothing else.

    A Reply of osc is of a revision above that of its Request, and is written in the same one.

    :param octets: it as it was captured.
    :param dialect: what it speaks.
    """
    header = bytearray(octets[:STARTUP_HEADER_LENGTH])
    header[_FLAGS_AT] &= ~_M
    is_osc = dialect is Dialect.OSC
    header[_REVISION_AT] = OSC_REVISIONS[0] if is_osc else known_revision(startup.revision)
    return bytes(header) + octets[STARTUP_HEADER_LENGTH + len(startup.extension) :]

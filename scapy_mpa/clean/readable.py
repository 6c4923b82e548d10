# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs and startup frames as octets that other tools can read.

FPDUs lose their Markers (RFC 5044 4.3).  A good CRC stays good, and a bad one stays bad.  Startup
frames are written as RFC 5044 and RFC 6581 define them.
"""

from __future__ import annotations

from scapy_mpa.stream.events import FPDURecovered
from scapy_mpa.wire.crc import CRC_LENGTH, crc_field
from scapy_mpa.wire.dialect import OSC_REVISIONS, TRAITS, Dialect, extension_length
from scapy_mpa.wire.fpdu import HEADER_LENGTH, SOFTUIWARP, pad_length, strip_markers
from scapy_mpa.wire.startup import StartupFrame, build_startup


def unmarked_octets(event: FPDURecovered) -> bytes:
    """Return the octets that an FPDU would have in a direction without Markers.

    The CRC field is wrong by the same bits as before: a good one stays good, a bad one stays bad.
    Where CRCs are off, the field stays as it is.  A missing field is written as zero.
    """
    octets, form = event.octets, event.form
    layout = form.layout(event.ulpdu_length, event.phase)
    is_whole = len(octets) == layout.length
    if form is SOFTUIWARP:
        pad_at = HEADER_LENGTH + event.ulpdu_length
        trailer = pad_length(event.ulpdu_length) + CRC_LENGTH if is_whole else 0
        return octets[:pad_at] + bytes(trailer)
    unmarked = strip_markers(octets, layout.markers)
    if not form.crc_length:
        return unmarked + bytes(CRC_LENGTH) if is_whole else unmarked
    if event.crc == "off" or not (event.markers and is_whole):
        return unmarked
    body = unmarked[:-CRC_LENGTH]
    wrong_by = _number(crc_field(octets[:-CRC_LENGTH])) ^ _number(octets[-CRC_LENGTH:])
    field = _number(crc_field(body)) ^ wrong_by
    return body + field.to_bytes(CRC_LENGTH, "big")


def _number(field: bytes) -> int:
    return int.from_bytes(field, "big")


def readable_revision(revision: int) -> int:
    """Return the revision with which a startup frame is written.

    A startup frame with an extension (erdma) loses it, and gets the revision of RFC 5044.  Any
    other revision stays.
    """
    return TRAITS[Dialect.RFC5044].revision if extension_length(revision) else revision


def readable_startup(startup: StartupFrame, dialect: Dialect | None) -> bytes:
    """Return the octets of a startup frame with M 0 and without an extension; all else stays.

    A Reply of osc has a higher revision than its Request.  It is written with that of the Request.

    :param dialect: its dialect.
    """
    is_osc = dialect is Dialect.OSC
    revision = OSC_REVISIONS[0] if is_osc else readable_revision(startup.revision)
    return build_startup(startup._replace(markers=False, revision=revision, extension=b""))

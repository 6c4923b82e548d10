# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames as tools read them that know RFC 5044 alone, and RFC 6581."""

from __future__ import annotations

from typing import Final

from scapy_mpa.wire.dialect import OSC_REVISIONS, TRAITS, Dialect, extension_length
from scapy_mpa.wire.startup import STARTUP_HEADER_LENGTH, StartupFrame

_FLAGS_AT: Final = 16
_REVISION_AT: Final = 17
_M: Final = 0x80


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

# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP headers (RFC 5041 section 4).

::

    T L Rsvd DV         1 octet, from the most significant bit: 1, 1, 4 and 2 bits
    RsvdULP             1 octet

    tagged (T is 1), 14 octets in all     untagged (T is 0), 18 octets in all
    STag    4 octets                      RsvdULP, the rest   4 octets
    TO      8 octets                      QN                  4 octets
                                          MSN                 4 octets
                                          MO                  4 octets

RDMAP has its control octet in the first octet of RsvdULP, and its Invalidate STag in the other
four octets (RFC 5040 4.1).
"""

import struct
from typing import Final, NamedTuple

from scapy_mpa.wire.errors import LocalProtocolError, RemoteProtocolError
from scapy_mpa.wire.fields import unpacked
from scapy_mpa.wire.shown import quoted

TAGGED_LENGTH: Final = 14
"""Octets of a tagged header (RFC 5041 4.2)."""
UNTAGGED_LENGTH: Final = 18
"""Octets of an untagged header (RFC 5041 4.3)."""
DDP_HEADER_LENGTHS: Final = (UNTAGGED_LENGTH, TAGGED_LENGTH)
"""Octets of a header by its T bit."""
TAGGED: Final = b"\x80"
"""The octets of a header compare as greater or equal if T is set: T is their first bit (RFC 5041
4.1)."""
LAST: Final = 0x40
"""L in the first octet of a header: the last segment of its message (RFC 5041 4.1)."""

TAGGED_FIELDS: Final = struct.Struct(">2xIQ")
"""A tagged header as its STag and TO, after the control octets."""
UNTAGGED_FIELDS: Final = struct.Struct(">2xIIII")
"""An untagged header as the rest of its RsvdULP, QN, MSN and MO, after the control octets."""

LARGEST_MESSAGE: Final = 0xFFFFFFFF
"""Octets of a message on an Untagged queue (RFC 5041 5.2)."""

_TOS: Final = 1 << 64
_MSNS = _MOS = 1 << 32
"""Values of TO, MSN and MO."""

_TAGGED: Final = struct.Struct(">BBIQ")
_UNTAGGED: Final = struct.Struct(">BBIIII")
_T, _L, _RESERVED, _DV = 0x80, LAST, 0x0F, 0x03


class DDPHeader(NamedTuple):
    """The header of one DDP segment.

    ``stag`` and ``to`` are None in an untagged header; ``rsvdulp_word``, ``qn``, ``msn`` and
    ``mo`` are None in a tagged one.
    """

    tagged: bool
    """T: Tagged or Untagged Buffer Model."""
    last: bool
    """L: the last segment of its message."""
    reserved: int = 0
    """Rsvd, 4 bits."""
    ddp_version: int = 1
    """DV, 2 bits: 1, or 0 for draft-ietf-rddp-mpa-01 and RDMA Consortium hardware."""
    rsvdulp: int = 0
    """The first octet of RsvdULP: the RDMAP control octet."""
    stag: int | None = None
    """Steering Tag, 32 bits."""
    to: int | None = None
    """Tagged Offset, 64 bits."""
    rsvdulp_word: int | None = None
    """The other 32 bits of RsvdULP: the place of the Invalidate STag."""
    qn: int | None = None
    """Queue Number, 32 bits."""
    msn: int | None = None
    """Message Sequence Number, 32 bits."""
    mo: int | None = None
    """Message Offset in octets, 32 bits."""

    @property
    def length(self) -> int:
        """Octets of the header: 14 or 18."""
        return DDP_HEADER_LENGTHS[self.tagged]

    @property
    def place(self) -> tuple[int, int]:
        """The place of its payload in the buffer of STag or QN: TO and 0, or MSN and MO."""
        return (self.msn or 0, self.mo or 0) if self.to is None else (self.to, 0)

    def place_after(self, payload: int) -> tuple[int, int]:
        """Return the place of the next segment of that buffer (RFC 5041 5.1, 5.2).

        :param payload: octets of payload of this segment.
        """
        number, offset = self.place
        if self.to is not None:
            return number + payload, 0
        return ((number + 1) % _MSNS, 0) if self.last else (number, offset + payload)


def ddp_header_length(octets: bytes) -> int:
    """Return the length of the DDP header that begins with ``octets`` (RFC 5041 4.2, 4.3).

    :param octets: one octet is enough; if empty, the result is the longer length, 18.
    """
    return DDP_HEADER_LENGTHS[octets >= TAGGED]


def parse_ddp(octets: bytes | bytearray | memoryview) -> DDPHeader:
    """Read the DDP header at the beginning of ``octets`` (RFC 5041 4.2, 4.3).

    The payload begins :attr:`DDPHeader.length` octets from there.

    :raises RemoteProtocolError: fewer octets than the header needs.
    """
    if not octets:
        raise RemoteProtocolError("a DDP header needs 14 or 18 octets, none are there")
    tagged = octets[0] & _T != 0
    if tagged:
        control, rsvdulp, *rest = unpacked(_TAGGED, "a tagged DDP header", octets)
    else:
        control, rsvdulp, *rest = unpacked(_UNTAGGED, "an untagged DDP header", octets)
        rest = [None, None, *rest]
    reserved = control >> 2 & _RESERVED
    return DDPHeader(tagged, control & _L != 0, reserved, control & _DV, rsvdulp, *rest)


def ddp_header_of(octets: bytes | bytearray | memoryview) -> DDPHeader | None:
    """Return the DDP header at the beginning of ``octets``, None if it is not whole."""
    try:
        return parse_ddp(octets)
    except RemoteProtocolError:
        return None


def build_ddp(header: DDPHeader) -> bytes:
    """Return the 14 or 18 octets of ``header`` (RFC 5041 4.2, 4.3).

    Numbers that are None are written as zero.

    :raises LocalProtocolError: a number does not fit its field, or this kind of header has no
        field for it.
    """
    tagged, last, reserved, ddp_version, rsvdulp, stag, to, word, qn, msn, mo = header
    if not 0 <= reserved <= _RESERVED or not 0 <= ddp_version <= _DV:
        raise LocalProtocolError(f"a number does not fit its field: {quoted(header, 300)}")
    control = last << 6 | reserved << 2 | ddp_version
    misplaced = (word, qn, msn, mo) if tagged else (stag, to)
    if misplaced.count(None) < len(misplaced):
        kind = "a tagged" if tagged else "an untagged"
        raise LocalProtocolError(
            f"a number that {kind} header has no field for: {quoted(header, 300)}"
        )
    try:
        if tagged:
            return _TAGGED.pack(_T | control, rsvdulp, stag or 0, to or 0)
        return _UNTAGGED.pack(control, rsvdulp, word or 0, qn or 0, msn or 0, mo or 0)
    except struct.error as error:
        raise LocalProtocolError(
            f"a number does not fit its field: {quoted(header, 300)}"
        ) from error


def ulpdus_of(header: DDPHeader, payload: bytes, mulpdu: int) -> list[bytes]:
    """Return the ULPDUs of a DDP message (RFC 5041 5.2).

    A message without octets has one segment.  Offsets that exceed their field wrap.

    :param header: header of the first segment; L is computed.
    :param payload: all octets of the message.
    :param mulpdu: octets of the largest ULPDU, more than those of a header.
    :raises LocalProtocolError: a number does not fit its field, or nothing fits a ULPDU.
    """
    room = mulpdu - len(build_ddp(header))
    if room <= 0:
        raise LocalProtocolError(f"no DDP segment has room in {mulpdu} octets")
    ulpdus = []
    for at in range(0, max(1, len(payload)), room):
        segment = header._replace(last=at + room >= len(payload))
        if header.tagged:
            segment = segment._replace(to=((header.to or 0) + at) % _TOS)
        else:
            segment = segment._replace(mo=((header.mo or 0) + at) % _MOS)
        ulpdus.append(build_ddp(segment) + payload[at : at + room])
    return ulpdus

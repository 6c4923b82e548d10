# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of one direction, made octet by octet from RFC 5044, with a record of every FPDU.

Offset 0 is the first octet after the startup frame of the direction. A test compares the records
with what the code under test found.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from crc32c import crc32c

REQUEST_KEY = b"MPA ID Req Frame"
REPLY_KEY = b"MPA ID Rep Frame"
RTR_KEY = b"MPA ID Rtr Frame"


@dataclass(frozen=True)
class Damage:
    """What is wrong with one FPDU.

    crc_xor: XORed onto the CRC field, 32 bits. ulpdu_length: the wrong value of the ULPDU_Length
    field. fpduptr: marker of this FPDU (0 is the first) -> its wrong value. flip: (octet of the
    ULPDU, XOR mask). sender: the sender made the wrong length, marker or flip, so the CRC covers
    it; otherwise it happened on the way, after the CRC was made.
    """

    crc_xor: int = 0
    ulpdu_length: int | None = None
    fpduptr: Mapping[int, int] = field(default_factory=dict)
    flip: tuple[int, int] | None = None
    sender: bool = False


@dataclass(frozen=True)
class TrueFPDU:
    """One FPDU of the stream.

    start: offset of its first octet, the first of a leading marker if there is one. seq_offset:
    offset of the ULPDU_Length field. end: offset after the CRC. ulpdu_length: true number of octets
    of the ULPDU. ulpdu: these octets as they are in the stream. markers: how many it contains,
    including one directly before ULPDU_Length and one between pad and CRC. crc_ok: the CRC field
    fits all octets of the FPDU before it, and ULPDU_Length is right; None where CRCs are off.
    """

    start: int
    seq_offset: int
    end: int
    ulpdu_length: int
    ulpdu: bytes
    markers: int
    crc_ok: bool | None
    damage: Damage | None = None

    @property
    def length_field(self) -> int:
        """The value of the ULPDU_Length field, right or wrong."""
        wrong = self.damage and self.damage.ulpdu_length
        return self.ulpdu_length if wrong is None else wrong


def crc_field(octets: bytes) -> bytes:
    """The CRC32c of octets in wire order (RFC 5044 4.4, figures 5 and 6)."""
    return crc32c(octets).to_bytes(4, "little")


def build_stream(
    ulpdus: Sequence[bytes],
    *,
    markers: bool = False,
    crc: bool = True,
    idle_crc_field: bytes = bytes(4),
    pad_octet: int = 0,
    marker_reserved: int = 0,
    damage: Mapping[int, Damage] | None = None,
) -> tuple[bytes, list[TrueFPDU]]:
    """The octets of FPDUs with these ULPDUs, and their records (RFC 5044 4.1, 4.3, 4.4).

    idle_crc_field: the four octets of the CRC field if crc is False. pad_octet, marker_reserved:
    values where zeros belong. damage: ULPDU's index -> Damage.
    """
    stream = bytearray()
    truth: list[TrueFPDU] = []
    for index, ulpdu in enumerate(ulpdus):
        harm = (damage or {}).get(index, Damage())
        start = len(stream)
        content = len(ulpdu).to_bytes(2, "big") + ulpdu
        content += bytes([pad_octet]) * (-len(content) % 4)
        marked, places = _append(stream, content, markers, marker_reserved)
        end = len(stream)
        ulpdu_places = places[2 : 2 + len(ulpdu)]
        if harm.sender:
            _harm(stream, harm, places[0], marked, ulpdu_places)
        field = crc_field(bytes(stream[start:])) if crc else idle_crc_field
        if not harm.sender:
            _harm(stream, harm, places[0], marked, ulpdu_places)
        field = (int.from_bytes(field, "big") ^ harm.crc_xor).to_bytes(4, "big")
        is_length_right = stream[places[0] : places[0] + 2] == content[:2]
        crc_ok = is_length_right and crc_field(bytes(stream[start:])) == field if crc else None
        stream += field
        found = bytes(stream[place] for place in ulpdu_places)
        numbers = start, places[0], end + 4, len(ulpdu)
        truth.append(TrueFPDU(*numbers, found, len(marked), crc_ok, (damage or {}).get(index)))
    return bytes(stream), truth


def _append(
    stream: bytearray, content: bytes, markers: bool, reserved: int
) -> tuple[list[int], list[int]]:
    """Append an FPDU up to its CRC.  Return the places of its Markers, and of its octets."""
    marked: list[int] = []
    places: list[int] = []
    # Both are multiples of four octets, so a marker stands before a word or not at all.  A marker
    # may still stand before the CRC.
    for position in range(0, len(content) + 4, 4):
        if markers and len(stream) % 512 == 0:
            marked.append(len(stream))
            fpduptr = len(stream) - places[0] if places else 0
            stream += struct.pack(">HH", reserved, fpduptr % 2**16)
        word = content[position : position + 4]
        places += range(len(stream), len(stream) + len(word))
        stream += word
    return marked, places


def _harm(
    stream: bytearray,
    damage: Damage,
    seq_offset: int,
    marker_offsets: list[int],
    ulpdu_offsets: list[int],
) -> None:
    if damage.ulpdu_length is not None:
        stream[seq_offset : seq_offset + 2] = damage.ulpdu_length.to_bytes(2, "big")
    for marker, fpduptr in damage.fpduptr.items():
        offset = marker_offsets[marker]
        stream[offset + 2 : offset + 4] = fpduptr.to_bytes(2, "big")
    if damage.flip is not None:
        octet, mask = damage.flip
        stream[ulpdu_offsets[octet]] ^= mask


def enhanced_data(ird: int, ord: int, *, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> bytes:
    """The four octets |A|B|IRD|C|D|ORD| that begin the private data where S=1 (RFC 6581 9)."""
    return struct.pack(">HH", a << 15 | b << 14 | ird, c << 15 | d << 14 | ord)


def startup_frame(
    key: bytes,
    *,
    markers: int = 0,
    crc: int = 0,
    rejected: int = 0,
    enhanced: int = 0,
    reserved: int = 0,
    revision: int = 1,
    private_data: bytes = b"",
    pd_length: int | None = None,
) -> bytes:
    """A Request or Reply |key|M C R S Res|Rev|PD_Length|private data| (RFC 5044 7.1.1, RFC 6581 6).

    reserved: the four bits below S. private_data: begins with the enhanced data, if any.
    pd_length: a wrong value of the field.
    """
    flags = markers << 7 | crc << 6 | rejected << 5 | enhanced << 4 | reserved
    length = len(private_data) if pd_length is None else pd_length
    return key + bytes([flags, revision]) + length.to_bytes(2, "big") + private_data

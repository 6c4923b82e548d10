# SPDX-License-Identifier: GPL-2.0-or-later
"""Read FPDU after FPDU of an ordinary segment, from contiguous octets.

This is the only such loop of the straight path.  Octets in order, an FPDU in pieces, a filled hole
and octets after a hole come here with other arguments.  The loop stops at octets that are no whole
and sound FPDU.  The direction keeps them, or refuses the segment.
"""

from struct import Struct
from typing import Any, Final, Protocol, TypeAlias

from scapy_mpa.stream.shapes import NOT_ORDINARY, Shape, Shapes
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.ddp import TAGGED_LENGTH, UNTAGGED_LENGTH
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_INTERVAL, MARKER_LENGTH

_HEAD_LENGTH: Final = HEADER_LENGTH + UNTAGGED_LENGTH
"""Octets of ULPDU_Length and the longer DDP header; also of the shortest FPDU with a DDP header."""
_unpack_head: Final = Struct(">IIQI").unpack_from
"""ULPDU_Length with the control octets, and three numbers.  Tagged: STag, TO, and four octets of
payload, which are not used.  Untagged: the reserved word, QN with MSN, and MO."""
_LAST_PHASE: Final = MARKER_INTERVAL - _HEAD_LENGTH
"""The last phase at which no Marker is inside the header."""


class ReadDirection(Protocol):
    """The direction whose octets are read."""

    ack: int
    """The highest acknowledgement number that its sender has sent."""


Row: TypeAlias = tuple[int, int, Any, int, Any, int, int, int, int | tuple[int, ...], Any, int]
"""An FPDU, or a message of ordinary FPDUs.  Its items: the number of the frame that completed it,
the time of that frame in nanoseconds, direction, offset of the first octet, shape, three words of
the DDP header, the frame or frames that brought it, its octets (of a message, the rows of its
FPDUs), and the sender's acknowledgement number."""


def read(
    direction: ReadDirection,
    octets: bytes,
    at: int,
    offset: int,
    frame: int,
    time_ns: int,
    frames: int | tuple[int, ...],
    shapes: Shapes,
    rows: list[Any],
) -> int:
    """Append a row for each FPDU from ``octets[at]`` on that is whole and sound.

    Only ``rows`` are changed.

    :param offset: position of ``octets[at]`` in the stream; Markers are counted from 0.
    :param frame: the frame that completes the FPDUs; ``time_ns`` is its time.
    :param frames: the frame or frames that brought the octets.
    :return: the index of the first octet that was not read.
    """
    length = len(octets)
    last = length - _HEAD_LENGTH
    base = offset - at
    crc, markers, ack = shapes.crc, shapes.marked, direction.ack
    while at <= last:
        if not markers:
            word, first, second, third = _unpack_head(octets, at)
            shape = shapes[word]
        else:
            phase = (base + at) % MARKER_INTERVAL
            if 0 < phase <= _LAST_PHASE:
                word, first, second, third = _unpack_head(octets, at)
            elif at + MARKER_LENGTH > last:
                break
            elif not phase:
                word, first, second, third = _unpack_head(octets, at + MARKER_LENGTH)
            else:
                word, first, second, third = _unpack_head(_without_marker(octets, at, phase))
            shape = shapes[word * MARKER_INTERVAL + phase]
        end = at + shape.size
        if end > length:
            break
        fpdu = octets[at:end]
        if crc and crc32c(fpdu) != RESIDUE:
            break
        if markers and shape.pointers is not None and shape.pointers(fpdu) != shape.expected:
            break
        if not crc and _is_wrong_header(shape, first, second, third):
            break
        rows.append(
            (frame, time_ns, direction, base + at, shape, first, second, third, frames, fpdu, ack)
        )
        at = end
    return at


def octets_missing(octets: bytes, offset: int, shapes: Shapes) -> int:
    """Return how many octets of the FPDU are missing after ``octets``; 0 if it cannot be sound.

    If its header is not whole, only the missing octets of the header count.

    :param offset: position of ``octets`` in the stream.
    """
    there = len(octets)
    phase = offset % MARKER_INTERVAL if shapes.marked else None
    at = MARKER_LENGTH if phase == 0 else 0
    length = octets[at : at + HEADER_LENGTH]
    if len(length) < HEADER_LENGTH:
        return at + HEADER_LENGTH - there
    if int.from_bytes(length, "big") < TAGGED_LENGTH:
        return 0
    need = _HEAD_LENGTH
    if phase is not None and not 0 < phase <= _LAST_PHASE:
        need += MARKER_LENGTH
    if there < need:
        return need - there
    if phase is None:
        word, first, second, third = _unpack_head(octets)
        shape = shapes[word]
    else:
        head = _without_marker(octets, 0, phase) if phase > _LAST_PHASE else octets
        word, first, second, third = _unpack_head(head, at)
        shape = shapes[word * MARKER_INTERVAL + phase]
    if (
        there >= shape.size
        or shape.size == NOT_ORDINARY
        or _is_wrong_header(shape, first, second, third)
    ):
        return 0
    return shape.size - there


def _is_wrong_header(shape: Shape, first: int, second: int, third: int) -> bool:
    """Return whether a header breaks a rule that verifies it in place of a CRC."""
    rule = shape.rule
    return rule is not None and (
        second >> 32 != rule.qn or third > rule.largest_mo or (first > 0 and not rule.has_stag)
    )


def _without_marker(octets: bytes, at: int, phase: int) -> bytes:
    """Return the first octets of an FPDU without the Marker inside its header."""
    marker = at + MARKER_INTERVAL - phase
    return octets[at:marker] + octets[marker + MARKER_LENGTH : at + _HEAD_LENGTH + MARKER_LENGTH]

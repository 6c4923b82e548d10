# SPDX-License-Identifier: GPL-2.0-or-later
"""Check whether octets may be the first octets of an FPDU."""

from scapy_mpa.stream.fpdus.candidate import HEAD
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_LENGTH, WORD, has_fpduptr
from scapy_mpa.wire.rdmap import may_begin_ulpdu, plausible


def head_makes_sense(head: bytes, *, any_stag: bool = False) -> bool:
    """Return whether octets may begin an FPDU, with or without a Marker in its DDP header.

    :param any_stag: as of :func:`~scapy_mpa.wire.rdmap.plausible`.
    """
    # No Marker can lie between ULPDU_Length and control octets.
    word = int.from_bytes(head[:WORD], "big")
    is_likely = may_begin_ulpdu(word & 0xFFFF, word >> 16)
    return is_likely and rest_makes_sense(head, any_stag=any_stag)


def rest_makes_sense(head: bytes, *, any_stag: bool = False) -> bool:
    """Return the same for octets whose first word makes sense.

    :param any_stag: as of :func:`~scapy_mpa.wire.rdmap.plausible`.
    """
    ulpdu_length = int.from_bytes(head[:HEADER_LENGTH], "big")
    return plausible(head[HEADER_LENGTH:], ulpdu_length, any_stag=any_stag) or any(
        plausible(head[HEADER_LENGTH:marker] + head[marker + MARKER_LENGTH :], ulpdu_length)
        for marker in range(WORD, HEAD - MARKER_LENGTH, WORD)
    )


def may_be_fpdu(island: Island, position: int) -> bool:
    """Return whether an FPDU may begin at a position, as far as its header was captured."""
    end = position + MARKER_LENGTH + HEAD
    is_there = end <= island.end and island.holds(position, end)
    if not is_there or (island.absent and not island.is_captured(position, end)):
        return True
    octets = island.read(position, end)
    marker, rest = octets[:MARKER_LENGTH], octets[MARKER_LENGTH:]
    # The FPDU may begin with a Marker (RFC 5044 4.3).
    return head_makes_sense(octets[:HEAD], any_stag=True) or (
        has_fpduptr(int.from_bytes(marker, "big"), 0) and head_makes_sense(rest)
    )

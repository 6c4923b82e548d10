# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the octets of one direction begin and end, and whether all of them were captured."""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.segment import Segment
from scapy_mpa.stream.sequence import NEAR_OCTETS, SEQUENCE_WINDOW, sequence_number, unwrap
from scapy_mpa.wire.tcp import ACK, RST, SYN

# The most octets that a sender sends before the first acknowledgement: the window of a SYN is never
# scaled (RFC 9293 3.1, RFC 7323 2.2).  So a SYN is captured after at most this many octets.
_FIRST_WINDOW: Final = 65_535


def acknowledged_with(half: HalfConnection, start: int, end: int) -> int | None:
    """Return the acknowledgement number of the current segment, if it brought octets of a stretch.

    The number shows what the sender had received when it sent these octets.
    """
    segment = half.owner.shared.current
    if segment is None or not segment.flags & ACK:
        return None
    if (segment.flow == half.owner.identity.flow) == bool(half.direction):
        return None
    begin = unwrap(segment.seq, start)
    return segment.ack if begin < end and start < begin + segment.length else None


def belongs(half: HalfConnection, segment: Segment) -> bool:
    """Return whether a segment of a direction can belong to this connection, and not to another on
    its ports."""
    if half.high is None:
        begin = half.peer.begin
        if begin is None or segment.flags & SYN or not segment.flags & ACK:
            return True
        # A segment that does not acknowledge the peer's SYN belongs to an earlier connection.
        return 0 <= unwrap(segment.ack, begin) - begin < SEQUENCE_WINDOW
    position = unwrap(segment.seq, half.high)
    if segment.flags & SYN:
        if segment.flags & ACK and not _may_answer(half.peer, segment):
            return False
        if half.begin is not None:
            return position + 1 == half.begin
        return _announces(half, position + 1)
    # Octets of a RST are not part of the stream (RFC 9293 3.5.3), so their position shows nothing.
    if segment.flags & RST:
        return True
    if half.owner.lingers and _lies_outside(half, position, position + segment.length):
        return False
    if position == half.high and half.fin is None:
        # Nearly all segments begin where the last one ended.
        return True
    return segment.length == 0 or abs(position - half.high) < SEQUENCE_WINDOW


def _lies_outside(half: HalfConnection, start: int, end: int) -> bool:
    """Return whether a segment, with octets or without, lies outside a connection that is over.

    After a FIN, which counts as an octet, no octets follow.  After a RST, octets under way may
    come.  Before a FIN or RST, copies may come.  Both lie within ``NEAR_OCTETS``.
    """
    high = half.high or 0
    last = high + NEAR_OCTETS if half.fin is None else half.fin
    first = max(half.begin or 0, (high if half.fin is None else half.fin) - NEAR_OCTETS)
    if start == end:
        return not first <= start <= last + 1
    return start >= last or end <= first


def may_reset(half: HalfConnection, segment: Segment) -> bool:
    """Return whether a RST ends the connection.

    The receiver drops a RST outside its window (RFC 9293 3.10.7.4).  No window is larger than 2^30
    octets (RFC 7323 2.3).  A RST that answers a SYN must acknowledge it (RFC 9293 3.10.7.3).

    :param half: the direction of its sender.
    """
    peer = half.peer
    if half.high is None and peer.begin is not None and peer.high == peer.begin:
        return bool(segment.flags & ACK) and segment.ack == sequence_number(peer.begin)
    return half.high is None or abs(unwrap(segment.seq, half.high) - half.high) < SEQUENCE_WINDOW


def _may_answer(peer: HalfConnection, segment: Segment) -> bool:
    """Return whether a SYN,ACK may answer the SYN of the peer."""
    if peer.begin is None:
        return True
    first, end = span(peer)
    return first <= unwrap(segment.ack, first) <= end


def _announces(half: HalfConnection, begin: int) -> bool:
    """Return whether a SYN can come before the octets that were captured so far.

    :param begin: position of the first octet after the SYN.
    """
    items, end = half.islands.items, half.high or 0
    if not items:
        return not half.owner.lingers or begin == span(half)[0]
    first = items[0].start
    return begin == first or (begin < first and end - begin <= _FIRST_WINDOW)


def span(half: HalfConnection) -> tuple[int, int]:
    """Return where the octets of a direction begin and end, as far as that is known."""
    high = half.high or 0
    begin = half.begin
    if begin is None:
        items = half.islands.items
        begin = items[0].start if items else half.islands.floor or high
    # An acknowledgement counts the FIN, too.
    upto = half.acknowledged or 0 if half.fin is None else half.fin
    return begin, max(begin, high, upto)


def end_of_captured(half: HalfConnection) -> int:
    """Return the position after the last captured octet of a direction, or after its FIN."""
    high = half.high or 0
    return high if half.fin is None else max(high, half.fin + 1)


def waits(half: HalfConnection) -> bool:
    """Return whether captured octets, or a FIN, follow the octets that the peer acknowledged."""
    return half.acknowledged is not None and half.acknowledged < end_of_captured(half)


def is_within_message(half: HalfConnection) -> bool:
    """Return whether the octets end with an FPDU that is not the last of its message."""
    return half.open_at == (span(half)[1], True)


def is_complete(half: HalfConnection) -> bool:
    """Return whether the FIN was captured, and the octets before it arrived or were captured."""
    if half.fin is None:
        return False
    if half.acknowledged is not None and half.acknowledged >= half.fin:
        return True
    items = half.islands.items
    if not items:
        return half.islands.front is None or half.islands.front >= half.fin
    return len(items) == 1 and items[0].end >= half.fin and not half.islands.after_open_hole()


def is_whole(half: HalfConnection) -> bool:
    """Return whether all octets from the SYN on were captured, as far as that is known.

    Octets that the snap length cut off after the beginning of the FPDUs do not matter.
    """
    if half.begin is None or half.counters.gaps or half.is_cut or half.early is not None:
        return False
    end = half.islands.items[-1].end if half.islands.items else half.begin
    if half.fin is not None:
        if half.fin > end:
            return False
        # A FIN is acknowledged like an octet.
        end += half.fin == end
    return not any(half.islands.holes(half.begin)) and (
        half.acknowledged is None or half.acknowledged <= end
    )

# SPDX-License-Identifier: GPL-2.0-or-later
"""An Rtr Frame of which not all was captured, and where FPDUs begin behind it.

Request and Reply have announced one, or S was merely echoed and an FPDU stands in its place
(:mod:`~scapy_mpa.stream.startup.rtr`).  Part of what stands there lies in a hole, or the snap
length cut it off.  What tells:

* Octets of the header that were captured, each at its place: as many as a word are no chance.  If
  PD_Length is among them, FPDUs begin behind as much.
* An FPDU directly behind the header.  That of which the first octet is one of a Key would be far
  longer than 20 octets.
* Markers, which are counted from where FPDUs begin (RFC 5044 4.3): their place tells PD_Length, if
  512 octets do not look like none, or 492 like no Rtr Frame at all.

What is not told by that is left open: FPDUs are looked for as where no startup frame was captured.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.fpdus.candidate import SHORTEST, WORD, FPDUReader
from scapy_mpa.stream.fpdus.finder import CONVINCING_CHAIN
from scapy_mpa.stream.fpdus.search import ZERO_LENGTH
from scapy_mpa.stream.halves import takeover
from scapy_mpa.stream.halves.extent import how_it_ended
from scapy_mpa.stream.inference.rows import Row, Rows
from scapy_mpa.stream.inference.sight import OCTETS_AT_FIRST, Known, Sight
from scapy_mpa.stream.startup.breaches import cut_short
from scapy_mpa.wire.dialect import LARGEST_PD_LENGTH
from scapy_mpa.wire.fpdu import FPDUPTR_MASK, MARKER_INTERVAL, MARKER_LENGTH
from scapy_mpa.wire.startup import KEY_LENGTH, RTR_KEYS, STARTUP_HEADER_LENGTH, parse_startup

if TYPE_CHECKING:
    from scapy_mpa.stream.halves.half import HalfConnection
    from scapy_mpa.stream.inference.inferred import Inferred
    from scapy_mpa.stream.startup.startup_phase import StartupPhase

__all__ = ["begin", "conclude"]

_REVISION: Final = 1
_MOST_BOUNDARIES: Final = 16
"""Places at which FPDUs are looked for behind Private Data: each may take a look at all octets."""
# Where in the header these are.
_AT_FLAGS: Final = KEY_LENGTH
_AT_REVISION: Final = KEY_LENGTH + 1
_AT_PD_LENGTH: Final = KEY_LENGTH + 2
_OCTETS_OF_PD_LENGTH: Final = STARTUP_HEADER_LENGTH - _AT_PD_LENGTH


def conclude(startup: StartupPhase) -> None:
    """See whether all that the Initiator sent behind its Request is the beginning of an Rtr Frame,
    now that nothing more will come."""
    assert startup.initiator is not None
    half = startup.halves[startup.initiator]
    begin = startup.origins[startup.initiator]
    island = half.islands.at(begin)
    if island is None or island.end != half.high:
        return
    upto = island.captured_until(begin, island.end)
    if any(chunk.end > upto for chunk in island.captured(upto, island.end)):
        # That may be FPDUs.
        return
    there = upto - begin
    if there < WORD and (there == 0 or upto == island.end):
        # So may that, and none that is whole.
        startup.begin_fpdus()
        return
    how = how_it_ended(half, upto)
    if how is not None:
        half.owner.on_error(*cut_short(half, begin, there, how))
    startup.begin_behind_rtr(island.end, is_seen=there >= WORD)


def begin(
    startup: StartupPhase, half: HalfConnection, known: Known, inferred: Inferred | None
) -> bool:
    """Have FPDUs begin behind an Rtr Frame of which not all was captured, if it is known where.

    Return whether that was done.

    :param half: the Initiator's.
    :param known: what is known of that direction: whether there are Markers and CRCs for one.
    :param inferred: what its octets say, None if they say nothing.
    """
    part = _Part(startup, half, known)
    origin = part.origin(inferred)
    if origin is not None:
        startup.begin_behind_rtr(origin, is_seen=part.is_begun)
        return True
    if part.is_proven:
        startup.see_rtr()
    if inferred is not None or known.crc or known.markers:
        return False
    # As behind any hole: nothing but where FPDUs begin is unknown.
    takeover.enter_full_operation(
        half,
        part.least,
        markers=False,
        crc=False,
        from_start=False,
        behind=part.least if part.is_begun else part.begin,
    )
    return True


class _Part:
    """What was captured of an Rtr Frame, and of FPDUs behind it.

    :param half: of the Initiator, which has sent it.
    :param known: what is known of that direction.
    """

    def __init__(self, startup: StartupPhase, half: HalfConnection, known: Known) -> None:
        self._half = half
        self._known = known
        self.begin = startup.origins[half.direction]
        """Where it begins, if it is there."""
        self.least = self.begin + STARTUP_HEADER_LENGTH
        """Where FPDUs begin if there are no Private Data."""
        self._header = self._read()
        reply = startup.declared[1 - half.direction]
        self._matching = self._count_matching(crc=reply is not None and reply.crc)

    # -- its octets --------------------------------------------------------------------------

    def _read(self) -> dict[int, int]:
        """Return the octets of the header that were captured, by their places."""
        begin, end = self.begin, self.least
        pieces = (
            chunk.behind(begin)
            for island in self._half.islands.items
            for chunk in island.captured(begin, end)
        )
        return {
            piece.position + at - begin: octet
            for piece in pieces
            for at, octet in enumerate(piece.octets[: max(0, end - piece.position)])
        }

    def _count_matching(self, *, crc: bool) -> int | None:
        """Return how many octets stand there as an Rtr Frame has them, None if one does not.

        :param crc: C of the Reply, which is that of the frame (rtr-frame-proposal-2007 2).
        """
        header = self._header
        of_key = [at for at in header if at < KEY_LENGTH]
        is_key = any(all(key[at] == header[at] for at in of_key) for key in RTR_KEYS)
        if not is_key or header.get(_AT_REVISION, _REVISION) != _REVISION:
            return None
        behind = bytes(header.get(at, 0) for at in range(KEY_LENGTH, STARTUP_HEADER_LENGTH))
        said = parse_startup(RTR_KEYS[0] + behind)
        # A receiver does not look at the others, so they refute nothing.
        has_flags = said.crc == crc and not (said.rejected or said.s_bit or said.reserved)
        return len(of_key) + (_AT_REVISION in header) + (_AT_FLAGS in header and has_flags)

    @property
    def _pd_length(self) -> int | None:
        """Its PD_Length, None if that was not captured, or is none that it may have."""
        if not {_AT_PD_LENGTH, _AT_PD_LENGTH + 1} <= self._header.keys():
            return None
        pd_length = self._header[_AT_PD_LENGTH] << 8 | self._header[_AT_PD_LENGTH + 1]
        return pd_length if pd_length <= LARGEST_PD_LENGTH else None

    @property
    def is_proven(self) -> bool:
        """Whether its octets alone show that it is there: as many as a word are no chance."""
        return (self._matching or 0) >= WORD

    @property
    def is_begun(self) -> bool:
        """Whether its octets show that no short FPDU is there in its place.

        The first octet of a Key begins an FPDU of more than 19 KiB.
        """
        return self.is_proven or (bool(self._matching) and 0 in self._header)

    # -- where FPDUs begin ---------------------------------------------------------------------

    def origin(self, inferred: Inferred | None) -> int | None:
        """Return where FPDUs begin behind it; None if that is not known, or it may not be there.

        :param inferred: what the octets of the direction say, None if they say nothing.
        """
        if self._matching is None:
            return None
        pd_length = self._pd_length
        if pd_length is not None:
            return self._behind(pd_length)
        for position in self._places():
            is_certain = self._known.markers or (
                self.is_begun and self._has_no_room(position - self.least)
            )
            if is_certain and self._begins_at(position):
                return position
        if inferred is not None and inferred.markers and not inferred.is_guess:
            return self._by_markers(inferred.origin)
        return None

    def _behind(self, pd_length: int) -> int | None:
        """Return where FPDUs begin by what PD_Length says, None if it need not be one."""
        end = self.least + pd_length
        # If they do, it is part of what speaks for the frame.
        is_likely = (self._matching or 0) + _OCTETS_OF_PD_LENGTH >= WORD or self._known.markers
        return end if self.is_proven or (is_likely and self._begins_at(end)) else None

    def _places(self) -> Iterator[int]:
        """Yield where FPDUs may begin: behind the header, and where the first segments do.

        Not where a Marker is no matter whether there are Private Data, or an Rtr Frame at all.
        """
        least, begin = self.least, self.begin
        yield least
        boundaries = (
            each
            for island in self._half.islands.items
            if island.start < least + MARKER_INTERVAL
            for each in island.telling_boundaries(least + 1, least + MARKER_INTERVAL)
            if each > least and (self.is_begun or each != begin + MARKER_INTERVAL)
        )
        yield from islice(boundaries, _MOST_BOUNDARIES)

    @staticmethod
    def _has_no_room(octets: int) -> bool:
        """Tell whether so many octets have no room for FPDUs: what else stands there is known."""
        return octets == 0 or (octets < SHORTEST and octets % len(ZERO_LENGTH) != 0)

    def _begins_at(self, position: int) -> bool:
        """Tell whether an FPDU begins at a position for certain, if the phase begins there."""
        island = self._half.islands.at(position)
        if island is None or not island.holds(position):
            return False
        known = self._known._replace(origin=position)
        reader = FPDUReader(position, markers=bool(known.markers), crc=bool(known.crc))
        fpdu = reader.whole(island, position)
        if fpdu is None or not fpdu.sound:
            return False
        if fpdu.crc == "good":
            return True
        row = Rows(Sight(island, known, OCTETS_AT_FIRST, position)).row_at(position)
        return row is not None and self._is_convincing(row)

    def _is_convincing(self, row: Row) -> bool:
        """Tell whether a row of FPDUs without CRCs, or whose CRCs were cut off, is one.

        A Marker that says more than 0 is as good as a CRC; one that says 0 may be what was left in
        a CRC field that is not used.
        """
        if row.telling:
            return True
        return self.is_proven and (row.fpdus >= CONVINCING_CHAIN or row.markers > 0)

    def _by_markers(self, place: int) -> int | None:
        """Return where FPDUs begin, by where Markers are; None if that is not told.

        :param place: of one of them, whichever.
        """
        least = self.least
        if (place - self.begin) % MARKER_INTERVAL == 0 and not self.is_begun:
            # So they are if there is no Rtr Frame.
            return None
        origin = least + (place - least) % MARKER_INTERVAL
        if origin == least and not any(map(self._follows, self._places())):
            # Or as many octets of Private Data as there may be at most.
            return None
        return origin if self._may_be_marker(origin) else None

    def _follows(self, position: int) -> bool:
        """Tell whether an FPDU with a good CRC is there if no Private Data are."""
        back = position - self.least
        island = self._half.islands.at(position)
        if island is None or not back or back % WORD:
            return False
        reader = FPDUReader(self.least, markers=True, crc=bool(self._known.crc))
        fpdu = reader.whole(island, position) if island.holds(position) else None
        return fpdu is not None and fpdu.crc == "good"

    def _may_be_marker(self, position: int) -> bool:
        """Tell whether the Marker with which the phase begins may be at a position."""
        end = position + MARKER_LENGTH
        island = self._half.islands.at(position)
        if island is None or not island.holds(position, end):
            return True
        if island.absent and island.captured_until(position, end) < end:
            return True
        return int.from_bytes(island.read(position, end), "big") & FPDUPTR_MASK == 0

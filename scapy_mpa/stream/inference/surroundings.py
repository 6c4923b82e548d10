# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands around what seems to be a startup frame: FPDUs, or the payload of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scapy_mpa.stream.fpdus.candidate import FRAMING_WINDOW, HEAD, WORD
from scapy_mpa.stream.fpdus.heads import head_makes_sense
from scapy_mpa.stream.fpdus.search import header_words
from scapy_mpa.stream.inference.look import Look
from scapy_mpa.stream.inference.places import Ballot
from scapy_mpa.stream.inference.purse import Purse
from scapy_mpa.stream.inference.rows import Rows
from scapy_mpa.stream.inference.sight import OCTETS_AT_FIRST, Known, looking
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.scan import FoundStartup, may_be_marker
from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    fpdu_length,
)
from scapy_mpa.wire.startup import KEY_LENGTH

__all__ = ["fpdu_begins", "fpdus_before", "is_in_payload", "is_marker"]


def fpdu_begins(island: Island, position: int, purse: Purse) -> bool:
    """Tell whether FPDUs follow each other from a position on, beyond doubt."""
    if not island.held <= position < island.end:
        return False
    known = Known(None, None, position, sure=True, purse=purse)
    with looking(island, known, position) as sight:
        if not Rows(sight).begins():
            return False
    # Where their Markers are counted from elsewhere, the phase has begun before.
    known = known._replace(origin=None)
    with looking(island, known, position) as sight:
        row = Rows(sight).row_at(position)
    return row is None or not row.tells_places or row.phase(position) == 0


def is_marker(island: Island, found: FoundStartup, purse: Purse) -> bool:
    """Tell whether the word behind a Key is a Marker, by where those are in the FPDUs that follow.

    :param island: that holds the octets behind the frame.
    :param found: what seems to be a startup frame.
    """
    if not may_be_marker(found):
        return False
    known = Known(None, None, found.end, sure=True, purse=purse)
    with looking(island, known, found.end) as sight:
        row = Rows(sight).row_at(found.end)
    return row is not None and row.phase(found.position + KEY_LENGTH) == 0


def fpdus_before(islands: Iterable[Island], position: int, purse: Purse) -> bool:
    """Tell whether FPDUs follow each other before a position, as far as octets there are held.

    :param islands: those of the direction, ascending.  They are looked at for what one of them may
        cost.
    """
    allowance = OCTETS_AT_FIRST
    for island in islands:
        if island.start >= position or allowance < 0:
            break
        if island.held != island.start or island.runs:
            # Not all of it is held any more.
            continue
        known = Known(None, None, None, sure=False, purse=purse)
        with looking(island, known, allowance=allowance) as sight:
            lent = sight.allowance
            ballots: dict[int, Ballot] = {}
            Look(sight).count(ballots)
            if any(
                each.is_believed and each.reference < position for each in ballots.values()
            ) or any(row.start < position for row in Rows(sight).all()):
                return True
        allowance -= lent - sight.allowance
    return False


def is_in_payload(islands: Iterable[Island], island: Island, begin: int, end: int) -> bool:
    """Tell whether octets are the last ones of an FPDU that starts before them.

    Its header makes sense, and says that it ends where they do, or with a CRC field of zeros behind
    them: among other octets, one word in some 2^30 does.

    :param islands: in which it may start, ascending; holes may lie between.
    :param island: that holds the octets.
    """
    ends = [end]
    if island.read(end, min(end + CRC_LENGTH, island.end)) == bytes(CRC_LENGTH):
        ends.append(end + CRC_LENGTH)
    return any(
        _leads_to(each, begin, ends)
        for each in islands
        if begin - FRAMING_WINDOW < each.end and each.held < begin
    )


def _leads_to(island: Island, begin: int, ends: Sequence[int]) -> bool:
    """Tell whether an FPDU that starts in an island, before ``begin``, ends at one of ``ends``."""
    start = max(island.held, begin - FRAMING_WINDOW)
    start += (ends[0] - start) % WORD
    if start >= island.end:
        return False
    octets = island.read(start, min(begin + HEAD, island.end))
    for at in header_words(octets[: begin - start]):
        length = fpdu_length(int.from_bytes(octets[at : at + HEADER_LENGTH], "big"))
        # How many Markers there are, one before the header apart, depends on where they lie.
        fewest = length // (MARKER_INTERVAL - MARKER_LENGTH)
        lengths = [length + MARKER_LENGTH * markers for markers in (0, fewest, fewest + 1)]
        is_last = any(end - start - at in lengths for end in ends)
        if is_last and head_makes_sense(octets[at : at + HEAD]):
            return True
    return False

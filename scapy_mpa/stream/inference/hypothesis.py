# SPDX-License-Identifier: GPL-2.0-or-later
"""What a direction carries whose startup frames were not all captured.

Three things may be unknown: whether the octets are FPDUs at all, whether CRCs are on, and
whether there are Markers and where.  Each answer is a hypothesis, and the one that explains the
octets of all islands best is taken, if it is proven:

* With CRCs, one verified FPDU is 32 bits of evidence.  But a payload may hold FPDUs, for example a
  download of an iWARP capture.  So two must follow each other.  One is enough if it fills a
  segment, if it is all that there is in the end, or if the direction is known to carry FPDUs.
  :mod:`~scapy_mpa.stream.inference.phase_votes` adds up what they say of Markers.
* Without CRCs, several headers in a row must make sense, each where the length before it leads.
  That is little beside a CRC, and a payload may hold such a row, too.  So a row is believed if it
  begins with the phase, if it is longer than any payload, or if segments begin with seven of its
  FPDUs.  Any other row is believed only if nothing better will come, and if no CRC of either
  direction says otherwise (``Known.crc``).  Of several hypotheses, the one with the longest rows
  counts: a payload is shorter than what carries it.
* Where startup frames cannot have been missed and there are none, nobody asked for MPA
  (``Known.unasked``): two good CRCs in a row are believed, and nothing else.

Other TCP traffic has none of this.  How much of it is looked at is limited for each direction, and
for all of a capture together (:mod:`~scapy_mpa.stream.purse`).
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from scapy_mpa.stream.fpdus.candidate import HEAD, WHOLE_FPDUS
from scapy_mpa.stream.fpdus.heads import head_makes_sense
from scapy_mpa.stream.fpdus.weights import BOUNDARY, PROOF
from scapy_mpa.stream.inference.candidates import Known, candidates
from scapy_mpa.stream.inference.phase_votes import PhaseVotes
from scapy_mpa.stream.inference.rows import AGREEING_MARKERS, PLAUSIBLE_ROW, Row, row_at, rows
from scapy_mpa.stream.inference.verified import count
from scapy_mpa.stream.limits import FRAMING_WINDOW
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_LENGTH, WORD, fpdu_layout


class Inferred(NamedTuple):
    """What was found out about a direction."""

    origin: int
    """A position from which Markers, or else FPDUs, lie at multiples of 512, or else of 4."""
    markers: bool
    crc: bool
    is_guess: bool = False
    """Whether Markers may as well be elsewhere, for all that FPDUs have shown."""
    crc_is_known: bool = True
    """Whether it was shown that CRCs are on or off; if not, they may be on."""


def infer(islands: Sequence[Island], known: Known, *, final: bool) -> Inferred | None:
    """Find out what a direction carries, if it can be reported.

    :param islands: whose octets are all there.
    :param final: nothing will be added to them.
    """
    if not final and _may_be_one(islands, known):
        return None
    votes = None if known.crc is False else _votes(islands, known, final=final)
    if votes is not None:
        if not votes.is_believed or not (final or votes.is_settled):
            return None
        if not votes.is_settled:
            votes.compare([(each.start, each.read(each.start, each.end)) for each in islands])
        place, *others = votes.best()
        inferred = _inferred(place, votes.reference, known, crc=True)
        return inferred._replace(is_guess=bool(others))
    row = None if known.crc else _longest_row(islands, known, final=final)
    if row is None:
        return None
    inferred = _inferred(row.origin, row.start, known, crc=False)
    if known.crc is None and row.whole < min(row.fpdus, WHOLE_FPDUS):
        # The CRCs that could tell were cut off.
        return inferred._replace(crc=True, crc_is_known=False)
    return inferred


def _may_be_one(islands: Sequence[Island], known: Known) -> bool:
    """Tell whether all octets may be of one FPDU not whole yet: others may be its payload."""
    if len(islands) != 1:
        return False
    (island,) = islands
    begin = max(known.origin or island.start, island.start)
    # At the beginning of the phase, a Marker leads the first FPDU if there are any.
    has_none = known.markers is False or begin == known.origin
    for header, is_unmarked in ((begin, has_none), (begin + MARKER_LENGTH, known.markers is False)):
        head = island.read(header, min(header + HEAD, island.end)) if header < island.end else b""
        if head_makes_sense(head):
            ulpdu_length = int.from_bytes(head[:HEADER_LENGTH], "big")
            # With as many Markers as it may hold.
            layout = fpdu_layout(ulpdu_length, None if is_unmarked else 0)
            if begin + layout.length > island.end:
                return True
    return False


def shows_crcs(islands: Sequence[Island], known: Known) -> bool:
    """Tell whether an FPDU with a good CRC is there."""
    return known.crc is not False and _votes(islands, known, final=True) is not None


def _votes(islands: Sequence[Island], known: Known, *, final: bool) -> PhaseVotes | None:
    """Return what verified FPDUs say, if there are any."""
    octets = [(each.start, each.end) for each in islands], known.markers, known.origin
    if known.memory.without_crcs == octets:
        return None
    votes: dict[int, PhaseVotes] = {}
    allowance = 0
    is_all = True
    for looked_at in candidates(islands, known):
        is_settled = count(looked_at, votes)
        allowance = looked_at.allowance.left
        is_all = is_all and looked_at.is_all
        if is_settled:
            break
    if is_all and not votes:
        known.memory.without_crcs = octets
    if final and allowance >= 0 and len(votes) == 1 and not known.unasked:
        # All were looked at, and may be what holes leave of FPDUs.
        (ours,) = votes.values()
        ours.is_believed |= not ours.is_doubtful
    return max(votes.values(), key=lambda each: (each.is_believed, each.octets), default=None)


def _inferred(place: int | None, somewhere: int, known: Known, *, crc: bool) -> Inferred:
    """Return what is meant by a place of a Marker, None for none."""
    origin = known.origin
    if origin is None:
        origin = somewhere if place is None else place
    return Inferred(origin, place is not None, crc)


def _longest_row(islands: Sequence[Island], known: Known, *, final: bool) -> Row | None:
    """Return the longest row under the hypothesis that is to be believed, without CRCs."""
    together: dict[tuple[int | None, int], list[Row]] = defaultdict(list)
    origin = known.origin
    for looked_at in candidates(islands, known):
        if origin is not None and looked_at.island.start <= origin < looked_at.island.end:
            row = row_at(looked_at, origin)
            if row is not None and row.fpdus >= (1 if final else PLAUSIBLE_ROW):
                return row
        for row in rows(looked_at):
            together[row.phase(0), row.start % WORD].append(row)
    hypotheses = [each for each in together.values() if any(row.is_long for row in each)]
    # Zeros say less than Markers that point back to where FPDUs begin.
    telling = [
        each
        for each in together.values()
        if sum(row.evidence.markers for row in each) >= AGREEING_MARKERS
    ]
    if telling:
        hypotheses = telling + [each for each in hypotheses if each[0].origin is None]
    ours = max(hypotheses, key=lambda each: sum(row.octets for row in each), default=None)
    if ours is None:
        return None
    longest = max(ours, key=lambda row: row.octets)
    # A shorter one may be part of a payload, unless segments begin with its FPDUs.
    if not final and longest.octets <= FRAMING_WINDOW and longest.aligned * BOUNDARY < PROOF:
        return None
    # What others of its places say of CRCs counts for it, too.
    return longest._replace(whole=max(row.whole for row in ours))

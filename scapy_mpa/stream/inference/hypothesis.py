# SPDX-License-Identifier: GPL-2.0-or-later
"""Find out what a direction carries if startup frames are missing.

Three things may be unknown: whether the octets are FPDUs, whether CRCs are on, and where Markers
are, if there are any.  Each answer is a hypothesis.  The hypothesis that explains the octets of all
islands best counts, if it is proven:

* With CRCs, one verified FPDU is 32 bits of evidence.  But a payload may hold FPDUs, for example a
  download of an iWARP capture.  So two must follow each other.  One is enough if it fills a
  segment, or if the direction is known to carry FPDUs.
  :mod:`~scapy_mpa.stream.inference.phase_votes` adds up their evidence on Markers.
* Without CRCs, several headers in a row must make sense, and lengths must lead from one to the
  next.  That is weaker evidence than a CRC, and a payload may hold such a row, too.  So a row is
  believed if it begins with the phase, if it is longer than any payload, or if segments begin with
  four of its FPDUs.  Any other row is believed only at the end, and if no CRC of either direction
  contradicts it (``Known.crc``).  Of several hypotheses, the one with the longest row counts,
  since a payload is shorter than the FPDU around it.
* If no startup frame can have been missed and there is none, nobody asked for MPA
  (``Known.unasked``).  Then only two good CRCs in a row are believed.

Other TCP traffic has no such evidence.  Limits for each direction, and for the whole capture, bound
the search in it (:mod:`~scapy_mpa.stream.purse`).
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from scapy_mpa.stream.fpdus.weights import POINTING, ROW
from scapy_mpa.stream.inference.candidates import Known, candidates
from scapy_mpa.stream.inference.phase_votes import PhaseVotes
from scapy_mpa.stream.inference.rows import Row, row_at, rows
from scapy_mpa.stream.inference.verified import count
from scapy_mpa.stream.limits import FRAMING_WINDOW
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.purse import Search
from scapy_mpa.wire.fpdu import WORD


class Inferred(NamedTuple):
    """The hypothesis that counts for a direction."""

    origin: int
    """From here, Markers are at multiples of 512 octets; without Markers, FPDUs at those of 4."""
    markers: bool
    crc: bool
    is_guess: bool = False
    """Whether the positions of Markers are a guess, since FPDUs have not shown them yet."""
    crc_is_known: bool = True
    """Whether FPDUs have shown that CRCs are on or off; if not, they may be on."""


def infer(islands: Sequence[Island], known: Known, *, final: bool) -> Search[Inferred | None]:
    """Return what a direction carries; None if it is not proven.

    :param islands: islands that still hold all their octets.
    :param final: no octets will be added to them.
    """
    votes = None if known.crc is False else (yield from _votes(islands, known))
    if votes is not None:
        if not votes.is_believed or not (final or votes.is_settled):
            return None
        if not votes.is_settled:
            votes.compare([(each.start, each.read(each.start, each.end)) for each in islands])
        marker, *others = votes.best()
        inferred = _inferred(marker, votes.reference, known, crc=True)
        return inferred._replace(is_guess=bool(others))
    row = None if known.crc else (yield from _longest_row(islands, known, final=final))
    if row is None:
        return None
    inferred = _inferred(row.origin, row.start, known, crc=False)
    if known.crc is None and not row.whole:
        # The CRCs that could show it were cut off.
        return inferred._replace(crc=True, crc_is_known=False)
    return inferred


def shows_crcs(islands: Sequence[Island], known: Known) -> Search[bool]:
    """Return whether the islands hold an FPDU with a good CRC."""
    return known.crc is not False and (yield from _votes(islands, known)) is not None


def _votes(islands: Sequence[Island], known: Known) -> Search[PhaseVotes | None]:
    """Return the votes of verified FPDUs; None if there are none."""
    octets = [(each.start, each.end) for each in islands], known.markers, known.origin
    if known.memory.without_crcs == octets:
        return None
    votes: dict[int, PhaseVotes] = {}
    is_all = True
    for search in candidates(islands, known):
        is_settled = yield from count(search, votes)
        is_all = is_all and search.is_all
        if is_settled:
            break
    if is_all and not votes:
        known.memory.without_crcs = octets
    return max(votes.values(), key=lambda each: (each.is_believed, each.octets), default=None)


def _inferred(marker: int | None, fpdu: int, known: Known, *, crc: bool) -> Inferred:
    """Return a hypothesis by the position of a Marker, None without Markers, and of an FPDU."""
    origin = known.origin
    if origin is None:
        origin = fpdu if marker is None else marker
    return Inferred(origin, marker is not None, crc)


def _longest_row(islands: Sequence[Island], known: Known, *, final: bool) -> Search[Row | None]:
    """Return the longest row of the best hypothesis without CRCs; None if none is believed."""
    together: dict[tuple[int | None, int], list[Row]] = defaultdict(list)
    origin = known.origin
    for search in candidates(islands, known):
        if origin is not None and search.island.start <= origin < search.island.end:
            row = yield from row_at(search, origin)
            if row is not None and row.fpdus >= (1 if final else ROW):
                return row
        for row in (yield from rows(search)):
            together[row.phase(0), row.start % WORD].append(row)
    hypotheses = [each for each in together.values() if any(row.is_long for row in each)]
    # Markers that point back are better evidence than zeros.
    pointing = [
        each for each in together.values() if sum(row.evidence.markers for row in each) >= POINTING
    ]
    if pointing:
        hypotheses = pointing + [each for each in hypotheses if each[0].origin is None]
    longest = max(chain(*hypotheses), key=lambda row: row.octets, default=None)
    if longest is None:
        return None
    # A shorter row may be part of a payload, unless segments begin with its FPDUs.
    if not final and longest.octets <= FRAMING_WINDOW and longest.aligned < ROW:
        return None
    # A whole FPDU in another row of the hypothesis shows, too, that CRCs are off.
    same = together[longest.phase(0), longest.start % WORD]
    return longest._replace(whole=max(row.whole for row in same))

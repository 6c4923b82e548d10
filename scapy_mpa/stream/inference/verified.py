# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of one island by their CRCs, wherever they may begin.

What is believed of them is decided in :mod:`~scapy_mpa.stream.inference.hypothesis`.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from scapy_mpa.stream.fpdus.candidate import HEAD
from scapy_mpa.stream.fpdus.heads import head_makes_sense
from scapy_mpa.stream.inference.candidates import COST_OF_FAILURE, Candidates
from scapy_mpa.stream.inference.phase_votes import PhaseVotes, Verified
from scapy_mpa.stream.limits import FRAMING_WINDOW
from scapy_mpa.wire.crc import crc_is_good
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    WORD,
    fpdu_layout,
    fpdu_length,
    points_alike,
)

# FPDUs with a bad CRC over which lengths may lead from a verified one to the next.
_MOST_DAMAGED: Final = 4
# What each place costs at which an FPDU may end, beside the octets up to there.
_COST_OF_END: Final = 256
# What an FPDU costs that is found: it is counted, and the next one is looked for.
_COST_OF_FOUND: Final = 2048


def count(looked_at: Candidates, votes: dict[int, PhaseVotes]) -> bool:
    """Let verified FPDUs vote, by alignment; tell whether no more votes are needed."""
    island, known = looked_at.island, looked_at.known
    # An FPDU of zero length comes last: it has no header that makes sense.
    for header in chain(looked_at.headers(), looked_at.zero_lengths()):
        before: Verified | None = None
        fpdu = _good(looked_at, header, _searched(looked_at, header))
        while fpdu is not None and looked_at.allowance.left >= 0:
            looked_at.allowance.left -= _COST_OF_FOUND
            start, end = fpdu.start, fpdu.end
            ours = votes.get(start % WORD)
            if ours is None:
                ours = votes[start % WORD] = PhaseVotes(start, known.markers, known.origin)
            if not looked_at.is_explained(start):
                if end - start > fpdu_length(fpdu.ulpdu_length):
                    looked_at.allowance.left -= _COST_OF_END * ours.places
                ours.take(fpdu)
            is_alone = island.fills_segments(start, end) and not known.unasked
            if before is not None or known.sure or is_alone:
                ours.is_believed = True
            elif not _may_be_all(looked_at, start, end):
                ours.is_doubtful = True
            if ours.is_settled:
                return True
            if looked_at.is_explained(start):
                break
            looked_at.explain(start, end)
            before, fpdu = fpdu, _following(looked_at, end)
            for between in _damaged(looked_at, end) if fpdu is None else ():
                # Its length leads to a good one: that is no chance.
                ours.take(between)
                ours.is_believed = True
    return False


def _ends(
    looked_at: Candidates, header: int, *, is_led: bool, is_marked: bool = True
) -> Iterator[tuple[int, int]]:
    """Yield where an FPDU may begin and end, by its ULPDU_Length at ``header``.

    Its CRC needs the number of Markers, not their place.  Two numbers are possible: one Marker more
    or less fits, depending on the place.

    :param is_led: whether a Marker leads it.
    :param is_marked: whether it may hold Markers otherwise.
    """
    markers, origin = looked_at.known.markers, looked_at.known.origin
    ulpdu_length = looked_at.stretch.number(header, header + HEADER_LENGTH)
    start = header - MARKER_LENGTH if is_led else header
    phase = None if origin is None else (start - origin) % MARKER_INTERVAL
    if is_led:
        if markers is not False and phase in (None, 0) and start >= looked_at.stretch.begin:
            yield start, start + fpdu_layout(ulpdu_length, 0).length
        return
    if phase is not None and markers is not False:
        if phase and phase % WORD == 0:
            yield start, start + fpdu_layout(ulpdu_length, phase).length
        if markers:
            return
    least = fpdu_length(ulpdu_length)
    yield start, start + least
    if phase is None and markers is not False and is_marked:
        most = -(-least // (MARKER_INTERVAL - MARKER_LENGTH))
        for some in range(max(1, most - 1), most + 1):
            yield start, start + least + MARKER_LENGTH * some


def _searched(looked_at: Candidates, header: int) -> Iterator[tuple[int, int]]:
    """Yield the same where no length leads to the FPDU: words must say that it holds Markers."""
    backs: list[int] = []
    if looked_at.known.markers is not False:
        backs = looked_at.markers_after(header)
    yield from _ends(looked_at, header, is_led=False, is_marked=bool(backs))
    # A forged Marker may lead it: then the next one tells that it is there.
    if looked_at.may_be_led(header) or -MARKER_LENGTH % MARKER_INTERVAL in backs:
        yield from _ends(looked_at, header, is_led=True)


def _good(looked_at: Candidates, header: int, ends: Iterable[tuple[int, int]]) -> Verified | None:
    """Return the first FPDU with a good CRC among those with ULPDU_Length at ``header``."""
    stretch = looked_at.stretch
    for start, end in ends:
        looked_at.allowance.left -= _COST_OF_END
        if stretch.is_captured(start, end):
            looked_at.allowance.left -= end - start
            octets = stretch.read(start, end)
            if crc_is_good(octets):
                ulpdu_length = stretch.number(header, header + HEADER_LENGTH)
                return Verified(start, end, header, ulpdu_length, octets)
    return None


def _following(looked_at: Candidates, at: int) -> Verified | None:
    """Return the verified FPDU that begins at ``at``, with a Marker or without."""
    for header in (at, at + MARKER_LENGTH):
        if header + HEADER_LENGTH <= looked_at.island.end:
            ends = _ends(looked_at, header, is_led=header != at)
            if fpdu := _good(looked_at, header, ends):
                return fpdu
    # There may be very many that none follows.
    looked_at.allowance.left -= COST_OF_FAILURE
    return None


def _damaged(looked_at: Candidates, at: int, most: int = _MOST_DAMAGED) -> list[Verified]:
    """Return the FPDUs over which lengths lead from a verified one to the next.

    So it is known how many Markers they hold, though their CRCs are bad or were cut off.

    :param most: how many there may be.
    """
    stretch = looked_at.stretch
    for header in (at, at + MARKER_LENGTH):
        is_led = header != at
        if is_led and not looked_at.may_be_led(header):
            continue
        if not head_makes_sense(stretch.read(header, header + HEAD)):
            continue
        for start, end in _ends(looked_at, header, is_led=is_led):
            if end >= looked_at.island.end or looked_at.allowance.left < 0:
                continue
            ulpdu_length = stretch.number(header, header + HEADER_LENGTH)
            ours = Verified(start, end, header, ulpdu_length, b"")
            if _following(looked_at, end):
                return [ours]
            if most > 1 and (others := _damaged(looked_at, end, most - 1)):
                return [ours, *others]
    return []


def _may_be_all(looked_at: Candidates, start: int, end: int) -> bool:
    """Tell whether the octets around an FPDU may be parts of the FPDUs before and after it, or of a
    startup frame, which holes have cut."""
    after = end + MARKER_LENGTH
    return start - looked_at.stretch.begin < FRAMING_WINDOW and (
        _may_be_cut_off(looked_at, end)
        or (
            points_alike(looked_at.stretch.number(end, after), 0)
            and _may_be_cut_off(looked_at, after)
        )
    )


def _may_be_cut_off(looked_at: Candidates, header: int) -> bool:
    """Tell whether an FPDU that is not all there may have its ULPDU_Length at ``header``."""
    head = looked_at.stretch.read(header, header + HEAD)
    if len(head) < HEAD:
        return True
    claimed = header + fpdu_length(int.from_bytes(head[:HEADER_LENGTH], "big"))
    is_whole = looked_at.stretch.is_captured(header, claimed)
    return not is_whole and head_makes_sense(head, any_stag=True)

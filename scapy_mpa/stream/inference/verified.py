# SPDX-License-Identifier: GPL-2.0-or-later
"""Find FPDUs of one island by their CRCs, at any position.

:mod:`~scapy_mpa.stream.inference.hypothesis` decides which of them to believe.
"""

from collections.abc import Iterable, Iterator

from scapy_mpa.stream.inference.candidates import Candidates
from scapy_mpa.stream.inference.phase_votes import PhaseVotes, Verified
from scapy_mpa.stream.purse import FAILURE, Search
from scapy_mpa.wire.crc import crc_is_good
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    WORD,
    fpdu_layout,
    fpdu_length,
)


def count(search: Candidates, votes: dict[int, PhaseVotes]) -> Search[bool]:
    """Let verified FPDUs vote, by alignment; return whether no more votes are needed."""
    island, known = search.island, search.known
    for header in search.headers():
        if header is None:
            yield
            continue
        before: Verified | None = None
        fpdu = _good(search, header, _searched(search, header))
        while True:
            while known.purse.slice <= 0:
                yield
            if fpdu is None or search.allowance.left < 0:
                break
            search.allowance.spend(calls=40)
            start, end = fpdu.start, fpdu.end
            tally = votes.get(start % WORD)
            if tally is None:
                tally = votes[start % WORD] = PhaseVotes(start, known.markers, known.origin)
            if not search.is_explained(start):
                if end - start > fpdu_length(fpdu.ulpdu_length):
                    search.allowance.spend(calls=5 * tally.hypotheses)
                tally.take(fpdu)
            is_alone = island.fills_segments(start, end) and not known.unasked
            if before is not None or known.carries_fpdus or is_alone:
                tally.is_believed = True
            if tally.is_settled:
                return True
            if search.is_explained(start):
                break
            search.explain(start, end)
            before, fpdu = fpdu, _following(search, end)
    return False


def _ends(
    search: Candidates, header: int, *, is_led: bool, is_marked: bool = True
) -> Iterator[tuple[int, int]]:
    """Yield the possible starts and ends of an FPDU with its ULPDU_Length at ``header``.

    The CRC depends on the number of Markers, not on their positions.  By their positions, two
    numbers are possible.

    :param is_led: whether the FPDU begins with a Marker.
    :param is_marked: whether it may hold other Markers.
    """
    markers, origin = search.known.markers, search.known.origin
    ulpdu_length = search.stretch.number(header, header + HEADER_LENGTH)
    start = header - MARKER_LENGTH if is_led else header
    phase = None if origin is None else (start - origin) % MARKER_INTERVAL
    if is_led:
        if markers is not False and phase in (None, 0) and start >= search.stretch.begin:
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
        for number in range(max(1, most - 1), most + 1):
            yield start, start + least + MARKER_LENGTH * number


def _searched(search: Candidates, header: int) -> Iterator[tuple[int, int]]:
    """Yield the same if no length leads to the FPDU.  Then words must show its Markers."""
    backs: list[int] = []
    if search.known.markers is not False:
        backs = search.markers_after(header)
    yield from _ends(search, header, is_led=False, is_marked=bool(backs))
    # The FPDU may begin with a forged Marker.  Then the next Marker shows that.
    if search.may_be_led(header) or -MARKER_LENGTH % MARKER_INTERVAL in backs:
        yield from _ends(search, header, is_led=True)


def _good(search: Candidates, header: int, ends: Iterable[tuple[int, int]]) -> Verified | None:
    """Return the FPDU with its ULPDU_Length at ``header`` and the first end with a good CRC."""
    stretch = search.stretch
    for start, end in ends:
        search.allowance.spend(calls=5)
        if stretch.is_captured(start, end):
            search.allowance.spend(end - start)
            octets = stretch.read(start, end)
            if crc_is_good(octets):
                ulpdu_length = stretch.number(header, header + HEADER_LENGTH)
                return Verified(start, end, header, ulpdu_length, octets)
    return None


def _following(search: Candidates, at: int) -> Verified | None:
    """Return the verified FPDU at ``at``, whether it begins with a Marker or not."""
    for header in (at, at + MARKER_LENGTH):
        if header + HEADER_LENGTH <= search.island.end:
            ends = _ends(search, header, is_led=header != at)
            if fpdu := _good(search, header, ends):
                return fpdu
    # Very many FPDUs may be followed by none.
    search.allowance.spend(calls=FAILURE)
    return None

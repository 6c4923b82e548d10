# SPDX-License-Identifier: GPL-2.0-or-later
"""Evidence if startup frames are missing: good CRCs outweigh headers, all FPDUs outweigh some.

Of connections without iWARP only their end is reported.  FPDUs need a Request in one direction and
a Reply in the other (RFC 5044 7.1.2).  If no octets are missing that may be startup frames, octets
without good CRCs are no FPDUs.  Otherwise, headers that make sense are not enough: one must
continue another.
"""

import itertools
import random
from typing import Any

import pytest

from scapy_mpa.stream.events import ConnectionEnded, GapFound
from tests.stream.feed import fpdus, stream
from tests.stream.rows import check
from tests.stream.talk import Talk
from tests.truth import messages
from tests.truth.mpastream import build_stream

MARKERS = {"markers": True}
UNMARKED = {"crc": False, "markers": True, "size": 700}
"""Options of :class:`tests.stream.rows.Row`."""

ROWS: list[tuple[str, str, dict[str, Any]]] = [
    # -- only the Request was captured.  A bad FPDU without Marker does not show where Markers are.
    *(
        (f"{first} s200 s3000 s2000 s1500", "", {"startup": "Q", "size": 700, **MARKERS})
        for first in ("s300! s100", "s300 s100!")
    ),
    # The Reply says that there are Markers, but no captured FPDU shows where.  The FPDU after the
    # whole FPDU lacks its end, and its length is unknown.
    ("s60- s60 s60-30: s60 s60-", "", {"startup": "A", "size": 0, **MARKERS}),
    # More holes than are kept: islands are not given up before their octets were searched.
    ("s40*3 s40- " * 100, "", {"startup": "Q", "size": 0, "acknowledged": True}),
    # -- the first FPDU has zero length.  It may be the RTR indication (RFC 6581 9.2), and has no
    # header by which it is found.  The Markers of the other FPDUs show where all Markers are.
    *(
        (f"e {others}", "", {"startup": startup, "markers": "s1400" in others, "size": 0})
        for startup in ("Q", "A", "", None)
        for others in ("s30", "s30*3", "s1400", "s1400*3")
    ),
    # -- some FPDUs were cut off, and their lengths lead to the next.
    *(
        (words, " ".join("g?"["/" in each] for each in words.split()), {"size": 0})
        for words in (
            *("s40/58*7 s40 s40/58*12", "s40/58*3 s40 s40/58*8 s40 s40/58*7"),
            *("s40/58*3 s40 s40/58*5 s40 s40/58*5 s40 s40/58*4", "s40 s40/58*19", "s40/58*19 s40"),
            *("s40/58*150 s40 s40/58*249", "s40/58*150 s40 s40/58*19 s40 s40/58*229"),
        )
    ),
    # Cut-off FPDUs do not show whether CRCs are on.
    ("s600/200*8", "", {"size": 0}),
    # If it is unknown whether there are Markers, no cut-off FPDU is reported to have none.
    ("s27/34 s1", "? g", {"size": 0, **MARKERS}),
    # -- CRCs outweigh a row of headers in a payload (RFC 5044 4.4)
    *(
        ("h40000-:5000 s80 s90 s100 h40000 s5 s700", "", {"size": size})
        for size in (900, 1460, 9000)
    ),
    # Octets that repeat from one Marker to the next cost little to search.
    ("h63900- h63900-:14000 h63900*2", "", {"size": 3_000, **MARKERS}),
    # -- bad FPDUs, and Markers at unknown places.
    # The only Marker points to a place to which a length leads.  With that Marker, the next length
    # leads to a good FPDU.
    ("s60!-:20 s60*4 s300! s60*3", ". g b g", {"startup": "A", **MARKERS}),
    # The length leads to the start of a hole, 4 octets too early.  The FPDU is not bad for that.
    *((f"s60- s60*3 s30*2 s60-{begin}:", "", {"size": 40, **MARKERS}) for begin in range(84, 88)),
    # The second Marker of an FPDU shows where the first Marker is (RFC 5044 4.3).
    ("s3000p500c*4", "", MARKERS),
    # A length that is wrong by 4, under a good CRC, hides one Marker.  All others still count.
    ("s8 s52*5 s52=74c s52*6 s182*30", "", {"size": 0, **MARKERS}),
    # -- without CRCs.  FPDUs of 512 octets: each Marker stands before ULPDU_Length and is zero.
    ("s482-:300 s482*19", "", UNMARKED),
    # Unused CRC fields are zero, like such Markers.  They come every 512 octets if FPDUs add up to
    # that.  The true Markers are above 0.  A few FPDUs before them may look like chance.
    *(
        (f"s{first}-:8 {sizes} {f'{sizes} ' * 19}", f". {'? ' * few}{'g ' * (19 * few)}", UNMARKED)
        for first in (34, 150)
        for sizes, few in (("s482", 1), ("s232 s228", 2), ("s148 s144 s144", 3))
    ),
    # Most FPDUs hold no Marker.  Read without Markers, a row of FPDUs ends at the first Marker.
    ("s50 s90 s33 " * 20, "? " * 8 + "g " * 52, UNMARKED),
    # Every other Marker is forged.  No row has two Markers that agree, but all rows together have.
    ("s34-:8 s482 " + "s482p4 s482 " * 9, "", UNMARKED),
    # Markers in the octets that a wrong length claims point to FPDUs, so they are Markers.
    *((f"s30- s30*3 s30=>{end}c s30*75", ". g ? g", UNMARKED) for end in (32, 40, 55)),
]
"""Words and expected reports of :func:`tests.stream.rows.check`, and options."""


@pytest.mark.parametrize(("words", "expected", "options"), ROWS, ids=[row[0][:50] for row in ROWS])
def test_rows(words: str, expected: str, options: dict[str, Any]) -> None:
    """All FPDUs are found, with the right number of Markers, and no false FPDU."""
    check(words, expected, **{"startup": None, "acknowledged": False, **options})


HTTP = b"GET / HTTP/1.1\r\nHost: example\r\n"


@pytest.mark.parametrize("tails", [[HTTP], [b"", HTTP], [HTTP, b""]])
def test_fpdus_alone_between_other_octets(tails: list[bytes]) -> None:
    """No FPDU is believed if octets after one of them belong to no FPDU."""
    talk = Talk(syn=False)
    for octets in tails:
        talk.miss(0, b"what is not known")
        talk.say(0, stream([200], markers=False)[0] + octets, size=40)
    assert fpdus(talk.fed()) == []


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("aligned", [False, True])
def test_without_crcs_segments_show_that_a_row_is_no_payload(aligned: bool, markers: bool) -> None:
    """If FPDUs begin where segments begin, they are reported soon, otherwise at the end."""
    octets, truth = stream([300] * 40, markers=markers, crc=False)
    talk = Talk(syn=False)
    for each in truth:
        begin, end = (max(0, at - 20 * (not aligned)) for at in (each.start, each.end))
        talk.say(0, octets[begin:end])
    found = fpdus(talk.fed(), 0)
    assert len(found) == len(truth) - (not aligned)
    assert (found[0].frame < len(truth) / 2) is aligned


# -- connections without iWARP ---------------------------------------------------------------------


SITUATIONS: dict[str, tuple[bool, tuple[int, ...], bytes | None, bool]] = {
    # Both directions are whole, without a startup frame.
    "the peer sends nothing": (True, (), b"", False),
    "the peer sends text": (True, (), b"220 ready\r\n", False),
    "the peer sends the same": (True, (), None, False),
    # The peer's direction was captured whole, so the missing octets are no startup frame.
    "octets before the FPDUs are missing": (True, (0,), b"USER anonymous\r\n", False),
    # The capture may lack the startup frames.
    "the SYNs are missing": (False, (), b"", True),
    "startup frames are missing": (True, (0, 1), b"", True),
    "the peer is missing": (True, (0, 1), b"", True),
}
"""Whether the SYNs were captured; which sides first sent 20 octets that were not captured, where 0
is the sender of the FPDUs; the peer's octets, None if the same; and whether FPDUs are found."""


@pytest.mark.parametrize("situation", SITUATIONS)
def test_no_startup_frames(situation: str) -> None:
    """Without CRCs, FPDUs are found only if startup frames may be missing."""
    syn, missed, answer, is_mpa = SITUATIONS[situation]
    for markers, direction, size in itertools.product((False, True), (0, 1), (100, 1460, 9000)):
        octets, truth = stream(list(range(20, 300, 7)), markers=markers, crc=False)
        talk = Talk(syn=syn)
        for each in missed:
            talk.miss(each ^ direction, bytes(20))
        if answer != b"":
            talk.say(1 - direction, answer or octets, size=size)
        talk.say(direction, octets, size=size)
        talk.close()
        if situation == "the peer is missing":
            talk.segments = [each for each in talk.segments if each.direction == direction]
        events = talk.fed()
        found = [each.ulpdu for each in fpdus(events)]
        assert found == [each.ulpdu for each in truth if is_mpa]
        assert is_mpa or {type(each) for each in events} <= {ConnectionEnded, GapFound}
        assert missed or is_mpa or GapFound not in {type(each) for each in events}


def written(to: list[int], stag: int = 7) -> list[bytes]:
    """RDMA Writes of one segment each, at these offsets."""
    rng = random.Random(400)
    return [messages.write(stag, each, rng.randbytes(400))[0] for each in to]


CONTINUED: dict[str, tuple[list[bytes], bool]] = {
    "MSNs continue": ([messages.send(msn, bytes([msn]) * 300)[0] for msn in range(1, 20)], True),
    "MOs continue": (messages.send(5, random.Random(5).randbytes(9000), 600), True),
    "TOs continue": (written([at * 400 for at in range(20)]), True),
    "TOs continue within messages": (
        [each for at in range(9) for each in messages.write(at + 1, at << 40, bytes(1500), 600)],
        True,
    ),
    "TOs are far apart": (written([at * 100_003 for at in range(40)]), False),
    "TOs are equal": (written([4096] * 40), False),
    "TOs grow by one": (written(list(range(40))), False),
    "TOs grow by one, and two payloads have one octet": (
        [messages.write(7, at, bytes(at * 29 % 40))[0] for at in range(80)],
        False,
    ),
    "most TOs continue": (written([at * 400 for at in range(60) if at % 4]), True),
    "STags differ": ([written([0], stag=at)[0] for at in range(40)], False),
    "MSNs are equal": ([messages.send(1, bytes([at]) * 300)[0] for at in range(40)], False),
}
"""ULPDUs, and whether enough of them continue another one."""


@pytest.mark.parametrize("size", [90, 536, 1460, 21_888])
@pytest.mark.parametrize("row", CONTINUED)
def test_headers_that_continue(row: str, size: int) -> None:
    """Without beginning, CRCs and Markers, one header must continue another (RFC 5041 5)."""
    ulpdus, goes_on = CONTINUED[row]
    # With good CRCs, headers need not continue others.
    for crc in (False, True):
        octets, truth = build_stream(ulpdus, crc=crc)
        talk = Talk(syn=False)
        talk.say(0, octets, size=size)
        found = [each.ulpdu for each in fpdus(talk.closed())]
        assert found == [each.ulpdu for each in truth if goes_on or crc]

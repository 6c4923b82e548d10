# SPDX-License-Identifier: GPL-2.0-or-later
"""Evidence if startup frames are missing: good CRCs outweigh headers, all FPDUs outweigh some."""

from __future__ import annotations

from typing import Any

import pytest

from tests.stream.cut import stream
from tests.stream.feed import fpdus
from tests.stream.rows import check
from tests.stream.talk import Talk

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
        (f"e {others}", "", {"startup": startup, "markers": markers, "size": 0})
        for startup in ("Q", "A", "", None)
        for others, markers in (
            ("s30", False),
            ("s30*3", False),
            ("s1400", True),
            ("s1400*3", True),
        )
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

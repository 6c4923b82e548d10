# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs in a row, some damaged, missing or cut off (RFC 5044 4.3, 6, 8): tables.

The words are those of :mod:`tests.stream.rows`.
"""

import random
from itertools import product
from typing import Any

import pytest

from tests import effort
from tests.stream.rows import Row, check

KINDS = {"quick": 1, "usual": 2}
LENGTHS = (0, 18, 48, 64, 136, 700, 1000, 65_535)

DAMAGED = {
    # -- a bad CRC costs only that FPDU (6, 8 code 2)
    "s700! s700*11": "",
    "s700*11 s700!": "",
    "s700*4 s700^ s700*7": "",
    "s700~*2 s700*10": "",
    "s700~*11 s700": "",
    "s68 s60000!*2 s68*3": "",
    "s68 h60000! s68*3": "",
    # -- many in a row, whether their messages go on or not
    **{
        f"{kind}{size}*10 {kind}{size}!*{bad} {kind}{size}*{after}": ""
        for size in (100, 1400)
        for kind, bad, after in (("s", 13, 10), ("s", 20, 1), ("w", 10, 10))
    },
    "s100*5 s100!*300 s100*5": "",
    # -- if all others are bad, the first FPDU is certain
    "s700*10 s700~*2": "g ?",
    "s700~*12": "?",
    # -- a good FPDU between others with damaged headers
    "s700! s700^ s700 s700^*2 s700*7": "? ? g ? g",
    "s700*2 s700=99 s700^ s700 s700^ s700=2054 s700*5": "g ? ? g ? ? g",
    "s300*3 s300=31206c s300 s300^*2 s300*4": "g b g ? g",
    **{
        f"s200*3 s200=49999^ s200=7^ s200*{several} s200=999^ s200=51000^ s200*6": "g ? ? g ? ? g"
        for several in (2, 3)
    },
    # -- an FPDU with a wrong length is reported with that length, without FPDUs in its payload
    **{
        f"{kind}*2 {kind}={bad}{sender} {kind}*5": ""
        for kind in ("z64", "h64", "h480")
        for bad in LENGTHS
        for sender in ("", "c")
    },
    # Lengths that are wrong only within the pad do not come from a sender.
    **{f"s682={bad} s682*11": "" for bad in (696, 699, 704)},
    **{f"s682*4 s682={bad}c s682*7": "" for bad in (696, 704)},
    **{f"s682*10 s682={bad}c s682": "" for bad in (696, 704)},
    "w90*4 w0=57596 w90*7": "",
    # -- its wrong length leads to the start of an FPDU
    "s700*3 s700=>5c s700*26": "",
    "s300*3 s300=>20 s300*5 s300! s300*20": "",
    "s40*3 s40=>11c s40*3 s40=30000 s40*22": "",
    "s40*3 s40=>7 s40*3 s40! s40*22": "",
    # -- many wrong lengths
    "w8*10 w8=26 w8*10 w8=62c w8*10 w8=14 w8*10 w8=30c w8*300": "",
    "w8*3 w8=9000 w8*3 w8=26c w8*3 w8=65535 w8*3 w8=700c w8*300": "",
    "s1400*3 s30=40000c s200*3 s30! s1400*2 s200=65535c s30*40": "",
    # -- FPDUs in its payload
    **{f"s300*3 i800={bad}{sender} s300*8": "" for bad in (0, 700, 65_535) for sender in ("", "c")},
    "j504*3 j504=60000c j504*4": "",
    "j504*3 j504! j504*4": "",
    **{f"s300*3 i800-:{end} s300*7": "" for end in (24, 200, 500)},
    # If an FPDU ends in a hole, or where a good FPDU begins after the hole, its length is right.
    "s300*5 j1028-300:400 s300*33": "",
    "s300*5 j1028-300: s300-:40 s300*32": "",
    # Lengths lead from FPDU to FPDU, and on to octets that look like one.  But the CRC of the FPDU
    # with the wrong length fits only where that FPDU ends.
    **{
        f"s900*3 j{size}={bad} s900*16 j{size}={bad}c j{size} s900*38 j{size}={bad} s900*38": ""
        for size, bad in ((340, 0), (356, 60), (372, 700), (340, 65_535), (372, 0), (356, 700))
    },
    # -- each word of the payload may be the start of an FPDU, so there are thousands of candidates,
    # also directly after a hole
    **{
        f"h{size}={bad} {before}h{size}-{hole}:{hole + 100} h{size}*3": ""
        for size, bad, before, hole in (
            *((8_996, 18, "", 100), (19_996, 20_000, "", 100), (8_996, 18, "h90 ", 4_000)),
            *((8_996, 65_535, "h90 ", 4_000), (19_996, 20_000, "h90 ", 4_000)),
        )
    },
    # -- a header that makes no sense, a ULPDU without header, or an empty one
    "s100*2 v50*3 s100*4": "",
    "s100*2 n1 n13 n9000 s100*4": "",
    "e*2 s100 e*9 s100 e! s100*4": "",
}


OPEN = {
    # -- FPDUs after an open hole are found by their Markers, before the wrong length is captured
    **{f"s400*3 s400={bad}+22:122 s400*7": "" for bad in (3000, 65_535)},
    "z1480*20 z1480=4500+ z1480*18": "",
    # -- FPDUs of zero length are found when the hole before them is closed, or captured late
    **{
        f"s{size}- e{late}*{zeros} s{size}*4": ""
        for size in range(300, 800, 20)
        for zeros in (1, 2, 5)
        for late in ("", "+")
    },
}

FORGED = {
    # -- a wrong Marker: the FPDU is good if its sender's CRC covers that (8 code 3)
    **{
        f"s1382*4 s1382p{value}{marker}c s1382*7": "g g g"
        for value in (0, 4, 500, 65_532)
        for marker in ("", ".1")
    },
    "s1382*4 s1382p8 s1382*7": "",
}

HOLES = {
    # -- octets that were never captured cost their FPDUs, and are one gap (6)
    "s600-:1 s600*39": "",
    "s600-:512 s600*39": "",
    "s600- s600*39": "",
    "s600*11 s600-100:200 s600*28": "",
    "s600*11 s600-100: s600-*2 s600-:50 s600*25": "",
    "s600*38 s600-20: s600-": "",
    "s600*5 s600-10:20 s600*10 s600-500: s600*10 s600-*3 s600*10": "",
    # -- a late copy fills them, whatever was acknowledged since then
    "s600*11 s600+ s600*28": "",
    "s600 s600+ s600*2 s600+*2 s600 s600+ s600*90 s600+ s600*2": "",
    "s600*5 s600-10:20 s600*5 s600+ s600*5 s600- s600*20": "",
    # -- a part of a header contradicts nothing
    **{f"s100*9 s100-{begin}:{begin + 40} s100*30": "" for begin in (1, 2, 3, 8, 14, 20, 27, 31)},
    # -- long FPDUs
    "s60000-:1460 s60000*3": "",
}

BETWEEN = {
    # -- a good CRC is enough for FPDUs between two holes (6)
    f"s100*2 {around.format(each)} s100*4": ""
    for around in (
        "s100- {} s100-",
        "s100-:94 {} s100-40:",
        "s100- {0} {0} {0} s100-:100",
        "s332-:340 {0} {0} s472-20:",
        "s640- s640-:50 {}",
    )
    for each in ("e", "s100", "w0")
}

CUT_OFF = {
    # -- frames hold only the beginning of an FPDU: it is reported with that part
    **{f"s1400/{snap}*10": "" for snap in (60, 500, 1000)},
    "s1400/200 s20 s1400/200 s30 s1400/200 s10": "",
    "s40*2 s400/100 s40*2 s400/30 s40*4": "",
    # A copy does not restore what was cut off.  The FPDU is reported at once.
    "s600 s600/100= s600*4": "",
}

HEADERS_CUT_OFF = {
    # -- if its header was cut off, the FPDU is a gap
    **{f"s1400/{snap}*10": "." for snap in (1, 2, 10, 15)},
    **{f"s40*{before} s40/{snap}": "g ." for before in (1, 3) for snap in (0, 2, 14)},
    "s700 s700/0 s700*2": "g . g",
}

WITHOUT_CRCS = {
    # -- an FPDU with a wrong length is reported with it, and FPDUs that it does not claim are found
    **{
        f"{kind}600*5 {kind}600={bad} {kind}600*34": ""
        for kind in "sz"
        for bad in (18, 300, 580, 634)
    },
    "s600*5 s600=6000 s600*9 s600*25": "g b ? g",
    "z600*5 z600=30000 z600*48 z600*25": "g b ? g",
    # Headers in a row outweigh a length that claims them all.
    "s600*5 s600=65535 s600*34": "",
    "z600*5 z600=65535 z600*34": "",
    # A row between two wrong lengths.
    "s900*3 s30*2 s70=18 s6 s7 s8 s50=18 s900*3": "",
    # -- an FPDU whose header makes no sense is reported, since its length leads to the next
    "v40 s40*11": "",
    "s40*5 v40 s40*2 v40 s40*3": "",
    "s40*11 v40": "",
    # -- the first FPDU may have zero length (RFC 6581 9.2)
    "e s600*5": "",
}


TABLES: list[tuple[dict[str, str], list[dict[str, Any]]]] = [
    (DAMAGED, [{}]),
    # The length leads into the payload of the next FPDU, to octets that look like an FPDU.  No FPDU
    # reaches into a good FPDU.  That is recognised if all of the good FPDU is there.
    ({"s300*2 s300=338 j1680 s300*3": ""}, [{"size": 65_000, "markers": False}]),
    # The order of capture does not matter.
    (OPEN, [{"markers": True, "acknowledged": False}]),
    (FORGED, [{"markers": True}, {"markers": True, "crc": False}]),
    # A Marker in its payload points to the FPDU with a wrong length after the hole.  Without CRCs
    # that is not enough (4.3).
    ({"s600*3 s600- h2000=30 s600*9": "g . ? g"}, [{"markers": True, "crc": False}]),
    (HOLES, [{}, {"crc": False}]),
    (BETWEEN, [{}]),
    (CUT_OFF, [{"size": 0}, {"size": 0, "crc": False}]),
    (HEADERS_CUT_OFF, [{"size": 0}]),
    # Only lengths and headers that lead to the next are evidence (6).
    (WITHOUT_CRCS, [{"crc": False}]),
    # Numbers wrap in the Request, where FPDUs begin, in a Marker, in a header (4.3).
    (
        {"s700*3 s700+ s700-20:30 s700*8": ""},
        [{"wrap": wrap} for wrap in (-20, -7, -1, 0, 1, 2, 511, 512, 513, 5000)],
    ),
]
"""Rows, the expected reports, and options of :class:`tests.stream.rows.Row`."""
ROWS = [(words, expected, ways) for rows, ways in TABLES for words, expected in rows.items()]


@pytest.mark.parametrize(("words", "expected", "ways"), ROWS, ids=[row[0][:60] for row in ROWS])
def test_rows(words: str, expected: str, ways: list[dict[str, Any]]) -> None:
    """All other FPDUs are found and good, each once.  Damaged ones are reported with their values.
    Each hole is a gap.

    Each way is checked with Markers and without, in segments of several sizes: usually the first
    two kinds.
    """
    kinds = [(False, 1460), (True, 97), (True, 1460), (False, 97), (True, 65_000), (False, 65_000)]
    pairs = product(ways, kinds[: KINDS.get(effort.chosen)])
    merged = [{"markers": markers, "size": size, **way} for way, (markers, size) in pairs]
    for at, options in enumerate(merged):
        if options not in merged[:at]:
            check(words, expected, **options)


def many_wrong_lengths(seed: int) -> tuple[str, str]:
    """Words with many wrong lengths, and the expected reports."""
    rng = random.Random(seed)
    words = [f"s{rng.choice((30, 200, 1400))}" for _ in range(179)]
    for at in range(3, 178):
        if rng.random() < 0.2:
            words[at] += f"={rng.randrange(1 << 16)}c" if rng.random() < 0.6 else "!"
    return " ".join(words), " ".join("g?"[each[-1] in "c!"] for each in words)


def many_garbled_headers(seed: int) -> tuple[str, str]:
    """The same with lengths and headers that are garbled on the way."""
    rng = random.Random(seed)
    words = [f"s{rng.randrange(60, 400)}" for _ in range(2000)]
    at = 0
    while (at := at + rng.randrange(3, 40)) < len(words) - 1:
        words[at] += f"={rng.randrange(1 << 16)}^"
    return " ".join(words), " ".join("g?"["^" in each] for each in words)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # Some claim 64 KiB, and may truly end where any FPDU in these octets ends.  A check of all
        # these places leaves enough allowance for the next search.
        *map(many_wrong_lengths, range(6)),
        # A search of all octets that these lengths claim costs too much.
        *map(many_garbled_headers, range(2)),
        # The octets that this length claims are full of words that read as headers.
        ("h400*2 h400=65000^ h400*300", "g ? g"),
        # Good FPDUs in the payload are not good FPDUs of the stream.
        ("s200 i700=60000 s200*8", "g ? g"),
        # Lengths lead from garbled headers over rows that break.
        ("s6*10 s6! s6=>1000^ s6*488 s6=65535 s6*199 s6! s6*498", "g ? ? g ? g ? g"),
    ],
)
def test_wrong_lengths_hide_no_good_fpdus(words: str, expected: str) -> None:
    """All good FPDUs are found, however many damaged ones were skipped."""
    for markers in (False, True):
        Row(words, markers=markers).check_fpdus(expected)

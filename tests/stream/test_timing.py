# SPDX-License-Identifier: GPL-2.0-or-later
"""The beginning of a connection, and its stalls.

The words are those of :mod:`tests.stream.scene`, each with the time of its capture in milliseconds.
``f`` is an FPDU of 24 octets.
"""

from __future__ import annotations

import pytest

from scapy_mpa.stream.segment import Segment
from tests.stream.scene import Octets, Scene
from tests.stream.startup import both_ways
from tests.truth import messages
from tests.truth.mpastream import build_stream

MS = 1_000_000
LETTERS: dict[str, Octets] = {"f": build_stream(messages.send(1, b""))}


def segments_of(words: str) -> list[Segment]:
    """The segments of a connection in words."""
    return Scene(f"... {words}", LETTERS).captured()


BEGUN = "5>N 6<N 8> 20>Q 21< 70<A 71> "
"""A handshake that takes 3 milliseconds, and a startup that takes 50, in seven frames."""
NO_STALL = (0, 0, None, "")

STALLS = {
    "all in time": ("80>f 90< 100<f 110>", NO_STALL),
    "nothing is outstanding": ("80>f 90< 900<f 901> 2000>f 2001<", NO_STALL),
    "just in time": ("80>f 279<", NO_STALL),
    "an acknowledgement is late": ("80>f 280<", (1, 200, 9, ">")),
    "a FIN is late": ("80>f 400>F 401<F 402>", (1, 320, 9, ">")),
    "the last acknowledgement is late": ("80>F 81<F 500>", (1, 419, 10, "<")),
    "copies are no progress": ("80>f 180>f= 279>f= 301<", (1, 221, 11, ">")),
    "repeated acknowledgements are no progress": ("80>f 90<! 180<! 290<", (1, 210, 11, ">")),
    "new octets are progress": ("80>f 179>f 278>f 377<", NO_STALL),
    "octets that fill a hole are progress": ("80>-f 90>f 390>f=@-24 391<", (1, 300, 9, ">")),
    "the longest of three counts": ("80>f 300< 301>f 701< 702<f 1000>", (3, 400, 11, ">")),
    "octets of the Responder wait": ("80>f 81<f 300>", (1, 219, 10, "<")),
    "a stall lasts to the end": ("80>f 280>f= 680>f=", (1, 600, None, ">")),
    "a RST is no progress": ("80>f 480<X", (1, 400, None, ">")),
    "a late copy is no part of a stall": ("80>f 90< 500>f= 501<", NO_STALL),
}


def sides(senders: str) -> int:
    """The bit mask of senders: 1 is the Initiator, 2 the Responder."""
    return sum(1 << "><".index(sender) for sender in senders)


@pytest.mark.parametrize("name", STALLS)
def test_stalls(name: str) -> None:
    """Stalls are counted.  The longest has its time, its last frame, and whose octets waited."""
    words, (count, longest, frame, senders) = STALLS[name]
    segments = segments_of(BEGUN + words)
    found = both_ways(segments)
    assert found.timing == (1, 5 * MS, 3 * MS, 50 * MS, count, longest * MS, frame, sides(senders))
    assert found.time_ns == segments[-1].time_ns


BEGINNINGS = {
    "the Request ends the handshake": ("5>N 6<N 20>Q 30<A", (15, 10)),
    "the SYN is lost once": ("5>N 1005>N 1006<N 1008> 1010>Q 1020<A", (1003, 10)),
    "the SYN,ACK is not captured": ("5>N 8> 20>Q 30<A", (3, 10)),
    "the SYN is not captured": ("20>Q 30<A 31> 40>f 41<", (None, 10)),
    "the Request is not captured": ("30<A 31> 40>f 41<", (None, None)),
    "nobody answers": ("5>N 6<N 8> 20>Q 21<", (3, None)),
    "the Request comes twice": ("5>N 6<N 8> 20>Q 300>Q= 310<A", (3, 290)),
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_beginnings(name: str) -> None:
    """The times of handshake and startup, None if these were not captured, also before 1970."""
    words, took = BEGINNINGS[name]
    expected = tuple(None if each is None else each * MS for each in took)
    for begin_ns in (0, -(10**18)):
        segments = [each._replace(time_ns=each.time_ns + begin_ns) for each in segments_of(words)]
        timing = both_ways(segments).timing
        assert (timing.handshake_ns, timing.startup_ns) == expected


def test_acknowledgements_not_captured() -> None:
    """With one direction alone it is unknown which octets are outstanding."""
    segments = [each for each in segments_of("20>Q 30<A 40>f 500>f 900>f") if each.frame != 2]
    assert both_ways(segments).timing.stalls == 0

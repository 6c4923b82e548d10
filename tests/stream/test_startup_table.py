# SPDX-License-Identifier: GPL-2.0-or-later
"""What is reported of a startup, whatever was sent in which order (RFC 5044 7.1.2): a table.

A situation is told in the words of :mod:`tests.stream.scene`.  What is to be reported is written
alike: a startup frame or FPDU by its letter, and an error as the clauses that it names.
"""

from __future__ import annotations

import random
import re

import pytest

from scapy_mpa.stream.events import ConnectionEnded, ErrorFound, Event, FPDURecovered, StartupSeen
from scapy_mpa.stream.limits import Limits
from tests.straight.ways import recovery, straight
from tests.stream.scene import Scene
from tests.truth import pcapfile
from tests.truth.impair import FIN, RST

SITUATIONS = {
    # -- as it is meant to be
    ">Q <A >f <f >F <F": ">Q <A >f <f",
    "<Q >A <f >f >F <F": "<Q >A <f >f",
    ">w <w >Q <A >f <f >F <F": ">Q <A >f <f",
    ">Q <R >F <F": ">Q <R rejected",
    ">Q <R >w <w >Q <A >f <f >F <F": ">Q <R >Q <A >f <f",
    ">Q <R >Q <R >Q <A >f <f >F <F": ">Q <R >Q <R >Q <A >f <f",
    ">Q <R <Q >A <f >f >F <F": ">Q <R <Q >A <f >f",
    # -- FPDUs before the Request (rule 1)
    ">f >f >Q <A >f <f >F <F": ">f >f >Q [rule 1] <A >f <f",
    ">ff >Q <R >F <F": ">f >f >Q [rule 1] <R rejected",
    ">f >f >A >f >f >F <F": ">f >f >A [rule 2] [rule 1] >f >f",
    ">f >f <f >F <F": ">f >f <f [rule 1]",
    # -- what answers the Request is no Reply (rules 3, 5)
    ">Q <f >F <F": ">Q <f [rules 3, 5]",
    ">Q <t <X": ">Q <f [rules 3, 5]",
    ">Q <f <f <A >f >F <F": ">Q <f <f <A [rules 3, 5] >f",
    ">Q <w >F <F": ">Q [rules 3, 5]",
    ">Q <f >f <f >F <F": ">Q <f >f <f [rules 3, 5]",
    ">w <w >Q <w >f >f >F <F": ">Q >f >f [rules 3, 5]",
    ">w <w >Q <f <f >F <F": ">Q <f <f [rules 3, 5]",
    # -- nobody answers it
    ">Q <F >F": ">Q [rule 3]",
    ">Q <X": ">Q [rule 3]",
    ">Q": ">Q",
    ">Q >f >F <F": ">Q >f [rules 3, 9]",
    # -- the Initiator does not wait for the Reply (rule 3)
    ">Q >!f <A >f <f >F <F": ">Q <A [rule 3] >f >f <f",
    ">Q >!f >!f <R >F <F": ">Q <R [rule 3] >f >f rejected",
    ">Q >!w <R >F <F": ">Q <R rejected",
    # -- FPDUs after a Reply that rejects (rules 2, 3)
    ">Q <R >f >f >F <F": ">Q <R [rules 2, 3] >f >f rejected",
    ">Q <R <f <f >F <F": ">Q <R [rules 2, 3] <f <f rejected",
    ">Q <R >f <f >F <F": ">Q <R [rules 2, 3] >f [rules 2, 3] <f rejected",
    ">Q <R >T >F <F": ">Q <R >T [rtr 2] rejected",
    ">Q <R >T >f >F <F": ">Q <R >T [rtr 2] [rules 2, 3] >f rejected",
    ">Q <R >f >f >Q <A >f <f >F <F": ">Q <R [rules 2, 3] >f >f >Q <A >f <f",
    ">Q <R >ffQ <A >f <f >F <F": ">Q <R [rules 2, 3] >f >f >Q <A >f <f",
    ">Q <R <f >Q <A >f <f >F <F": ">Q <R [rules 2, 3] <f >Q <A >f <f",
    # -- a startup frame too many
    ">Q <R <A >f >F <F": ">Q <R <A [rule 2] [rules 2, 3] >f rejected",
    ">Q <A <A >f <f >F <F": ">Q <A <A [rule 2] >f <f",
    ">Q <A >f <A <f >F <F": ">Q <A >f <A [rule 2] <f",
    ">Q >Q <A >f <f >F <F": ">Q >Q [rule 3] <A >f <f",
    ">Q <A >Q >f <f >F <F": ">Q <A >Q [rules 2, 3] >f <f",
    ">Q <Q >F <F": ">Q <Q [rule 8]",
    ">A <A >F <F": ">A [rule 2] <A [rule 8]",
    ">w <A >F <F": "<A [rule 2]",
    ">T <A >F <F": ">T [rtr 2] <A [rule 2]",
    ">Q <A >T >f <f >F <F": ">Q <A >T [rtr 2] >f <f",
    # -- the Responder speaks before it has an FPDU (rule 4)
    ">Q <A <f >f >F <F": ">Q <A <f [rule 4] >f",
    ">Q <A >( <f >) >F <F": ">Q <A <f [rule 4] >f",
    ">Q <A >b <f >F <F": ">Q <A >b [8] <f [rule 4]",
    ">Q <A >b >f <f >F <F": ">Q <A >b [8] >f <f",
    # -- the connection ends within a startup frame (rule 10)
    ">q >X": "",
    ">Q <a <X": ">Q [rule 10]",
    ">Q <a <F >F": ">Q [rule 10]",
}


def reported(events: list[Event]) -> str:
    """What was reported, in the words of the table."""
    words = []
    for event in events:
        side = "><"[event.direction]
        if isinstance(event, StartupSeen):
            kind = {"request": "Q", "rtr": "T"}.get(event.startup.kind.value, "A")
            words.append(side + ("R" if event.startup.rejects else kind))
        elif isinstance(event, FPDURecovered):
            words.append(side + ("f" if event.crc == "good" else "b"))
        elif isinstance(event, ErrorFound):
            words.append(clause_of(event.text))
        elif isinstance(event, ConnectionEnded) and event.rejected:
            words.append("rejected")
    return " ".join(words)


def clause_of(text: str) -> str:
    """What an error cites."""
    (clause,) = re.findall(
        r"\((?:RFC 5044 (?:7\.1\.2 )?|(rtr)-frame-proposal-2007 )([^)]*)\)", text
    )
    named = " ".join(each for each in clause if each)
    return f"[{'8' if named == '4.4' else named}]"


def sorted_words(words: str) -> list[str]:
    """The same in an order that does not depend on when an error is known."""
    return sorted(re.findall(r"\[[^]]*\]|\S+", words))


@pytest.mark.parametrize(("situation", "wanted"), SITUATIONS.items())
def test_situation(situation: str, wanted: str) -> None:
    """All startup frames and good FPDUs, each broken rule, and whether it stays rejected."""
    seed = random.randrange(2**32)
    events = Scene(situation, seed=seed).fed()
    assert sorted_words(reported(events)) == sorted_words(wanted), f"seed {seed}"


@pytest.mark.parametrize("situation", [each for each in SITUATIONS if "!" not in each])
def test_situation_captured_by_octets(situation: str) -> None:
    """In segments of one octet the same is reported."""
    seed = random.randrange(2**32)
    talk = Scene(situation, seed=seed)
    pieces = []
    for each in talk.segments:
        for at in range(max(1, len(each.payload))):
            flags = each.flags if at >= len(each.payload) - 1 else each.flags & ~(FIN | RST)
            pieces.append(
                each._replace(
                    seq=(each.seq + at) % 2**32, payload=each.payload[at:][:1], flags=flags
                )
            )
    whole = reported(talk.fed())
    talk.segments = pieces
    assert sorted_words(reported(talk.fed())) == sorted_words(whole), f"seed {seed}"


@pytest.mark.parametrize("situation", SITUATIONS)
def test_situation_read_both_ways(situation: str) -> None:
    """The inlined path reports of a file, octet for octet, what the plain one does."""
    seed = random.randrange(2**32)
    octets = pcapfile.pcap(pcapfile.frames(Scene(situation, seed=seed).segments))
    assert straight(octets, Limits()) == recovery(octets, Limits()), f"seed {seed}"

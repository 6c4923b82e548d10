# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue: names, clauses, and that a case is made again from its name and seed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scapy_mpa.craft.mutations import Action, Mutation, find, mutations, register
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.terminate import is_defined
from tests.craft.reading import file_of

SECTIONS = {
    "RFC 5044": "4.1 4.2 4.3 4.4 4.5 5.1 5.2 6 7.1 7.1.1 7.1.2 7.1.3 7.1.4 7.2 8 C.1",
    "RFC 5041": "4.1 4.2 4.3 4.4 5.1.1 5.1.2 5.2 5.3 5.4 6.1 6.2.1 6.2.2 7.1 7.2",
    "RFC 5040": "4.1 4.2 4.3 4.4 4.5 4.6 4.7 4.8 5.1 5.2.1 5.2.2 5.3 5.4 5.5 6.1 6.2.1 7.1 7.2",
    "RFC 5043": "5.1 5.2 5.2.1 5.2.2 5.2.3 6 6.1 6.2 6.3 6.4 6.5 6.6 7.1 7.2 8 9 10 11.1 11.2 11.3",
    "RFC 6581": "4.1 4.2 4.3 6 7 8 9 9.1 9.2 9.3 10",
    "draft-ietf-rddp-mpa-01": "6.1 6.1.1",
    "rtr-frame-proposal-2007": "1 2 3 5",
    "draft-williams-iwarp-ift-01": "4.1 4.2 5.1 6 8 8.1 8.2 8.3 9",
    "draft-ietf-storm-mpa-peer-connect-01": "5 6 8 9",
    "erdma": "startup",
    "osc": "marker crc",
    "softuiwarp": "pad",
    "RFC 7306": "4.1 4.2 5.1.1 5.1.2 5.2.1 5.2.2 5.3 5.4 6.1 6.2 6.3 6.4 7 8.1 8.2 10.1 10.2",
}
"""Sections of each standard that say how something has to be."""

ALL = mutations()
NAMED = [mutation for mutation in ALL if mutation.expectation.action is not Action.ANYTHING]

REQUIRED = (
    *("*-key-altered", "*-m-*", "*-c-*", "*-r-set", "*-s-set", "*-reserved-set", "*-rev-unknown"),
    *("*pd-length-longer", "*pd-length-shorter", "*pd-length-over-512"),
    *(f"rfc5044/7.1.2/rule-{number}-*" for number in (2, 3, 4, 7, 8, 9, 10)),
    *("*/marker-missing", "*/marker-misplaced", "*/fpduptr-not-pointing", "*/marker-reserved-set"),
    *("*/ulpdu-length-longer", "*/ulpdu-length-shorter", "*/ulpdu-length-zero"),
    *("*/pad-missing", "*/pad-too-long", "*/pad-not-zero", "*/crc-wrong", "*/crc-swapped"),
    *(
        "*/dv-2-*",
        "*/rv-2",
        "*/qn-*",
        "*/msn-skipped",
        "*/msn-repeated",
        "*/mo-gap",
        "*/mo-overlap",
    ),
    *("*/stag-invalid", "*/to-wrap", "*/l-missing", "*/message-too-long", "*/terminate-*"),
    "*/ird-exceeded",
    *("draft-ietf-rddp-mpa-01/*", "rtr-frame-proposal-2007/*/*-s-cleared"),
    *(f"*/opcode-{opcode}-*" for opcode in range(16)),
    *(
        f"draft-williams-iwarp-ift-01/4.2/phase-*-{flag}-*"
        for flag in ["ph", "r", "ih", "ip", "sp", "sm", "rm"]
    ),
)


@pytest.mark.parametrize("pattern", REQUIRED)
def test_there_is_one(pattern: str) -> None:
    """What a catalogue must have is there."""
    assert mutations(pattern)


def test_names_are_unique() -> None:
    """No name is there twice, and each finds its mutation."""
    assert len({mutation.name for mutation in ALL}) == len(ALL)
    assert all(find(mutation.name) is mutation for mutation in ALL)


@pytest.mark.parametrize("mutation", NAMED, ids=lambda mutation: mutation.name)
def test_clauses_exist(mutation: Mutation) -> None:
    """The clause is one of the standard that is named."""
    document, section = mutation.clause.rsplit(" ", 1)
    assert section in SECTIONS[document].split()


@pytest.mark.parametrize("mutation", ALL, ids=lambda mutation: mutation.name)
def test_it_says_what_is_wrong(mutation: Mutation) -> None:
    """What is broken is a sentence, and what is expected consists of codes that are defined."""
    assert mutation.breaks[0].isupper() and mutation.breaks.endswith(".")
    expectation = mutation.expectation
    assert all(is_defined(*each) for each in expectation.terminates)
    if expectation.action is Action.ERROR:
        assert expectation.codes
    if not expectation.is_error:
        assert not expectation.codes and not expectation.terminates


@pytest.mark.parametrize("mutation", ALL, ids=lambda mutation: mutation.name)
def test_a_case_is_made_again(mutation: Mutation) -> None:
    """Name and seed make the same octets and times each time; another seed makes others."""
    one, again, other = (file_of(mutation.case(seed).conversation.frames()) for seed in (7, 7, 8))
    assert one == again
    assert one != other


@pytest.mark.parametrize("mutation", ALL, ids=lambda mutation: mutation.name)
def test_frames_hold_what_is_broken(mutation: Mutation) -> None:
    """The frames that are named are there, and the first differs from that of the valid one."""
    for seed in range(3):
        case = mutation.case(seed)
        segments = case.conversation.segments()
        frames = case.frames(segments)
        assert frames and all(1 <= number <= len(segments) for number in frames)
        valid = case.valid.segments()
        first = next(
            number
            for number, (one, two) in enumerate(
                zip(segments, [*valid, *[None] * len(segments)], strict=False), 1
            )
            if one != two
        )
        # Where something is left out at the end, what differs may be an acknowledgement before.
        assert first <= frames[-1] + 1


def test_any_can_be_registered() -> None:
    """Others may add mutations of their own; a name that is taken or is none is refused."""
    known = find("rfc5044/4.4/crc-wrong")
    mine = replace(known, name="draft-of-mine/1.2/crc-wrong")
    register(mine)
    try:
        assert find(mine.name) is mine
        assert mine.clause == "draft-of-mine 1.2"
        with pytest.raises(LocalProtocolError, match="two mutations"):
            register(replace(known))
    finally:
        from scapy_mpa.craft.mutations import catalogue

        del catalogue._KNOWN[mine.name]
    with pytest.raises(LocalProtocolError, match="is no name"):
        replace(known, name="crc wrong")
    with pytest.raises(LocalProtocolError, match="there is no mutation"):
        find("rfc5044/4.4/nothing")

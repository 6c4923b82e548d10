# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations of a captured connection: which are possible, and which errors are reported."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scapy_mpa.craft import Conversation, recorded
from scapy_mpa.craft.mutations import Action, mutations
from scapy_mpa.craft.mutations.of_capture import applies, mutations_of
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.craft.script import CloseItem, Item, StartupItem
from scapy_mpa.wire.errors import LocalProtocolError
from tests.captures import PCAPS
from tests.craft.mutations.test_mutations import errors, is_flagged

SEEDS = range(2)
RANDOM = {each.name for each in mutations("fuzz/*")}
ABOVE_MPA = ("rfc5040", "rfc5041", "rfc7306")


def names(conversation: Conversation) -> set[str]:
    """The mutations of a conversation, without random fuzzing."""
    found = {each.name for each in mutations_of(conversation)}
    assert found >= RANDOM
    return found - RANDOM


CAPTURES = [
    ("rping_mpa2_crcon", 80),
    ("mix_mpa1_crcon", 96),
    ("p2p_rtr_read_crcon", 80),
    ("p2p_rtr_write_crcoff", 33),
    ("mix_mpa2_crcoff", 40),
    ("rping_mpa1_crcon", 57),  # the Responder is silent
    ("term_readoob", 72),  # it sends only a Terminate
]


@pytest.mark.examples
@pytest.mark.parametrize(("capture", "least"), CAPTURES)
def test_errors_are_reported(capture: str, least: int, tmp_path: Path) -> None:
    """Errors that a receiver must notice are reported. What it must accept is no error."""
    conversation = recorded(PCAPS / f"{capture}.pcap")
    path = tmp_path / "case.pcapng"
    assert not errors(conversation, path)
    found = 0
    for mutation in mutations_of(conversation):
        if mutation.expectation.action is Action.ANYTHING:
            continue
        for seed in SEEDS:
            if not applies(mutation, seed):
                continue
            case = mutation.case(seed)
            assert case.valid is conversation
            is_flagged(mutation, case, path)
            found += 1
    assert found >= len(SEEDS) * least


def test_without_crcs_only_rules_above_mpa() -> None:
    """Without CRCs, only rules above MPA are broken: no CRC would show what is wrong with an
    FPDU or a startup frame."""
    found = names(recorded(PCAPS / "p2p_rtr_write_crcoff.pcap"))
    assert {name.partition("/")[0] for name in found} == set(ABOVE_MPA)
    assert names(recorded(PCAPS / "p2p_rtr_read_crcon.pcap")) > found


UNUSUAL: dict[str, Callable[[], Conversation]] = {
    "a third startup frame": lambda: recorded(PCAPS / "crafted/rtr-frame-proposal-2007.pcap"),
    "revision 0": lambda: recorded(PCAPS / "crafted/draft-ietf-rddp-mpa-01.pcap"),
    "revision 0 of a real stack": lambda: recorded(PCAPS / "mix_mpa0_crcoff.pcap"),
    "revision 129": lambda: recorded(PCAPS / "crafted/erdma.pcap"),
    "Markers": lambda: parse_scenario('markers both\ninitiator send "one"\nclose'),
    "a broken rule": lambda: parse_scenario(
        "strict off\ninitiator send 3\ninitiator terminate 2 0 2\ninitiator send 3\nclose"
    ),
}


@pytest.mark.parametrize("what", UNUSUAL)
def test_unusual_connection_gets_random_fuzzing_only(what: str) -> None:
    """A connection unlike those that mutations are made for gets only random fuzzing."""
    assert not names(UNUSUAL[what]())


def test_mutation_without_anything_to_change() -> None:
    """A mutation that finds nothing to change is refused."""
    conversation = parse_scenario('initiator send "one"\nclose')
    octets = [placed.octets for placed in conversation.layout()]
    by_name = {each.name: each for each in mutations_of(conversation)}
    without = [each for each in by_name.values() if not applies(each, 0)]
    assert "rfc5040/4.1/opcode-untagged-in-tagged" in {each.name for each in without}
    with pytest.raises(LocalProtocolError, match="nothing like that"):
        by_name["rfc5040/4.1/opcode-untagged-in-tagged"].case(0)
    for each in by_name.values():
        if each not in without:
            changed = each.case(0).conversation
            assert [placed.octets for placed in changed.layout()] != octets


@pytest.mark.parametrize(
    "steps",
    [
        "repeat 4 initiator read 0\ninitiator read 9",  # nothing of no octets can wrap
        "repeat 4 initiator read 1",
        "initiator send 3",  # the Responder sends no Send
        "initiator send 2\nresponder send 3",  # neither sends a second one
        "mulpdu 128\ninitiator send 250",  # the second segment has MO 110
    ],
)
def test_seed_does_not_decide_what_is_possible(steps: str) -> None:
    """A mutation is possible with all seeds or with none."""
    recorded = parse_scenario(steps)
    script = [
        replace(item, reserved=2) if isinstance(item, StartupItem) else item
        for item in recorded.script
    ]
    for mutation in mutations_of(recorded.with_script([*script, CloseItem(0)])):
        assert len({applies(mutation, seed) for seed in range(20)}) == 1, mutation.name


def test_random_fuzzing_without_fpdus() -> None:
    """Random fuzzing of FPDUs is refused, too, if there are none."""
    by_name = {each.name: each for each in mutations_of(parse_scenario("startup\nclose"))}
    assert applies(by_name["fuzz/fields/startup"], 0)
    with pytest.raises(LocalProtocolError, match="nothing like that"):
        by_name["fuzz/fields/fpdu"].case(0)


def test_rdmap_version_0() -> None:
    """RFC 5040 has messages of version 0, RFC 7306 has none. Only those of RFC 5040 are changed
    to it."""
    conversation = parse_scenario(
        'initiator send "one"\nrepeat 8 initiator atomic fetch-add\n'
        "repeat 8 responder immediate 8\nclose"
    )
    (mutation,) = (each for each in mutations_of(conversation) if each.name == "rfc5044/c.1/rv-0")
    sends = [at for at, each in enumerate(conversation.script) if "Send" in repr(each)]
    for seed in range(10):
        assert [*mutation.case(seed).touched] == sends


def test_segments_of_a_partly_captured_message() -> None:
    """Two segments that follow each other in a message are swapped, whatever the other side sends
    between them.

    The last captured segment of an incomplete message stays.
    """
    conversation = parse_scenario('initiator send 4000\nresponder send "x"')
    *_, one, two, three, other, close = conversation.with_script(
        [*conversation.script, CloseItem(0)]
    ).script
    start = conversation.script[:-4]
    by_name = {each.name: each for each in mutations_of(conversation)}
    (name,) = (name for name in by_name if name.endswith("/segments-swapped"))

    def swapped(*items: Item) -> list[Item]:
        recorded = conversation.with_script([*start, *items, close])
        (mutation,) = (each for each in mutations_of(recorded) if each.name == name)
        return mutation.case(0).conversation.script[len(start) :]

    assert swapped(one, other, two) == [two, other, one, close]
    assert swapped(two, other, three) == [three, other, two, close]
    with pytest.raises(LocalProtocolError, match="nothing like that"):
        swapped(one, other)

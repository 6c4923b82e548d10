# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations that begin with a captured connection: which there are, and what is told of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_mpa.craft import Conversation, recorded
from scapy_mpa.craft.mutations import Action, mutations
from scapy_mpa.craft.mutations.of_capture import applies, mutations_of
from scapy_mpa.craft.script import CloseItem, Item
from scapy_mpa.wire.errors import LocalProtocolError
from tests.captures import PCAPS
from tests.craft.mutations.test_mutations import errors, is_named

SEEDS = range(2)
RANDOM = {each.name for each in mutations("fuzz/*")}
ABOVE_MPA = ("rfc5040", "rfc5041", "rfc7306")


def names(conversation: Conversation) -> set[str]:
    """The mutations that can begin with a conversation, without random fuzzing."""
    found = {each.name for each in mutations_of(conversation)}
    assert found >= RANDOM
    return found - RANDOM


@pytest.mark.examples
@pytest.mark.parametrize(
    ("capture", "least"),
    [
        ("rping_mpa2_crcon", 80),
        ("mix_mpa1_crcon", 96),
        ("p2p_rtr_read_crcon", 80),
        ("p2p_rtr_write_crcoff", 33),
        ("mix_mpa2_crcoff", 40),
        ("rping_mpa1_crcon", 57),  # the Responder is silent
        ("term_readoob", 72),  # a Terminate is all that it says
    ],
)
def test_flagged_as_it_must_be(capture: str, least: int, tmp_path: Path) -> None:
    """What a receiver must notice is reported, and of what it must accept nothing is."""
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
            said = errors(case.conversation, path)
            if mutation.is_reported:
                assert any(is_named(mutation, each) for each in said), (mutation.name, seed, said)
            else:
                assert not said, (mutation.name, seed, said)
            found += 1
    assert found >= len(SEEDS) * least


def test_rules_of_ddp_and_rdmap_alone_without_crcs() -> None:
    """What is wrong with an FPDU or a startup frame is of no use where no CRC tells."""
    found = names(recorded(PCAPS / "p2p_rtr_write_crcoff.pcap"))
    assert {name.partition("/")[0] for name in found} == set(ABOVE_MPA)
    assert names(recorded(PCAPS / "p2p_rtr_read_crcon.pcap")) > found


@pytest.mark.parametrize(
    "capture",
    [
        "crafted/rtr-frame-proposal-2007.pcap",  # a third startup frame
        "crafted/draft-ietf-rddp-mpa-01.pcap",  # revision 0
        "crafted/erdma.pcap",  # revision 129
        "mix_mpa0_crcoff.pcap",  # revision 0
    ],
)
def test_random_fuzzing_alone(capture: str) -> None:
    """What is not like the conversations that mutations are made for is fuzzed at random."""
    assert not names(recorded(PCAPS / capture))


def test_what_is_wrong_already_is_not_valid() -> None:
    """A captured connection that breaks a rule is none to break another in, nor is one with
    Markers."""
    conversation = Conversation()
    conversation.initiator.send(b"one")
    conversation.initiator.set_msn(0, 1)
    conversation.initiator.send(b"again")
    conversation.close()
    assert not names(conversation)
    marked = Conversation(markers=True)
    marked.initiator.send(b"one")
    marked.close()
    assert not names(marked)


def test_nothing_to_break() -> None:
    """A mutation whose like is not there says so, and never does nothing."""
    conversation = Conversation()
    conversation.initiator.send(b"one")
    conversation.close()
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


def test_rdmap_version_0() -> None:
    """RFC 5040 has messages of version 0, RFC 7306 none: only one of the former is made so."""
    conversation = Conversation()
    conversation.initiator.send(b"one")
    for _ in range(8):
        conversation.initiator.atomic()
        conversation.responder.immediate(bytes(8))
    conversation.close()
    (mutation,) = (each for each in mutations_of(conversation) if each.name == "rfc5040/4.1/rv-0")
    sends = [at for at, each in enumerate(conversation.script) if "Send" in repr(each)]
    for seed in range(10):
        assert [*mutation.case(seed).touched] == sends


def test_segments_of_a_message_that_was_captured_in_part() -> None:
    """Segments are swapped that follow each other in a message, whatever the other side says
    between them; the last that was captured of a message is not.
    """
    conversation = Conversation()
    conversation.initiator.send(bytes(4000))
    conversation.responder.send(b"x")
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

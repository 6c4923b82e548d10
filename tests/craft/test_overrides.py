# SPDX-License-Identifier: GPL-2.0-or-later
"""One thing is wrong on purpose, and all else is unchanged (RFC 5044 4, 7.1.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, FPDUItem, Item, OctetsItem
from scapy_mpa.craft.assemble import assemble
from scapy_mpa.wire.crc import crc_is_good
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.fpdu import build_fpdu
from tests.craft.reading import Record, plain, printed

PHASES = st.one_of(st.none(), st.integers(0, 127).map(lambda word: 4 * word))


def hello(**options: Any) -> Conversation:
    """A conversation of three Sends. The tests change the second."""
    conversation = Conversation(**options)
    conversation.initiator.send(b"before")
    conversation.initiator.send(b"1234567")
    conversation.initiator.send(b"after!")
    return conversation


def with_item(conversation: Conversation, number: int, item: Item) -> Conversation:
    """The conversation with one item replaced."""
    script = list(conversation.script)
    script[number] = item
    return conversation.with_script(script)


def second(conversation: Conversation) -> FPDUItem:
    """The Send to be changed."""
    item = conversation.script[SECOND]
    assert isinstance(item, FPDUItem)
    return item


def octets_of(conversation: Conversation, number: int) -> bytes:
    """The octets that an item of the script adds to the stream."""
    return conversation.layout()[number].octets


def agree(conversation: Conversation) -> list[Record]:
    """Both ways of reading find all records of the truth. Return what is found."""
    truth = conversation.truth(payload=True)
    found = plain(conversation.frames())
    for each in truth:
        assert any(each.items() <= record.items() for record in found), each
    brief = [
        {key: each[key] for key in each if key != "payload"}
        for each in found
        if each["type"] != "message"
    ]
    assert printed(conversation.frames()) == brief
    return found


SECOND = 4
"""The index of the Send to be changed: after handshake, Request, Reply and one Send."""


@given(st.binary(max_size=3000), PHASES, st.booleans())
def test_nothing_overridden(ulpdu: bytes, phase: int | None, crc: bool) -> None:
    """Assembling with overrides and ``build_fpdu`` give the same octets."""
    octets = build_fpdu(ulpdu, phase, crc=None if crc else bytes(4))
    assert assemble(FPDUItem(0, ulpdu), phase, crc=crc) == octets


Change = Callable[[FPDUItem], Item]
WRONG: dict[str, tuple[bool, Change, str]] = {
    "a CRC": (False, lambda item: item.override(crc=b"oops"), "good bad 2 good"),
    "a pad": (False, lambda item: item.override(pad=b"\xee"), "good good good"),
    "a header": (False, lambda item: item.with_header(qn=7, msn=99), "good good good"),
    "a length that leads to the same end": (
        False,
        lambda item: item.override(ulpdu_length=len(item.ulpdu) + 1),
        "good good good",
    ),
    "a Marker": (
        True,
        lambda item: item.override(markers={1: bytes.fromhex("00000010")}),
        "good 3",
    ),
    # Reserved and low bits mean nothing to a receiver (RFC 5044 4.2).
    "a Marker that means the same": (
        True,
        lambda item: item.override(markers={1: bytes.fromhex("ffff01ff")}),
        "good",
    ),
}
"""What is wrong with an FPDU: whether there are Markers, the change, and the CRC verdicts of all
FPDUs with the codes of errors."""


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_fpdu(what: str) -> None:
    """The octets of all other items are unchanged. The dissector finds what is wrong."""
    markers, change, wanted = WRONG[what]
    if markers:
        valid, number = Conversation(markers=True), SECOND - 1
        valid.initiator.send(bytes(600))
    else:
        valid, number = hello(), SECOND
    item = valid.script[number]
    assert isinstance(item, FPDUItem)
    wrong = with_item(valid, number, change(item))
    others = [at for at in range(len(valid.script)) if at != number]
    assert [octets_of(wrong, at) for at in others] == [octets_of(valid, at) for at in others]
    found = [each for each in agree(wrong) if each["type"] in ("fpdu", "error")]
    assert " ".join(str(each.get("crc", each.get("code"))) for each in found) == wanted


def test_truth_without_a_wrong_fpdu() -> None:
    """The truth leaves out an FPDU with an override, and says nothing about order."""
    valid = hello()
    item = second(valid)
    wrong = with_item(valid, SECOND, item.override(ulpdu_length=9))
    assert octets_of(wrong, SECOND)[:2] == b"\x00\x09"
    assert octets_of(wrong, SECOND)[2:-4] == octets_of(valid, SECOND)[2:-4]
    before, after = [each for each in wrong.truth() if each["type"] == "fpdu"]
    for each in (before, after):
        assert not {"located_by", "frame", "time", "out_of_order"} & each.keys()
    found = [each["seq"] for each in plain(wrong.frames()) if each["type"] == "fpdu"]
    assert {before["seq"], after["seq"]} <= set(found)


def test_marker_missing() -> None:
    """An FPDU without its Marker is four octets shorter, and its CRC is right."""
    conversation = Conversation(markers=True)
    conversation.initiator.send(bytes(600))
    conversation.initiator.send(b"after!")
    (item, _) = [item for item in conversation.script if isinstance(item, FPDUItem)]
    wrong = with_item(conversation, 3, item.override(marker_places=(0,)))
    valid, octets = octets_of(conversation, 3), octets_of(wrong, 3)
    assert octets == valid[:512] + valid[516:-4] + octets[-4:]
    assert crc_is_good(octets)
    assert [each.get("seq") for each in wrong.truth() if each["type"] == "fpdu"] == [
        1021 + len(octets)
    ]


def test_markers_of_an_unaligned_stream() -> None:
    """Markers keep their offsets, and CRCs are right, if FPDUs do not begin at multiples of 4
    octets."""
    conversation = Conversation(markers=True)
    conversation.startup()
    conversation.initiator.octets(b"x")
    conversation.initiator.fpdu(bytes(1500))
    stream = b"".join(each.octets for each in conversation.layout()[3:])
    for place in (512, 1024):
        assert stream[place : place + 4] == (place - 1).to_bytes(4, "big")


def test_overriding_a_missing_marker_is_refused() -> None:
    """Overriding a Marker that the FPDU does not have is refused, with the item's number."""
    conversation = hello()
    item = second(conversation)
    with pytest.raises(LocalProtocolError, match=r"item 4 of the script.*0 Markers"):
        with_item(conversation, SECOND, item.override(markers={0: bytes(4)})).segments()


def test_octets_between_fpdus() -> None:
    """Octets may stand anywhere. They move what follows them."""
    valid = hello()
    script = [*valid.script[:SECOND], OctetsItem(0, b"junk"), *valid.script[SECOND:]]
    layout = valid.with_script(script).layout()
    assert layout[SECOND + 1].start == valid.layout()[SECOND].start + 4
    assert layout[SECOND + 1].octets == valid.layout()[SECOND].octets


def test_copies_are_independent() -> None:
    """A copy of a conversation continues independently."""
    one = hello()
    other = one.with_script(one.script)
    message = other.initiator.send(b"more")
    assert message.msn == 4
    assert (len(one.script), len(other.script)) == (6, 7)
    assert one.initiator.send(b"more").msn == 4

# SPDX-License-Identifier: GPL-2.0-or-later
"""One thing is wrong on purpose, and all else is unchanged (RFC 5044 4, 7.1.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, FPDUItem
from scapy_mpa.craft.assemble import assemble
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.wire.fpdu import build_fpdu
from tests.craft.reading import plain

PHASES = st.one_of(st.none(), st.integers(0, 127).map(lambda word: 4 * word))


HELLO = 'initiator send "before"\ninitiator send 601\ninitiator send "after!"'
"""Three Sends."""
SECOND = 4
"""The index of the second Send: after handshake, Request, Reply and one Send."""


@given(st.binary(max_size=3000), PHASES, st.booleans())
def test_nothing_overridden(ulpdu: bytes, phase: int | None, crc: bool) -> None:
    """Assembling with overrides and ``build_fpdu`` give the same octets."""
    octets = build_fpdu(ulpdu, phase, crc=None if crc else bytes(4))
    assert assemble(FPDUItem(0, ulpdu), phase, crc=crc) == octets


Change = Callable[[FPDUItem], FPDUItem]
WRONG: dict[str, tuple[Change, str]] = {
    "a CRC": (lambda item: item.override(crc=b"oops"), "good bad 2 good"),
    "a pad": (lambda item: item.override(pad=b"\xee\0\0"), "good good good"),
    "a header": (lambda item: item.with_header(qn=7, msn=99), "good good good"),
    "a length that leads to the same end": (
        lambda item: item.override(ulpdu_length=len(item.ulpdu) + 1),
        "good good good",
    ),
    "a Marker": (
        lambda item: item.override(markers={0: bytes.fromhex("00000010")}),
        "good good 3 good",
    ),
    # Reserved and low bits mean nothing to a receiver (RFC 5044 4.2).
    "a Marker that means the same": (
        lambda item: item.override(markers={0: bytes.fromhex("ffff01df")}),
        "good good good",
    ),
}
"""What is wrong with the second FPDU: the change, and the CRC verdicts of all FPDUs with the codes
of errors."""


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_fpdu(what: str) -> None:
    """The truth leaves out an override. The dissector finds it."""
    change, wanted = WRONG[what]
    valid = parse_scenario("markers both\n" * ("Marker" in what) + HELLO)
    items: list[Any] = list(valid.script)
    items[SECOND] = item = change(items[SECOND])
    wrong = valid.with_script(items)
    truth = wrong.truth(payload=True)
    kept = sum(each["type"] == "fpdu" for each in truth)
    assert kept == (3 if item.overrides is None else 2)
    found = plain(wrong.frames())
    for each in truth:
        assert any(each.items() <= record.items() for record in found), each
    shown = [
        each.get("crc", each.get("code")) for each in found if each["type"] in ("fpdu", "error")
    ]
    assert " ".join(map(str, shown)) == wanted


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


def test_copies_are_independent() -> None:
    """A copy of a conversation continues independently."""
    one = parse_scenario(HELLO)
    other = one.with_script(one.script)
    message = other.initiator.send(b"more")
    assert message.msn == 4
    assert (len(one.script), len(other.script)) == (6, 7)
    assert one.initiator.send(b"more").msn == 4

# SPDX-License-Identifier: GPL-2.0-or-later
"""A part of the connections is cleaned, and all else is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scapy_mpa.capture import Frame
from scapy_mpa.clean import Cleaner
from scapy_mpa.craft import Conversation, Endpoint
from scapy_mpa.stream.events import ConnectionId
from tests.captures import PCAPS
from tests.clean.cleaning import clean, fpdus, frames_of, renumbered
from tests.dialects import sctp_feed
from tests.dialects.sctp_feed import Talk
from tests.truth import pcapfile, sctpstream

OVER_TCP = frames_of(PCAPS / "rping_mpa2_crcon.pcap")
OVER_SCTP = frames_of(PCAPS / "crafted" / "sctp_enhanced.pcap")


def selected(
    frames: list[Frame], selects: Callable[[ConnectionId], bool], **options: Any
) -> tuple[list[Frame], Cleaner]:
    """What is written of the connections that matter, and what wrote it."""
    cleaner = Cleaner(selects=selects, **options)
    written = [each for frame in frames for each in cleaner.receive(frame)] + cleaner.finish()
    assert not cleaner._orders and not cleaner._queue.held
    return renumbered(each.frame for each in written), cleaner


def test_numbers_are_those_of_a_listing() -> None:
    """Connections over SCTP have numbers, too, and are left out."""
    frames = renumbered([*OVER_SCTP, *OVER_TCP])
    found, cleaner = selected(frames, lambda identity: identity.number == 1)
    assert found == clean(OVER_TCP).frames
    assert cleaner.connections == 2
    assert cleaner.report.not_selected == len(OVER_SCTP)
    assert f"{len(OVER_SCTP)} frames left out: not selected" in cleaner.report.lines()
    found, cleaner = selected(frames, lambda identity: identity.number == 0)
    assert found == []
    assert "no MPA found in selected frames, 0 frames copied unchanged" in cleaner.report.lines()


def test_numbers_with_a_forced_dialect() -> None:
    """An association that shows no DDP has a number if RFC 5043 is forced."""
    talk = Talk()
    talk.say(0, sctpstream.SEGMENT, b"no DDP")
    over_sctp = frames_of(pcapfile.pcap(sctp_feed.frames_of(talk.units)))
    frames = renumbered([*over_sctp, *OVER_TCP])
    for dialect, own in (None, 0), ("rfc5043", 1):
        found, _ = selected(frames, lambda each, own=own: each.number == own, dialect=dialect)
        assert found == clean(OVER_TCP).frames


def test_numbers_without_tunnels() -> None:
    """Where VLANs alone tell connections apart, they are also told apart when tags are left out,
    and have the same numbers."""
    isns = 1000, 900_000_000
    vlans = [conversation(5 + number, isn) for number, isn in enumerate(isns)]
    mixed = renumbered(frame for both in zip(*vlans, strict=True) for frame in both)
    for number, isn in enumerate(isns):
        found, _ = selected(mixed, lambda each, own=number: each.number == own, decapsulate=True)
        assert [each.octets for each in found] == [each.octets for each in conversation(None, isn)]
    assert fpdus(mixed).total() == clean(mixed, decapsulate=True).report.fpdus


def conversation(vlan: int | None, isn: int) -> list[Frame]:
    """Frames of the same connection but for its VLAN and its numbers."""
    ends = (Endpoint("10.0.0.1", 40000, isn=isn), Endpoint("10.0.0.2", 4000, isn=isn))
    made = Conversation(*ends, vlan=vlan)
    for _ in range(3):
        made.initiator.send(b"question")
        made.responder.send(b"answer")
    made.close()
    return made.frames()

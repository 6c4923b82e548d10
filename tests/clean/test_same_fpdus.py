# SPDX-License-Identifier: GPL-2.0-or-later
"""A cleaned capture has the FPDUs of the original, and cleaning it again changes nothing.

This holds in tags and tunnels, which are kept or left out. Dialects that other tools do not know
are written as RFC 5044 has them.
"""

import random
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, fragment
from scapy.layers.l2 import Ether

from scapy_mpa.capture import Frame
from scapy_mpa.craft import Conversation, FPDUItem
from scapy_mpa.craft.impairments import Duplication, Reordering, impair
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.wire.dialect import Dialect
from tests.capture.stacks import ALONE, NOT_IN_TSHARK
from tests.captures import OVER_IFT, OVER_SCTP, OVER_TCP, PCAPS, capture_name
from tests.clean.cleaning import Cleaned, clean, fpdus, frames_of, recovered, renumbered, segments
from tests.craft.strategies import conversations
from tests.craft.test_impairments import IMPAIRMENTS, Impairment, lose, reorder
from tests.straight.ways import recovery_alone
from tests.truth.cases import case
from tests.truth.mpastream import build_stream

SOUND = ("none", "CRC", "flip", "FPDUPTR")
"""Kinds of damage: all but a wrong ULPDU_Length.  An FPDU with a wrong length claims octets of
others.  Both are written, so more FPDUs are found in the cleaned capture."""


def check(frames: list[Frame], *, twice: bool = True) -> None:
    """The same FPDUs with the same payloads and verdicts are found before and after.

    Recovery alone writes the same capture.  Cleaned again, all frames are the same to the octet and
    the nanosecond; comments are not compared.

    :param twice: whether to clean the cleaned capture again.
    """
    once = clean(frames)
    with recovery_alone():
        assert clean(frames) == once
    assert fpdus(once.frames) == fpdus(frames)
    assert once.report.fpdus == fpdus(frames).total()
    bad = sum(number for (*_, crc), number in fpdus(frames).items() if crc == "bad")
    assert once.report.bad_crcs == bad
    if twice:
        assert clean(once.frames).frames == once.frames


@pytest.mark.examples
@pytest.mark.parametrize("capture", OVER_TCP, ids=capture_name)
def test_captures(capture: Path) -> None:
    """Real captures."""
    check(frames_of(capture))


def test_other_framings_are_copied() -> None:
    """iWARP Framing for TCP and DDP over SCTP are followed, and copied unchanged."""
    for capture in OVER_IFT + OVER_SCTP:
        frames = frames_of(capture)
        assert clean(frames).frames == frames


@pytest.mark.parametrize("impair", IMPAIRMENTS)
@given(conversation=conversations(crc=True, rtr_frames=False), seed=st.integers(0, 1 << 20))
def test_crafted_conversations(impair: Impairment, conversation: Conversation, seed: int) -> None:
    """Conversations of all kinds, with segments lost, copied, reordered or split.

    If a rejected startup lacks frames, the supplied ones depend on those that were captured.
    """
    frames = conversation.frames(impair(conversation.segments(), random.Random(seed)))
    is_rejected = any(getattr(each, "rejected", False) for each in conversation.script)
    check(frames, twice=not (is_rejected and impair is lose))


@pytest.mark.parametrize("name", ["mpa-rev2-enhanced", "erdma"])
def test_cut_startup_frames(name: str) -> None:
    """Private Data and extensions count as octets, also where a snap length has cut them off."""
    frames = frames_of(PCAPS / "crafted" / f"{name}.pcap")
    for snap in range(40, 110):
        check([each._replace(octets=each.octets[:snap]) for each in frames])


@given(
    conversation=conversations(beginnings=("nothing",), crc=True, rtr_frames=False),
    request=st.integers(0, 8),
    seed=st.integers(0, 1 << 20),
)
def test_a_request_after_fpdus(conversation: Conversation, request: int, seed: int) -> None:
    """A Request or a Reply that is captured after FPDUs, when another one has been supplied.

    If a FIN was copied before any FPDU was found, later acknowledgements may differ by one the
    second time.
    """
    first, *rest = conversation.segments()
    rest = reorder(rest, random.Random(seed))
    check(conversation.frames([*rest[:request], first, *rest[request:]]), twice=False)


@given(
    # Of two different values of C, the capture may lack the one that counts.
    conversation=st.booleans().flatmap(lambda crc: conversations(crc=(crc, crc))),
    at=st.integers(0, 200),
)
def test_mid_connection(conversation: Conversation, at: int) -> None:
    """Captures that begin in the middle of a connection."""
    check(renumbered(conversation.frames()[at:]))


@pytest.mark.parametrize("seed", range(40))
def test_constructed_captures(seed: int) -> None:
    """Loss, snap lengths, bad CRCs, missing startup frames and disorder in one capture."""
    damage = SOUND[seed % len(SOUND)]
    check(frames_of(case(seed, damage=damage).pcap()))


@pytest.mark.parametrize("seed", range(10))
def test_wrong_lengths(seed: int) -> None:
    """FPDUs with a wrong length make no good FPDU disappear."""
    frames = frames_of(case(seed, damage="length", snap=0).pcap())
    found = clean(frames)
    lost = fpdus(frames) - fpdus(found.frames)
    assert not [each for each in lost if each[3] == "good"]


SENDS = "initiator send 700\nresponder write 900 stag 7\n" * 12
PLAIN = parse_scenario(f"markers both\npacking stream\n{SENDS}").frames()
"""A conversation with Markers, and FPDUs across segments."""


def inside(name: str) -> list[Frame]:
    """The same frames, each IP packet in a tag or tunnel."""
    octets = [ALONE[name](frame.octets[14:]) for frame in PLAIN]
    return [
        frame._replace(octets=each, original_length=len(each))
        for frame, each in zip(PLAIN, octets, strict=True)
    ]


@pytest.mark.examples
@pytest.mark.parametrize("name", ALONE)
def test_tags_and_tunnels(name: str, tmp_path: Path, tshark: str) -> None:
    """The FPDUs stay the same in the same tags and tunnels, also for tshark.

    Without tags and tunnels, the frames are as if none had been there, but for Ethernet addresses.
    """
    frames = inside(name)
    cleaned = clean(frames)
    assert fpdus(cleaned.frames) == fpdus(frames) == fpdus(PLAIN)
    assert clean(cleaned.frames).frames == cleaned.frames
    if name not in NOT_IN_TSHARK:
        assert cleaned.shown_fpdus(tshark, tmp_path / "kept.pcapng") == fpdus(PLAIN).total()
    wanted = [each.octets[14:] for each in clean(PLAIN).frames]
    left_out = clean(frames, decapsulate=True).frames
    assert [each.octets[14:] for each in left_out] == wanted
    assert {(each.link_type, each.octets[12:14]) for each in left_out} == {(1, b"\x08\x00")}


def in_fragments(frames: list[Frame], size: int = 400) -> list[Frame]:
    """The frames, each IPv4 packet in fragments of ``size`` octets."""
    fragments = [
        frame._replace(octets=octets, original_length=len(octets))
        for number, frame in enumerate(frames)
        for each in fragment(IP(frame.octets[14:], id=number), size)
        for octets in [bytes(Ether(frame.octets[:14]) / each)]
    ]
    assert len(fragments) > len(frames)
    return renumbered(fragments)


def test_the_report_on_frames_out_of_a_tunnel() -> None:
    """Frames without a tag or tunnel are copied unchanged, others are not."""
    (_, counts) = clean(PLAIN, decapsulate=True).report.lines()
    assert counts == "3 frames copied unchanged, 27 frames replaced"
    (reduced, _, counts) = clean(inside("VXLAN"), decapsulate=True).report.lines()
    assert reduced == "30 frames reduced to the innermost IP packet"
    assert counts == "3 frames copied, 27 frames replaced"


@pytest.mark.parametrize("name", ["Ethernet", "VXLAN", "ERSPAN II"])
def test_fragments(name: str) -> None:
    """FPDUs of packets in fragments are found once, also inside a tunnel.

    Without tunnels, each packet is written whole.
    """
    frames = in_fragments(inside(name))
    cleaned = clean(frames)
    assert fpdus(cleaned.frames) == fpdus(PLAIN)
    assert clean(cleaned.frames).frames == cleaned.frames
    left_out = clean(frames, decapsulate=True)
    assert segments(left_out.frames) == segments(clean(PLAIN).frames)
    assert left_out.report.copied + left_out.report.replaced == len(frames)


LENGTHS = st.lists(st.integers(0, 700), max_size=9)
PACKINGS = st.sampled_from(("aligned", "packed", "stream"))


def sends(lengths: Sequence[int], **options: Any) -> Conversation:
    """Sends of both sides with random octets, which look like no other FPDU."""
    conversation = Conversation(**{"crc": False, **options})
    rng = Random(str(lengths))
    for side in conversation.sides:
        for length in lengths:
            side.send(rng.randbytes(length))
    conversation.close()
    return conversation


def streams(cleaned: Cleaned) -> set[bytes]:
    """The written octets of both directions after the startup frames."""
    written: dict[bytes, bytes] = {}
    for each in segments(cleaned.frames):
        if not each.payload.startswith(b"MPA ID"):
            written[each.flow] = written.get(each.flow, b"") + each.payload
    return set(written.values())


def standard(conversation: Conversation) -> set[bytes]:
    """The same FPDUs as RFC 5044 4.1 has them, with a CRC field of zeros."""
    items = [each for each in conversation.script if isinstance(each, FPDUItem)]
    return {
        build_stream([each.ulpdu for each in items if each.side == side], crc=False)[0]
        for side in (0, 1)
    }


@given(LENGTHS, PACKINGS, st.integers(60, 1460), st.integers(0, 99), st.booleans())
def test_softuiwarp_given_by_the_user(
    lengths: list[int], packing: Any, mss: int, seed: int, reordered: bool
) -> None:
    """All FPDUs of SoftUiWARP are written with the pads of RFC 5044; no octet is left out."""
    conversation = sends(lengths, dialect="softuiwarp", packing=packing, mss=mss)
    impairments = (Reordering(0.3), Duplication(0.2)) if reordered else ()
    segments = impair(conversation.segments(), *impairments, seed=seed)
    cleaned = clean(conversation.frames(segments), dialect=Dialect.SOFTUIWARP)
    assert streams(cleaned) - {b""} == standard(conversation) - {b""}
    report = cleaned.report
    assert (report.left_out, report.holes, report.missing, report.late, report.cut) == (0,) * 5


@given(LENGTHS, PACKINGS, st.integers(60, 1460))
def test_softuiwarp_recognised(lengths: list[int], packing: Any, mss: int) -> None:
    """No octet is left out, even if the first FPDUs were taken for those of RFC 5044."""
    lengths = [*lengths, 1, 2, 3, 4, 5]
    conversation = sends(lengths, dialect="softuiwarp", packing=packing, mss=mss)
    report = clean(conversation.frames()).report
    assert report.fpdus == sum(isinstance(each, FPDUItem) for each in conversation.script)
    assert (report.left_out, report.holes, report.missing, report.late, report.cut) == (0,) * 5


@given(st.binary(max_size=500), st.binary(min_size=8, max_size=8))
def test_erdma(private_data: bytes, extension: bytes) -> None:
    """Its startup frames get revision 1 and lose the extension; all else is the same."""
    conversation = Conversation(dialect="erdma")
    conversation.startup(private_data, extension=extension, reply_extension=extension)
    for side in conversation.sides:
        side.send(b"some")
        side.write(bytes(3000), stag=1, to=2)
    conversation.close()
    frames = conversation.frames()
    cleaned = clean(frames)
    request, reply = cleaned.startups
    length = len(private_data).to_bytes(2, "big")
    assert request == b"MPA ID Req Frame\0\1" + length + private_data
    assert reply == b"MPA ID Rep Frame\0\1\0\0"
    assert fpdus(cleaned.frames) == fpdus(frames)
    assert (cleaned.report.extensions, cleaned.report.left_out, cleaned.report.holes) == (2, 0, 0)
    assert clean(cleaned.frames).frames == cleaned.frames


@pytest.mark.parametrize("markers", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("crc", [True, False])
@pytest.mark.parametrize("is_impaired", [False, True])
def test_osc(markers: tuple[bool, bool], crc: bool, is_impaired: bool) -> None:
    """Every FPDU of osc is there, without Markers, with a good CRC or a CRC field of zeros."""
    rng = Random(1)
    lengths = [rng.randrange(900) for _ in range(15)]
    made = sends(lengths, dialect="osc", markers=markers, crc=crc, packing="stream", mss=400)
    segments = made.segments()
    if is_impaired:
        segments = impair(segments, Reordering(0.3), Duplication(0.3), seed=4)
    frames = made.frames(segments)
    check(frames)
    cleaned = clean(frames)
    found = recovered(cleaned.frames)
    wanted = [(each.side, each.ulpdu) for each in made.script if isinstance(each, FPDUItem)]
    written = [(each.direction, each.ulpdu) for each in found]
    # The order of the FPDUs of a side counts.
    assert sorted(written, key=itemgetter(0)) == sorted(wanted, key=itemgetter(0))
    assert {each.crc for each in found} == {"good" if crc else "off"}
    assert crc or all(each.octets.endswith(bytes(4)) for each in found)
    assert not any(each.markers for each in found)
    added = 0
    for placed in made.layout():
        if isinstance(placed.item, FPDUItem):
            bare = (len(placed.item.ulpdu) + 5 & ~3) + 4 * crc
            added += len(placed.octets) - bare
    assert cleaned.report.markers == added // 4

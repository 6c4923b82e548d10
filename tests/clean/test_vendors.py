# SPDX-License-Identifier: GPL-2.0-or-later
"""Dialects that other tools do not know: clean writes their connections as RFC 5044 has them."""

from collections.abc import Sequence
from operator import itemgetter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, FPDUItem
from scapy_mpa.craft.impairments import Duplication, Reordering, impair
from scapy_mpa.wire.dialect import Dialect
from tests.clean.cleaning import Cleaned, clean, fpdus, recovered, segments, startups
from tests.clean.test_same_fpdus import check
from tests.truth.mpastream import build_stream

LENGTHS = st.lists(st.integers(0, 700), max_size=9)
PACKINGS = st.sampled_from(("aligned", "packed", "stream"))


def sends(lengths: Sequence[int], **options: Any) -> Conversation:
    """Sends of both sides with random octets, which look like no other FPDU."""
    conversation = Conversation(crc=False, **options)
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


def of_erdma(private_data: bytes, extension: bytes) -> Conversation:
    """A connection of erdma, with FPDUs of both sides."""
    conversation = Conversation(dialect="erdma")
    conversation.startup(private_data, extension=extension, reply_extension=extension)
    for side in conversation.sides:
        side.send(b"some")
        side.write(bytes(3000), stag=1, to=2)
    conversation.close()
    return conversation


@given(st.binary(max_size=500), st.binary(min_size=8, max_size=8))
def test_erdma(private_data: bytes, extension: bytes) -> None:
    """Its startup frames get revision 1 and lose the extension; all else is the same."""
    frames = of_erdma(private_data, extension).frames()
    cleaned = clean(frames)
    request, reply = startups(cleaned)
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
    made = Conversation(dialect="osc", markers=markers, crc=crc, packing="stream", mss=400)
    rng = Random(1)
    for _ in range(15):
        for side in made.sides:
            side.send(rng.randbytes(rng.randrange(900)))
    made.close()
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

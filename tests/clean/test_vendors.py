# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks that other tools do not know: their connections are written as RFC 5044 has them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation
from scapy_mpa.craft.impairments import Duplication, Reordering, impair
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.fpdu import pad_length
from tests.clean.cleaning import Cleaned, clean, segments

LENGTHS = st.lists(st.integers(0, 700), max_size=9)
PACKINGS = st.sampled_from(("aligned", "packed", "stream"))


def sends(lengths: Sequence[int], **options: Any) -> Conversation:
    """Sends of both sides, with nothing of MPA in them that RFC 5044 would not have there."""
    conversation = Conversation(crc=False, **options)
    rng = Random(str(lengths))
    for side in conversation.sides:
        for length in lengths:
            side.send(rng.randbytes(length))
    conversation.close()
    return conversation


def streams(cleaned: Cleaned) -> set[bytes]:
    """The octets of both directions behind the startup frames, as they are written."""
    written: dict[bytes, bytes] = {}
    for each in segments(cleaned.frames):
        if not each.payload.startswith(b"MPA ID"):
            written[each.flow] = written.get(each.flow, b"") + each.payload
    return set(written.values())


def standard(conversation: Conversation) -> set[bytes]:
    """What its FPDUs are by RFC 5044 4.1, with the CRC field that stands for none."""
    found: dict[int, bytes] = {0: b"", 1: b""}
    for item in conversation.script:
        if isinstance(item, FPDUItem):
            pad = bytes(pad_length(len(item.ulpdu)))
            length = len(item.ulpdu).to_bytes(2, "big")
            found[item.side] += length + item.ulpdu + pad + bytes(4)
    return set(found.values())


@given(LENGTHS, PACKINGS, st.integers(60, 1460), st.integers(0, 99), st.booleans())
def test_softuiwarp_told(
    lengths: list[int], packing: Any, mss: int, seed: int, reordered: bool
) -> None:
    """Every octet of SoftUiWARP's FPDUs is written with the other pads, and none is left out."""
    conversation = sends(lengths, dialect="softuiwarp", packing=packing, mss=mss)
    impairments = (Reordering(0.3), Duplication(0.2)) if reordered else ()
    segments = impair(conversation.segments(), *impairments, seed=seed)
    cleaned = clean(conversation.frames(segments), dialect=Dialect.SOFTUIWARP)
    assert streams(cleaned) - {b""} == standard(conversation) - {b""}
    report = cleaned.report
    assert (report.left_out, report.holes, report.missing, report.late, report.cut) == (0,) * 5


@given(LENGTHS, PACKINGS, st.integers(60, 1460))
def test_softuiwarp_recognised(lengths: list[int], packing: Any, mss: int) -> None:
    """Nor where it was recognised only behind an FPDU that was taken for one of RFC 5044."""
    lengths = [*lengths, 1, 2, 3, 4, 5]
    conversation = sends(lengths, dialect="softuiwarp", packing=packing, mss=mss)
    report = clean(conversation.frames()).report
    assert report.fpdus == sum(isinstance(each, FPDUItem) for each in conversation.script)
    assert (report.left_out, report.holes, report.missing, report.late, report.cut) == (0,) * 5


@pytest.mark.parametrize("length", range(4, 8))
def test_cut_short_is_not_padded_otherwise(length: int) -> None:
    """An FPDU that lacks two octets, since the snap length took them, is not one of SoftUiWARP."""
    conversation = sends([length, 20])
    frames = conversation.frames()
    number = [n for n, each in enumerate(conversation.segments()) if each.octets][2]
    frames[number] = frames[number]._replace(octets=frames[number].octets[:-2])
    cleaned = clean(frames)
    assert (cleaned.report.cut, cleaned.report.holes) == (1, 0)
    (written,) = (each for each in segments(cleaned.frames) if each.length > len(each.payload))
    assert written.length - len(written.payload) == 2

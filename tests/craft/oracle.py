# SPDX-License-Identifier: GPL-2.0-or-later
"""The FPDUs that were captured whole. These rules share no code with a conversation's truth.

``tests/truth/mpastream.py`` makes the streams again from the ULPDUs of the script.
"""

from collections.abc import Sequence

from scapy_mpa.craft import Conversation, FPDUItem, OctetsItem, Segment, StartupItem
from scapy_mpa.wire.tcp import SYN
from tests.truth import impair
from tests.truth.captured import Captured
from tests.truth.headers import header_of
from tests.truth.mpastream import TrueFPDU, build_stream
from tests.truth.wanted import Statement


def whole_fpdus(
    conversation: Conversation, segments: Sequence[Segment]
) -> list[tuple[int, Statement]]:
    """Side and report of each FPDU whose octets were all captured unchanged.

    :param conversation: one in which everything is right.
    """
    captured = [
        (
            impair.Segment(
                each.side, each.seq + bool(each.flags & SYN), each.ack, each.flags, each.octets
            ),
            len(each.octets) if each.captured is None else each.captured,
        )
        for each in segments
    ]
    found = []
    for side in (0, 1):
        half = _half(conversation, side)
        mine = Captured(captured, half, side)
        found += [
            (side, _statement(half, each))
            for each in half.truth
            if mine.is_whole(each.start, each.end)
        ]
    return found


def _statement(half: impair.Half, fpdu: TrueFPDU) -> Statement:
    header = header_of(fpdu.ulpdu, fpdu.ulpdu_length)
    payload = fpdu.ulpdu[14 if header.tagged else 18 :]
    crc = "off" if fpdu.crc_ok is None else "good"
    seq = (half.base + fpdu.seq_offset) % 2**32
    return Statement(seq, fpdu.ulpdu_length, fpdu.markers, crc, header, payload)


def _half(conversation: Conversation, side: int) -> impair.Half:
    """One direction. What precedes the Full Operation Phase is copied unchanged."""
    before, ulpdus = b"", []
    for placed in conversation.layout():
        item = placed.item
        if isinstance(item, FPDUItem) and item.side == side:
            ulpdus.append(item.ulpdu)
        elif isinstance(item, StartupItem | OctetsItem) and item.side == side:
            assert not ulpdus
            before += placed.octets
    options = conversation.options
    octets, truth = build_stream(ulpdus, markers=options.has_markers(side), crc=options.has_crcs)
    return impair.Half(before, octets, truth, conversation.isns[side])

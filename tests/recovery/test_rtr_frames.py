# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures with part of an Rtr Frame, through the whole reading path, plain and printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.recovery.reading import Record, plain, printed
from tests.stream.startup import ULPDUS, reply, request
from tests.stream.talk import Talk
from tests.truth.impair import Segment
from tests.truth.mpastream import RTR_KEY, build_stream, startup_frame
from tests.truth.pcapfile import frame, pcap

FILE_HEADER = 24
FRAME_HEADERS = 14 + 20 + 20
PATHS = pytest.mark.parametrize("read", [plain, printed])


def capture(segments: list[Segment], cuts: Mapping[int, int]) -> bytes:
    """A capture that holds, of segments by number, no more than so many octets."""
    files = [
        pcap(
            [frame(segment)],
            snaplen=FRAME_HEADERS + cuts.get(number, len(segment.payload)),
            start=1_000_000_000 + 1_000_000 * number,
        )
        for number, segment in enumerate(segments)
    ]
    return files[0][:FILE_HEADER] + b"".join(file[FILE_HEADER:] for file in files)


@PATHS
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("private", [b"", b"private"])
@pytest.mark.parametrize("part", [(0, 8), (6, 14), (8, 20), (16, 18), "cut", "late"])
def test_part_of_an_rtr_frame(
    read: Callable[[bytes], list[Record]],
    markers: bool,
    crc: bool,
    private: bytes,
    part: tuple[int, int] | str,
) -> None:
    """All FPDUs of both directions are found, with their Markers; none is counted wrongly."""
    fields = {"enhanced": 1, "markers": int(markers), "crc": int(crc)}
    octets, truth = build_stream(ULPDUS * 4, markers=markers, crc=crc)
    rtr = startup_frame(RTR_KEY, crc=int(crc), private_data=private)
    talk = Talk()
    talk.say(0, request(**fields))
    talk.say(1, reply(**fields))
    cuts = {}
    begin = talk.next[0]
    if isinstance(part, tuple):
        for piece, captured in (
            (rtr[: part[0]], True),
            (rtr[slice(*part)], False),
            (rtr[part[1] :], True),
        ):
            if piece:
                talk.say(0, piece, captured=captured)
    else:
        cuts = {len(talk.segments): 11} if part != "late" else {}
        talk.say(0, rtr, captured=part != "late")
    for at in range(0, len(octets), 1000):
        talk.say(0, octets[at : at + 1000])
        talk.say(1, octets[at : at + 1000])
        if at == 2000 and part == "late":
            talk.copy(0, begin, rtr)
    talk.close()
    records = read(capture(talk.segments, cuts))
    for direction, origin in ((0, begin + len(rtr)), (1, talk.isn[1] + 21)):
        source = f"10.0.0.{direction + 1}:{(40000, 4000)[direction]}"
        told = [each for each in records if each["type"] == "fpdu" and each["src"] == source]
        told.sort(key=lambda each: (each["seq"] - origin) % 2**32)
        seqs = [(origin + fpdu.seq_offset) % 2**32 for fpdu in truth]
        assert [each["seq"] for each in told] == seqs
        assert [each["markers"] for each in told] == [fpdu.markers for fpdu in truth]
        assert {each["crc"] for each in told} == {"good" if crc else "off"}
        for each, fpdu in zip(told, truth, strict=True):
            is_known = direction == 1 or part == "late"
            assert each["offset"] == (fpdu.seq_offset if is_known else None)
    assert [each for each in records if each["type"] == "error"] == []
    kinds = [each["kind"] for each in records if each["type"] == "startup"]
    assert kinds == ["request", "reply"] + ["rtr"] * (part == "late")

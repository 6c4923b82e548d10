# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames that other tools can read are copied; rewritten ones keep the headers of their frame."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from scapy_mpa.clean import Cleaner, Written
from tests.captures import PCAPS
from tests.clean.cleaning import clean, frames_of, recovered, shown_fpdus
from tests.stream.talk import STREAM, TRUTH, started
from tests.truth import mpastream, pcapfile

READABLE = (
    "ulp_nfs4_rdma_crcoff.pcap",
    "ulp_nvme_rdma_crcoff.pcap.gz",
    "trygso_bigfpdu_offloads_on_crcon.pcap.gz",
    "rping_ipv6_mpa2_crcon.pcap",
    "vlan5_mix_crcon.pcap",
    "reject_pdata.pcap",
    "term_readoob.pcap",
    "close_midmsg_clientkill.pcap.gz",
)
"""Captures in which Wireshark finds all FPDUs: each is whole in a segment, or has several segments
to itself."""

A, B, C = (STREAM[first.end : second.end] for first, second in pairwise(TRUTH[:4]))


@pytest.mark.parametrize("name", READABLE)
def test_readable_frames_are_copied(name: str) -> None:
    """All frames are the same, acknowledgements included."""
    frames = frames_of(PCAPS / name)
    cleaned = clean(frames)
    assert cleaned.frames == frames
    assert cleaned.comments == []


SHAPES = {
    "an FPDU in each segment": ((A, B, C), (0, 1, 2), 0),
    "all FPDUs in one segment": ((A + B + C,), (0,), 0),
    "several segments for one FPDU": ((A, B[:8], B[8:100], B[100:], C), (0, 1, 2, 3, 4), 0),
    "several for one FPDU, in disorder": ((A, B[:8], B[8:100], B[100:], C), (0, 2, 1, 3, 4), 3),
    "a segment captured twice": ((A, B[:8], B[8:], C), (0, 1, 2, 1, 3), 0),
    "the first of several is too short": ((A, B[:7], B[7:], C), (0, 1, 2, 3), 2),
    "the next FPDU begins in the first segment": ((A + B[:100], B[100:], C), (0, 1, 2), 2),
    "the FPDU ends in the segment of the next": ((A, B[:100], B[100:] + C), (0, 1, 2), 2),
}
"""The octets of segments, their order of capture, and the number of segments that change."""


@pytest.mark.parametrize("shape", SHAPES)
def test_which_segments_can_be_read(shape: str, tshark: str, tmp_path: Path) -> None:
    """Segments with whole FPDUs only, and segments of one FPDU only.  tshark finds all FPDUs."""
    pieces, order, changed = SHAPES[shape]
    talk = started()
    for piece in pieces:
        talk.say(0, piece)
    before, parts = talk.segments[: -len(pieces)], talk.segments[-len(pieces) :]
    captured = [*before, *(parts[at] for at in order)]
    frames = frames_of(pcapfile.pcap(pcapfile.frames(captured)))
    cleaned = clean(frames)
    octets = [each.octets for each in cleaned.frames]
    assert sum(each.octets not in octets for each in frames) == changed
    assert cleaned.report.replaced == changed + len(order) - len(pieces)
    assert shown_fpdus(cleaned, tshark, tmp_path / "a.pcapng") == 3


@pytest.mark.parametrize(("number", "replaced"), [(64, 0), (65, 1), (300, 1)])
def test_the_most_fpdus_of_a_frame(number: int, replaced: int, tshark: str, tmp_path: Path) -> None:
    """tshark reads 500 headers of a frame, so it finds all FPDUs of a cleaned capture."""
    talk = started()
    octets, _ = mpastream.build_stream([b"\x41\x43" + bytes(16)] * number)
    talk.say(0, octets)
    cleaned = clean(frames_of(pcapfile.pcap(pcapfile.frames(talk.segments))))
    assert cleaned.report.replaced == replaced
    assert shown_fpdus(cleaned, tshark, tmp_path / "a.pcapng") == number


def test_late_acknowledgements_of_one_fpdu_each() -> None:
    """They are copied unchanged, even with 300 FPDUs under way."""
    talk = started()
    octets, truth = mpastream.build_stream([b"\x41\x43" + bytes(16)] * 300)
    begin = talk.next[0]
    talk.say(0, octets, size=truth[0].end)
    for each in truth:
        talk.say(1)
        talk.segments[-1] = talk.segments[-1]._replace(ack=begin + each.end)
    frames = frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))
    assert clean(frames).frames == frames


def test_segments_of_an_fpdu_wait_for_its_end() -> None:
    """No other frames wait; then all are written in their places."""
    talk = started()
    talk.say(0, A)
    talk.say(0, B[:100])
    talk.say(1)
    talk.say(0, B[100:])
    cleaner, counts = Cleaner(), []
    for frame in frames_of(pcapfile.pcap(pcapfile.frames(talk.segments))):
        counts.append(len(cleaner.receive(frame)))
    assert sum(counts[:5]) == 5 and counts[5:] == [1, 0, 0, 3]


def _kept_fields(octets: bytes) -> Sequence[bytes]:
    """DSCP, identification, time to live, window and timestamps of a frame of Linux."""
    assert octets[12:14] == b"\x08\x00"
    assert octets[54:58] == b"\x01\x01\x08\x0a"
    return octets[15:16], octets[18:20], octets[22:23], octets[48:50], octets[58:66]


def _frames_in_comment(written: Written) -> set[int]:
    """The captured frames that the comment of a frame names; the frame itself if it was copied."""
    if written.comment is None:
        return {written.frame.number}
    runs = re.findall(r"(\d+)(?:-(\d+))?", written.comment.split("of frame")[1])
    return {each for first, last in runs for each in range(int(first), int(last or first) + 1)}


@pytest.mark.parametrize(
    "name", ["netem_reorder25_at_client_A.pcap.gz", "netem_loss15_heavy_crcoff_at_server_B.pcap.gz"]
)
def test_a_rewritten_frame_keeps_fields(name: str) -> None:
    """The frame that completed the FPDU gives the fields; the comment names all frames of it."""
    frames = frames_of(PCAPS / name)
    brought = {(each.direction, each.seq): set(each.frames) for each in recovered(frames)}
    cleaned = clean(frames)
    assert len(cleaned.comments) > 10
    for each in recovered(cleaned.frames):
        named = [_frames_in_comment(cleaned.written[number - 1]) for number in each.frames]
        assert set.union(*named) == brought[each.direction, each.seq]
        octets = cleaned.written[each.frame - 1].frame.octets
        assert _kept_fields(octets) == _kept_fields(frames[max(named[-1]) - 1].octets)

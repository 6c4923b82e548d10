# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames that other tools can read are copied; what is written anew keeps all else of its frame."""

from __future__ import annotations

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
"""In which Wireshark finds all FPDUs: whole ones, and such as have several segments for
themselves."""

A, B, C = (STREAM[first.end : second.end] for first, second in pairwise(TRUTH[:4]))


@pytest.mark.parametrize("name", READABLE)
def test_what_can_be_read_is_copied(name: str) -> None:
    """Frame by frame, acknowledgements included."""
    frames = frames_of(PCAPS / name)
    cleaned = clean(frames)
    assert cleaned.frames == frames
    assert cleaned.comments == []


SHAPES = {
    "an FPDU in each": ((A, B, C), (0, 1, 2), 0),
    "all FPDUs in one": ((A + B + C,), (0,), 0),
    "several for one FPDU": ((A, B[:8], B[8:100], B[100:], C), (0, 1, 2, 3, 4), 0),
    "these in disorder": ((A, B[:8], B[8:100], B[100:], C), (0, 2, 1, 3, 4), 3),
    "one is captured twice": ((A, B[:8], B[8:], C), (0, 1, 2, 1, 3), 0),
    "one begins too short to be looked at": ((A, B[:7], B[7:], C), (0, 1, 2, 3), 2),
    "the next begins before a boundary": ((A + B[:100], B[100:], C), (0, 1, 2), 2),
    "ends after a boundary": ((A, B[:100], B[100:] + C), (0, 1, 2), 2),
}
"""The octets of segments, the order in which they were captured, and how many are not copied."""


@pytest.mark.parametrize("shape", SHAPES)
def test_which_segments_can_be_read(shape: str, tshark: str, tmp_path: Path) -> None:
    """Those of whole FPDUs, and those that one FPDU has for itself.  tshark finds all of them."""
    pieces, order, changed = SHAPES[shape]
    talk = started()
    for piece in pieces:
        talk.say(0, piece)
    begun, said = talk.segments[: -len(pieces)], talk.segments[-len(pieces) :]
    captured = [*begun, *(said[at] for at in order)]
    frames = frames_of(pcapfile.pcap(pcapfile.frames(captured)))
    cleaned = clean(frames)
    octets = [each.octets for each in cleaned.frames]
    assert sum(each.octets not in octets for each in frames) == changed
    assert cleaned.report.replaced == changed + len(order) - len(pieces)
    assert shown_fpdus(cleaned, tshark, tmp_path / "a.pcapng") == 3


@pytest.mark.parametrize(("number", "replaced"), [(64, 0), (65, 1), (300, 1)])
def test_how_many_fpdus_a_frame_may_have(
    number: int, replaced: int, tshark: str, tmp_path: Path
) -> None:
    """tshark reads 500 headers of a frame, and finds all FPDUs of a cleaned capture."""
    talk = started()
    octets, _ = mpastream.build_stream([b"\x41\x43" + bytes(16)] * number)
    talk.say(0, octets)
    cleaned = clean(frames_of(pcapfile.pcap(pcapfile.frames(talk.segments))))
    assert cleaned.report.replaced == replaced
    assert shown_fpdus(cleaned, tshark, tmp_path / "a.pcapng") == number


def test_acknowledged_one_by_one_and_late() -> None:
    """However many FPDUs are under way, an acknowledgement of one of them says what it said."""
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
    """No more than these, and they are written in their places then."""
    talk = started()
    talk.say(0, A)
    talk.say(0, B[:100])
    talk.say(1)
    talk.say(0, B[100:])
    cleaner, counts = Cleaner(), []
    for frame in frames_of(pcapfile.pcap(pcapfile.frames(talk.segments))):
        counts.append(len(cleaner.receive(frame)))
    assert counts == [1, 1, 1, 1, 1, 1, 0, 0, 3]


def _kept(octets: bytes) -> Sequence[bytes]:
    """DSCP, identification, time to live, window and timestamps of a frame of Linux."""
    assert octets[12:14] == b"\x08\x00"
    assert octets[54:58] == b"\x01\x01\x08\x0a"
    return octets[15:16], octets[18:20], octets[22:23], octets[48:50], octets[58:66]


def _named(written: Written) -> set[int]:
    """The captured frames that a frame is of, by its comment; of a copied one, itself."""
    if written.comment is None:
        return {written.frame.number}
    runs = re.findall(r"(\d+)(?:-(\d+))?", written.comment.split("of frame")[1])
    return {each for first, last in runs for each in range(int(first), int(last or first) + 1)}


@pytest.mark.parametrize(
    "name", ["netem_reorder25_at_client_A.pcap.gz", "netem_loss15_heavy_crcoff_at_server_B.pcap.gz"]
)
def test_what_a_rewritten_frame_keeps(name: str) -> None:
    """That of the frame that completed its FPDU; its comment names all that brought some of it."""
    frames = frames_of(PCAPS / name)
    brought = {(each.direction, each.seq): set(each.frames) for each in recovered(frames)}
    cleaned = clean(frames)
    assert len(cleaned.comments) > 10
    for each in recovered(cleaned.frames):
        named = [_named(cleaned.written[number - 1]) for number in each.frames]
        assert set.union(*named) == brought[each.direction, each.seq]
        octets = cleaned.written[each.frame - 1].frame.octets
        assert _kept(octets) == _kept(frames[max(named[-1]) - 1].octets)

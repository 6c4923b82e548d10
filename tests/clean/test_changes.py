# SPDX-License-Identifier: GPL-2.0-or-later
"""What clean changes in a capture, what it keeps, and what it reports."""

import random
import tracemalloc
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import Frame
from scapy_mpa.capture.build_frame import FrameBuilder
from scapy_mpa.clean import Cleaner
from scapy_mpa.craft import Conversation, Segment
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.segment import reverse_flow
from scapy_mpa.wire.fpdu import build_fpdu
from scapy_mpa.wire.tcp import ACK, FIN, RST, SYN
from tests.clean.cleaning import clean, fpdus, frames_of, recovered, renumbered, segments
from tests.craft.strategies import BEGINNINGS, conversations
from tests.craft.test_impairments import reorder
from tests.stream.talk import STREAM, Talk, started
from tests.stream.work import steps
from tests.truth import messages, mpastream, pcapfile

WORD = 0xFFFFFFFF
WITH_HANDSHAKE = tuple(each for each in BEGINNINGS if each != "nothing")


def marked(options: str = "") -> Conversation:
    """A conversation with Markers in both directions."""
    sends = [f"initiator send {size}\nresponder send {size}\n" for size in (0, 10, 3000, 700)]
    return parse_scenario(f"markers both\npacking stream\n{options}\n{''.join(sends)}close")


def holed(count: int, size: int, options: str = "") -> tuple[Conversation, list[Segment], Segment]:
    """Many FPDUs with Markers in one direction, the segments without one, and the missing one."""
    conversation = parse_scenario(f"markers both\n{options}\nrepeat {count} initiator send {size}")
    sent = conversation.segments()
    return conversation, [*sent[:8], *sent[9:]], sent[8]


def test_markers_are_removed() -> None:
    """No FPDU has a Marker, no startup frame has M set, and the report counts both.

    Each FPDU is in a segment of its own, in the order of the stream.  It has the time of the frame
    that completed it, also where the clock goes back.
    """
    frames = marked("mss 536").frames()
    frames[20:] = [each._replace(time_ns=each.time_ns - 10**12) for each in frames[20:]]
    cleaned = clean(frames)
    found = recovered(frames)
    assert [each.time_ns for each in recovered(cleaned.frames)] == [each.time_ns for each in found]
    assert sum(each.markers for each in found) == cleaned.report.markers > 10
    assert not any(each[16] & 0x80 for each in cleaned.startups)
    assert cleaned.report.cleared == 2
    assert sum("M was set" in each for each in cleaned.comments) == 2
    written = segments(cleaned.frames)
    for direction, flow in enumerate(found[0].connection.flows):
        payloads = [each.payload for each in written if each.flow == flow and each.payload]
        ulpdus = [each.ulpdu for each in found if each.direction == direction]
        # The first payload is the startup frame.
        assert [build_fpdu(ulpdu) for ulpdu in ulpdus] == payloads[1:]


@given(
    conversation=conversations(beginnings=WITH_HANDSHAKE), seed=st.none() | st.integers(0, 1 << 20)
)
def test_sequence_numbers_have_no_gap(conversation: Conversation, seed: int | None) -> None:
    """Each acknowledgement is of the end of a segment that is written before it."""
    expected: dict[bytes, int] = {}
    ends: dict[bytes, set[int]] = {}
    sent = conversation.segments()
    if seed is not None:
        # Segments before the FPDUs are copied in the order of capture.
        startups = [at for at, each in enumerate(sent) if each.octets.startswith(b"MPA ID")]
        begin = max(startups, default=4) + 1
        sent[begin:] = reorder(sent[begin:], random.Random(seed))
    for each in segments(clean(conversation.frames(sent)).frames):
        back = reverse_flow(each.flow)
        if each.flags & 0x10:
            assert each.ack in ends[back]
        if not each.length and not each.flags & (SYN | FIN):
            continue
        assert each.flags & SYN or each.seq == expected[each.flow]
        expected[each.flow] = each.seq + each.length + bool(each.flags & (SYN | FIN)) & WORD
        ends.setdefault(each.flow, set()).add(expected[each.flow])


def test_an_acknowledgement_is_of_whole_fpdus() -> None:
    """Its number counts whole FPDUs, without their Markers.  None is written again."""
    ulpdus = [messages.send(msn, bytes(600))[0] for msn in (1, 2, 3)]
    octets, truth = mpastream.build_stream(ulpdus, markers=True)
    talk = started(markers=True)
    begin = talk.next[0]
    talk.say(0, octets, size=500)
    for each in truth:
        for end in (each.end - 1, each.end, each.end):
            talk.say(1)
            talk.segments[-1] = talk.segments[-1]._replace(ack=(begin + end) % 2**32)
    cleaned = segments(clean(frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))).frames)
    written = [each.ack for each in cleaned if each.flow != cleaned[0].flow]
    lengths = [len(mpastream.build_stream(ulpdus[:count])[0]) for count in range(4)]
    assert written[1:] == [begin + length for length in lengths]


@pytest.mark.parametrize("at", range(2, 12))
def test_a_dropped_reset_is_not_written_where_numbers_have_changed(at: int) -> None:
    """With the new numbers it might be in the window."""
    frames = marked().frames()
    flow = segments(frames)[0].flow
    before = segments(frames)[:at]
    seq = max(each.seq + each.length for each in before if each.flow == flow)
    build = FrameBuilder(
        (b"\x02\0\0\0\0\3", b"\x02\0\0\0\0\4"),
        (flow[:4], flow[4:8]),
        (int.from_bytes(flow[8:10], "big"), int.from_bytes(flow[10:], "big")),
    )
    octets = build.build(seq + (1 << 30) & WORD, 0, RST, b"")
    reset = Frame(0, frames[at].time_ns, 1, octets, len(octets), None)
    cleaned = clean(renumbered([*frames[:at], reset, *frames[at:]])).frames
    assert fpdus(cleaned) == fpdus(frames)
    copied = [each for each in cleaned if each.octets == octets]
    assert [each for each in segments(cleaned) if each.flags & RST] == segments(copied)


@pytest.mark.slow
def test_each_reply_to_a_missing_request_costs_the_same() -> None:
    """Replies wait for Requests that were not captured, but not for ever."""

    def cost(times: int) -> float:
        talk = Talk()
        for _ in range(times):
            at = talk.next[1]
            talk.next[1] += 1000
            talk.say(0, mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1))
            talk.next[1] = at
            talk.say(1, mpastream.startup_frame(mpastream.REPLY_KEY, crc=1, rejected=1))
        frames = frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))
        return steps(lambda: clean(frames), "scapy_mpa.clean") / times

    # As many as are remembered, 64, cost more each time.
    assert cost(720) < 1.2 * cost(240)


def test_other_traffic_keeps_its_place() -> None:
    """Frames of other connections are copied in the order of capture, among those with MPA."""
    talk = Talk()
    for _ in range(30):
        talk.say(0, b"hello")
        talk.say(1)
    others = frames_of(pcapfile.pcap(pcapfile.frames(talk.segments, ports=(50000, 80))))
    mixed = [each for pair in zip(marked().frames(), others, strict=False) for each in pair]
    frames = renumbered(each._replace(time_ns=number) for number, each in enumerate(mixed))
    written = clean(frames).frames
    assert [each.time_ns for each in written] == sorted(each.time_ns for each in written)
    assert [each.octets for each in written if each.time_ns % 2] == [
        each.octets for each in frames if each.time_ns % 2
    ]


@pytest.mark.parametrize("host", ["10.0.0.{}:4000", "[fd00::{}]:4000"])
def test_fpdus_larger_than_a_datagram(host: str) -> None:
    """Each is split into two segments of about the same size."""
    options = f"endpoints {host.format(1)} {host.format(2)}\nmarkers both\nmulpdu 65535\n"
    sends = "strict off\npacking stream\ninitiator send 65000\ninitiator send 65517"
    frames = parse_scenario(options + sends).frames()
    cleaned = clean(frames)
    sizes = [each.length for each in segments(cleaned.frames) if each.length > 100]
    assert sizes == [65024, 32772, 32772]
    assert fpdus(cleaned.frames) == fpdus(frames)


def test_memory_is_bounded() -> None:
    """A hole that is never filled or acknowledged does not delay the following frames for ever."""
    conversation, sent, _ = holed(400, 1400, "ack-every 0")
    frames = conversation.frames(sent)
    limits = Limits(octets_per_half=1 << 16, octets_in_total=1 << 16)
    cleaner = Cleaner(limits=limits)
    most, count = 0, 0
    for frame in frames:
        count += len(cleaner.receive(frame))
        most = max(most, cleaner._queue.held)
    assert most < 1 << 17
    assert count > 300
    cleaner.finish()
    assert cleaner.report.fpdus == sum(fpdus(frames).values())


def test_fpdus_that_are_found_after_their_frames_were_copied() -> None:
    """They are counted as FPDUs, and none of their octets as left out."""
    conversation = parse_scenario("crc neither\nrepeat 5 initiator send 200")
    frames = conversation.frames(conversation.segments()[5:])
    report = clean(frames, Limits(octets_in_total=1 << 11)).report
    assert (report.left, report.fpdus, report.left_out) == (4, 1, 0)


def test_octets_that_are_written_twice() -> None:
    """A Reply is copied because of a limit, and written again when its Request comes."""
    conversation = Conversation()
    conversation.startup()
    sent = conversation.segments()
    request = next(at for at, each in enumerate(sent) if each.octets.startswith(b"MPA ID Req"))
    sent.insert(request + 2, sent.pop(request))
    assert clean(conversation.frames(sent), Limits(octets_in_total=500)).report.left_out == 0
    # Of another FPDU, only these octets are captured.
    conversation.initiator.send(bytes(40))
    last = next(each for each in reversed(conversation.segments()) if each.octets)
    sent.append(replace(last, octets=last.octets[:10]))
    assert clean(conversation.frames(sent), Limits(octets_in_total=500)).report.left_out == 10


def test_only_the_headers_of_a_first_frame_are_kept() -> None:
    """The cleaner does not keep the payload or the trailer of the first frame of a direction."""
    macs = b"\x02\0\0\0\0\3", b"\x02\0\0\0\0\4"
    cleaner = Cleaner()
    tracemalloc.start()
    try:
        for number in range(100):
            hosts = b"\x0a\0" + number.to_bytes(2, "big"), b"\x0a\1\0\1"
            octets = FrameBuilder(macs, hosts, (50000, 80)).build(1, 0, SYN, b"")
            octets += bytes(60000)
            assert cleaner.receive(Frame(number + 1, 0, 1, octets, len(octets), None))
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


def test_more_memory_costs_no_more_work() -> None:
    """To decide a slot takes no look at all the frames that wait after the hole."""
    conversation, sent, _ = holed(2000, 60, "ack-every 0")
    frames = conversation.frames(sent)

    def spent(octets: int) -> int:
        limits = Limits(octets_in_total=octets)
        return steps(lambda: clean(frames, limits), "scapy_mpa.clean")

    # Of 2000 segments, some 1000 wait at a time with the first limit, some 100 with the other.
    assert spent(1 << 20) < 1.2 * spent(1 << 17)


def test_fpdus_that_claim_octets_of_the_next_one() -> None:
    """Their CRCs stay bad: by a wrong length, or by octets that another segment brought before.

    No snap length cuts them, and a tool that follows lengths finds the next FPDUs.
    """
    ulpdus = [messages.send(msn, bytes(600))[0] for msn in range(1, 6)]
    octets, truth = mpastream.build_stream(ulpdus)
    at, after = truth[1].end, truth[2].end
    wrong, early = started(), started()
    wrong.say(0, octets[:at] + b"\x82" + octets[at + 1 :], size=truth[0].end)
    first = early.say(0, octets[:at], size=truth[0].end)
    early.copy(0, first + after - 200, octets[after : truth[3].end])
    early.copy(0, first + at, octets[at:after])
    for talk in (wrong, early):
        frames = frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))
        cleaned = clean(frames)
        verdicts = [Counter(each.crc for each in recovered(of)) for of in (frames, cleaned.frames)]
        assert verdicts[0] == verdicts[1] and verdicts[0]["bad"] == 1
        assert (cleaned.report.overlong, cleaned.report.cut) == (1, 0)
        assert clean(cleaned.frames).frames == cleaned.frames


def test_holes_keep_fpdus_aligned() -> None:
    """FPDUs begin at multiples of four octets after the startup frame, also after a false FIN."""
    talk = Talk((1000, 5000))
    talk.say(0, mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1))
    talk.say(1, mpastream.startup_frame(mpastream.REPLY_KEY, crc=1, private_data=bytes(7)))
    talk.miss(1, bytes(53))
    talk.say(1, flags=FIN | ACK)
    talk.miss(1, bytes(4522))
    talk.say(1, STREAM)
    frames = frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))
    assert fpdus(clean(frames).frames) == fpdus(frames) != Counter()


def test_late_fpdus_are_written() -> None:
    """An FPDU that comes after its followers were written is written after them, and counted."""
    conversation, sent, late = holed(300, 1400)
    frames = conversation.frames([*sent, replace(late, time_ns=sent[-1].time_ns)])
    cleaned = clean(frames)
    assert cleaned.report.late == 1
    assert fpdus(cleaned.frames) == fpdus(frames)
    assert [each for each in cleaned.comments if "belongs before" in each]

# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth itself, against the published examples, the definitions and the captures."""

from __future__ import annotations

import itertools
import json
import pathlib
import random
import struct

import pytest

from tests.captures import CRAFTED, OVER_IFT, OVER_TCP, PCAPS, REAL, capture_name, expectation
from tests.truth import iftwalker, impair, messages, mpastream, pcapfile, walker
from tests.truth.impair import INITIATOR, RESPONDER, Half, Segment, Sending
from tests.truth.mpastream import Damage, TrueFPDU, build_stream, crc_field

# packets, FPDUs, connections, CRC good, CRC field zero, CRC bad: counted by another walker, by
# another author, save for the probe: that one stopped at an ULPDU_Length of 0 and so counted two
# FPDUs less in connection 106 (340, 284 good), where the Send behind it has a good CRC.  Those of
# crafted captures follow from their messages: payload by what fits MULPDU (530 and 1454).
COUNTED = {
    "2vm_perf_write_bw_q4_crcon": (1540, 764, 5, 764, 0, 0),
    "close_graceful_by_server": (14, 3, 1, 0, 3, 0),
    "close_midmsg_clientkill": (461, 298, 1, 0, 298, 0),
    "connect_pd200_ird4_ord8": (17, 4, 1, 4, 0, 0),
    "draft-ietf-rddp-mpa-01": (26, 13, 1, 0, 13, 0),
    "rtr-frame-proposal-2007": (20, 9, 1, 9, 0, 0),
    "draft_rtr_read": (18, 7, 1, 7, 0, 0),
    "draft_ulp_send": (16, 6, 1, 6, 0, 0),
    "jumbo9000_mix_crcon": (104, 51, 1, 51, 0, 0),
    "listener_absent": (2, 0, 1, 0, 0, 0),
    "live_siw_probe_guest_eth0": (2041, 342, 127, 286, 53, 3),
    "markers": (18, 8, 1, 8, 0, 0),
    "mix_mpa0_crcoff": (43, 19, 1, 0, 19, 0),
    "mix_mpa1_crcon": (66, 31, 1, 31, 0, 0),
    "mix_mpa2_crcoff": (308, 164, 1, 0, 164, 0),
    "mpa-rev0": (18, 8, 1, 8, 0, 0),
    "mpa-rev2-enhanced": (18, 8, 1, 8, 0, 0),
    "netem_loss15_heavy_crcoff_at_server_B": (471, 246, 1, 0, 246, 0),
    "netem_loss1_at_server_B": (977, 585, 1, 585, 0, 0),
    "netem_reorder25_at_client_A": (1126, 585, 1, 585, 0, 0),
    "p2p_rtr_read_crcon": (38, 23, 1, 23, 0, 0),
    "p2p_rtr_write_crcoff": (36, 22, 1, 0, 22, 0),
    "reject_pdata": (10, 0, 1, 0, 0, 0),
    "reject_pdata_mpa1": (10, 0, 1, 0, 0, 0),
    "rping_ipv6_mpa2_crcon": (52, 33, 1, 33, 0, 0),
    "rping_mpa1_crcon": (11, 1, 1, 1, 0, 0),
    "rping_mpa2_crcon": (51, 35, 1, 35, 0, 0),
    "seqwrap_client_crcon": (2007, 1159, 1, 1159, 0, 0),
    "term_cmdsinv": (17, 4, 1, 4, 0, 0),
    "term_readoob": (15, 3, 1, 3, 0, 0),
    "term_sendnorecv": (13, 2, 1, 2, 0, 0),
    "term_writebad": (15, 3, 1, 3, 0, 0),
    "trygso_bigfpdu_offloads_on_crcon": (148, 31, 1, 31, 0, 0),
    "ulp_nfs4_rdma_crcoff": (301, 195, 1, 0, 195, 0),
    "ulp_nvme_rdma_crcoff": (693, 379, 3, 0, 379, 0),
    "vlan5_mix_crcon": (46, 17, 1, 17, 0, 0),
    "erdma": (22, 11, 1, 0, 11, 0),
    "siw-terminate": (30, 5, 1, 5, 0, 0),
    "softuiwarp": (22, 11, 1, 0, 11, 0),
    "softuiwarp_crcoff": (39, 11, 2, 0, 11, 0),
    # iWARP Framing for TCP: no FPDUs.
    "ift_speculative": (33, 0, 1, 0, 0, 0),
}


# The published examples -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("control", "first", "second"),
    [
        ("4143", "52239983", "84925898"),  # RFC 5044, figures 5 and 6
        ("4003", "4c86b384", "a19cd103"),  # draft-ietf-rddp-mpa-01, 5.2: both versions 0
    ],
)
def test_published_fpdus(control: str, first: str, second: str) -> None:
    """Figures 5 and 6 of RFC 5044 and of the draft before it, octet by octet."""
    head = bytes.fromhex(control)
    figure5 = head + struct.pack(">IIII", 0, 0, 1, 0) + bytes(24)
    stream, truth = build_stream([figure5], markers=True)
    assert stream == bytes.fromhex("00000000 002a") + figure5 + bytes.fromhex(first)
    assert truth == [TrueFPDU(0, 4, 0x34, 42, figure5, 1, True)]

    # A first FPDU of 492 octets with its leading marker: a ULPDU of 482.
    figure6 = head + struct.pack(">IIII", 0, 0, 2, 0) + bytes(24)
    stream, truth = build_stream([bytes(482), figure6], markers=True)
    assert truth[1] == TrueFPDU(0x1EC, 0x1EC, 0x220, 42, figure6, 1, True)
    expected = bytes.fromhex("002a") + figure6[:18] + bytes.fromhex("00000014") + figure6[18:]
    assert stream[0x1EC:] == expected + bytes.fromhex(second)


def test_marker_at_the_sequence_numbers_of_the_example() -> None:
    """RFC 5044 4.3: begun at sequence number 11, markers lie at 11, 523, 1035."""
    stream, truth = build_stream([bytes(1200)], markers=True)
    assert [11 + at for at in range(0, len(stream), 512)] == [11, 523, 1035]
    assert [stream[at : at + 4].hex() for at in (0, 512, 1024)] == [
        "00000000",
        "000001fc",
        "000003fc",
    ]
    assert truth[0].markers == 3


def test_startup_frames() -> None:
    """RFC 5044 figure 8 and RFC 6581 6 and 9, octets written by hand."""
    private_data = mpastream.enhanced_data(4, 8, a=1, c=1) + b"hello"
    frame = mpastream.startup_frame(
        mpastream.REQUEST_KEY,
        markers=1,
        crc=1,
        enhanced=1,
        revision=2,
        private_data=private_data,
    )
    assert frame == bytes.fromhex(
        "4d504120 49442052 65712046 72616d65 d0020009 80048008 68656c6c 6f"
    )
    reply = mpastream.startup_frame(mpastream.REPLY_KEY, rejected=1, reserved=15, pd_length=513)
    assert reply == bytes.fromhex("4d504120 49442052 65702046 72616d65 2f010201")


# Markers, from their definition ------------------------------------------------------------------


def random_stream(seed: int, *, markers: bool) -> tuple[list[bytes], bytes, list[TrueFPDU]]:
    """ULPDUs of all sizes with their stream."""
    rng = random.Random(seed)
    ulpdus = messages.random_ulpdus(rng, 60, mulpdu=rng.choice((128, 1442, 8940, 60000)))
    ulpdus += [rng.randbytes(rng.randint(0, 40)) for _ in range(400)]
    rng.shuffle(ulpdus)
    return ulpdus, *build_stream(ulpdus, markers=markers)


@pytest.mark.parametrize("seed", range(6))
def test_markers_stand_where_the_definition_says(seed: int) -> None:
    """Each offset 0 mod 512 has a marker, and each points to its FPDU (RFC 5044 4.3)."""
    ulpdus, stream, truth = random_stream(seed, markers=True)
    assert [fpdu.ulpdu for fpdu in truth] == ulpdus
    assert truth[0].start == 0
    assert truth[-1].end == len(stream)
    assert all(a.end == b.start for a, b in itertools.pairwise(truth))
    kinds = set()
    counted = dict.fromkeys(range(len(truth)), 0)
    for at in range(0, len(stream), 512):
        index = next(i for i, fpdu in enumerate(truth) if fpdu.start <= at < fpdu.end)
        fpdu = truth[index]
        counted[index] += 1
        reserved, fpduptr = struct.unpack_from(">HH", stream, at)
        assert reserved == 0
        if at == fpdu.start:
            assert (fpduptr, fpdu.seq_offset) == (0, at + 4)
            kinds.add("between")
        else:
            assert fpduptr == at - fpdu.seq_offset
            kinds.add("before CRC" if at + 8 == fpdu.end else "inside")
    assert kinds == {"between", "inside", "before CRC"}
    assert list(counted.values()) == [fpdu.markers for fpdu in truth]


@pytest.mark.parametrize("seed", range(6))
def test_marked_stream_without_its_markers_is_the_unmarked_one(seed: int) -> None:
    """Every 512th quadlet taken out, only the CRC fields of FPDUs that had one differ."""
    _, marked, truth = random_stream(seed, markers=True)
    _, plain, plain_truth = random_stream(seed, markers=False)
    stripped = b"".join(marked[at + 4 : at + 512] for at in range(0, len(marked), 512))
    assert len(stripped) == len(plain)
    for with_markers, without in zip(truth, plain_truth, strict=True):
        content = slice(without.start, without.end - 4)
        assert stripped[content] == plain[content]
        assert crc_field(stripped[content]) == plain[without.end - 4 : without.end]
        covered = marked[with_markers.start : with_markers.end - 4]
        assert crc_field(covered) == marked[with_markers.end - 4 : with_markers.end]
        assert with_markers.crc_ok and without.crc_ok
        assert without.markers == 0


def test_crc_off_pad_and_reserved_octets() -> None:
    """Without CRCs the field is there all the same; pads and reserved halves may be dirty."""
    stream, truth = build_stream([b"abc"], crc=False)
    assert stream.hex() == "0003616263000000" + "00000000"
    assert truth[0].crc_ok is None
    stream, _ = build_stream([b"abc"], crc=False, idle_crc_field=b"\1\2\3\4", pad_octet=0xEE)
    assert stream.hex() == "0003616263eeeeee" + "01020304"
    stream, truth = build_stream([b"ab"], markers=True, marker_reserved=0xBEEF)
    assert stream[:8].hex() == "beef000000026162"
    assert crc_field(stream[:8]) == stream[8:]
    assert truth[0].crc_ok


def test_damage() -> None:
    """Each kind of damage changes its octets only, and the record says what holds after it."""
    ulpdus = [bytes(1000), bytes(50)]
    clean, clean_truth = build_stream(ulpdus, markers=True)

    def changed(damage: Damage) -> tuple[set[int], TrueFPDU]:
        stream, truth = build_stream(ulpdus, markers=True, damage={0: damage})
        assert len(stream) == len(clean)
        assert truth[1] == clean_truth[1]
        return {at for at in range(len(clean)) if stream[at] != clean[at]}, truth[0]

    end = clean_truth[0].end
    crc = set(range(end - 4, end))
    places, fpdu = changed(Damage(crc_xor=0x01000001))
    assert (places, fpdu.crc_ok) == ({end - 4, end - 1}, False)
    places, fpdu = changed(Damage(ulpdu_length=44))
    assert (places, fpdu.crc_ok, fpdu.ulpdu_length) == ({4, 5}, False, 1000)
    places, fpdu = changed(Damage(fpduptr={1: 0xABCD}))
    assert (places, fpdu.crc_ok) == ({514, 515}, False)
    places, fpdu = changed(Damage(fpduptr={1: 0xABCD}, sender=True))
    assert places - crc == {514, 515}
    assert fpdu.crc_ok
    places, fpdu = changed(Damage(flip=(506, 1)))  # 512 = marker 4 + length 2 + 506 octets
    assert (places, fpdu.crc_ok) == ({516}, False)
    assert (fpdu.ulpdu[505:508], len(fpdu.ulpdu)) == (b"\0\1\0", 1000)
    places, fpdu = changed(Damage(ulpdu_length=44, sender=True))
    assert places - crc == {4, 5}
    assert not fpdu.crc_ok


# Messages ----------------------------------------------------------------------------------------


def test_headers_of_a_siw_connection() -> None:
    """Header octets as the Linux kernel's siw sends them: Send, Write, Read Request."""
    _, connections = walker.walk(PCAPS / "rping_mpa2_crcon.pcap")
    found = {
        (role, fpdu.ulpdu[1] & 15): fpdu.ulpdu
        for connection in connections
        for role in "ir"
        for fpdu in connection.fpdus[role]
    }
    for (_, opcode), ulpdu in found.items():
        if opcode in (messages.WRITE, messages.READ_RESPONSE):
            stag, to = struct.unpack_from(">IQ", ulpdu, 2)
            assert messages.tagged_message(opcode, stag, to, ulpdu[14:]) == [ulpdu]
        elif opcode == messages.READ_REQUEST:
            msn = int.from_bytes(ulpdu[10:14], "big")
            operands = struct.unpack(">IQIIQ", ulpdu[18:])
            assert messages.read_request(msn, *operands) == [ulpdu]
        else:
            msn = int.from_bytes(ulpdu[10:14], "big")
            assert messages.send(msn, ulpdu[18:], opcode=opcode) == [ulpdu]
    assert {opcode for _, opcode in found} == {0, 1, 2, 3}


def test_segments_of_a_message() -> None:
    """TO and MO advance by the payload, and only the last segment has L (RFC 5041 4.1 to 4.3)."""
    payload = bytes(range(256)) * 10
    tagged = messages.write(0x11223344, 2**64 - 100, payload, mulpdu=1014)
    assert [len(ulpdu) for ulpdu in tagged] == [1014, 1014, 574]
    assert [ulpdu[:14].hex() for ulpdu in tagged] == [
        "8140" + "11223344" + "ffffffffffffff9c",
        "8140" + "11223344" + "0000000000000384",
        "c140" + "11223344" + "000000000000076c",
    ]
    assert b"".join(ulpdu[14:] for ulpdu in tagged) == payload
    untagged = messages.send(7, payload, 2018, opcode=4, invalidate_stag=0xAABBCCDD)
    assert [ulpdu[:18].hex() for ulpdu in untagged] == [
        "0144" + "aabbccdd" + "00000000" + "00000007" + "00000000",
        "4144" + "aabbccdd" + "00000000" + "00000007" + "000007d0",
    ]
    assert b"".join(ulpdu[18:] for ulpdu in untagged) == payload
    assert messages.write(1, 0, b"") == [bytes.fromhex("c140 00000001 0000000000000000")]


def test_sizes_of_the_fixed_messages() -> None:
    """RFC 5040 4.4 and 4.8, RFC 7306 5.2.1, 5.2.2 and 6.2: octets after the DDP header."""
    assert len(messages.read_request(1, 1, 2, 3, 4, 5)[0]) == 18 + 28
    assert len(messages.atomic_request(1, 2, 3, 4, 5, 6)[0]) == 18 + 52
    assert len(messages.atomic_response(1, 2, 3)[0]) == 18 + 12
    assert len(messages.immediate_data(1, 2)[0]) == 18 + 8
    read = messages.read_request(1, 1, 2, 3, 4, 5)[0]
    assert messages.terminate(0, 1, 1, read)[0][18:] == (bytes.fromhex("0101e000 002e") + read)
    write = messages.write(1, 2, b"x" * 9)[0]
    assert messages.terminate(1, 1, 0, write)[0][18:] == (
        bytes.fromhex("1100c000 0017") + write[:14]
    )
    assert messages.terminate(2, 0, 2)[0][18:] == bytes.fromhex("20020000")


# Segments ----------------------------------------------------------------------------------------


def random_half(rng: random.Random, key: bytes, markers: bool) -> Half:
    """A direction with its startup frame and sixty messages."""
    startup = mpastream.startup_frame(key, crc=1, private_data=rng.randbytes(rng.randint(0, 60)))
    octets, truth = build_stream(messages.random_ulpdus(rng, 60), markers=markers)
    return Half(startup, octets, truth, rng.getrandbits(32))


def random_sendings(rng: random.Random, half: Half) -> list[Sending]:
    """One of the ways of cutting, by chance."""
    ways = [
        impair.cut_mss(half.octets, rng.randint(1, 3000)),
        impair.cut_random(half.octets, rng),
        impair.cut_aligned(half.octets, half.truth),
        impair.cut_packed(half.octets, half.truth, rng.randint(500, 9000)),
    ]
    return rng.choice(ways)


def check_acks(segments: list[Segment], halves: tuple[Half, Half], missed: bool) -> None:
    """No ACK names an octet that was not sent, nor, if none was missed, one not captured."""
    seen: tuple[set[int], set[int]] = (set(), set())
    contiguous = [0, 0]
    for segment in segments:
        direction, other = segment.direction, halves[1 - segment.direction]
        if segment.flags & impair.ACK:
            acked = (segment.ack - other.isn) % 2**32
            assert acked <= 1 + len(other.startup) + len(other.octets) + 1
            assert missed or acked <= contiguous[1 - direction]
        begin = (segment.seq - halves[direction].isn) % 2**32
        length = len(segment.payload) + bool(segment.flags & (impair.SYN | impair.FIN))
        seen[direction].update(range(begin, begin + length))
        while contiguous[direction] in seen[direction]:
            contiguous[direction] += 1


@pytest.mark.parametrize("seed", range(8))
def test_cuts_are_the_stream(seed: int) -> None:
    """Each way of cutting gives all octets, in order, within its bounds."""
    rng = random.Random(seed)
    half = random_half(rng, mpastream.REQUEST_KEY, markers=seed % 2 == 0)
    mss = rng.randint(100, 3000)
    packed = impair.cut_packed(half.octets, half.truth, mss)
    for sendings in (
        impair.cut_mss(half.octets, mss),
        impair.cut_random(half.octets, rng, 3, 700),
        impair.cut_aligned(half.octets, half.truth),
        packed,
    ):
        assert b"".join(sending.payload for sending in sendings) == half.octets
        at = 0
        for sending in sendings:
            assert sending.offset == at
            at += len(sending.payload)
    starts = {fpdu.start for fpdu in half.truth}
    begun = {sending.offset for sending in packed}
    for fpdu in half.truth:
        cuts = [at for at in begun if fpdu.start < at < fpdu.end]
        assert not cuts or (fpdu.start in begun and fpdu.end - fpdu.start > mss)
    assert all(len(sending.payload) <= mss for sending in packed)
    assert {s.offset for s in impair.cut_aligned(half.octets, half.truth)} == starts


@pytest.mark.parametrize("seed", range(12))
def test_everything_sent_is_capturable_unless_missed(seed: int) -> None:
    """Loss with retransmission, reordering, duplicates and overlap keep every FPDU."""
    rng = random.Random(seed)
    halves = (
        random_half(rng, mpastream.REQUEST_KEY, markers=True),
        random_half(rng, mpastream.REPLY_KEY, markers=False),
    )
    halves = (impair.isn_wrapping_at(halves[0], len(halves[0].octets) // 2), halves[1])
    both = []
    for half in halves:
        sendings = random_sendings(rng, half)
        sendings = impair.lose_and_retransmit(sendings, rng, 0.2, seen=rng.random() < 0.5)
        sendings = impair.reorder(sendings, rng, 0.3)
        sendings = impair.duplicate(sendings, rng, 0.1)
        sendings = impair.overlap(sendings, half.octets, rng, 0.2, differing=seed % 2 == 0)
        both.append(impair.keepalive(sendings, half.octets, rng, 0.1))
    segments = impair.conversation(
        halves, (both[0], both[1]), rng, startup_cut=rng.choice((None, 1, 7)), ack_rate=0.9
    )
    for direction in (INITIATOR, RESPONDER):
        assert impair.capturable(segments, halves[direction], direction) == halves[direction].truth
    sent = [segment for segment in segments if segment.direction == RESPONDER]
    first = next(i for i, s in enumerate(segments) if s.seq == halves[RESPONDER].base and s.payload)
    assert (
        impair.capturable(segments[:first], halves[INITIATOR], INITIATOR)[:1]
        == (halves[INITIATOR].truth[:1])
    )
    assert sent[-1].flags == impair.FIN | impair.ACK
    check_acks(segments, halves, missed=False)


@pytest.mark.parametrize("seed", range(6))
def test_missed_segments_cost_the_fpdus_in_them(seed: int) -> None:
    """What the capture missed is what capturable leaves out; ACKs still pass it."""
    rng = random.Random(seed)
    halves = (
        random_half(rng, mpastream.REQUEST_KEY, markers=True),
        random_half(rng, mpastream.REPLY_KEY, markers=True),
    )
    sendings = tuple(impair.miss(impair.cut_mss(half.octets, 200), rng, 0.1) for half in halves)
    segments = impair.conversation(halves, (sendings[0], sendings[1]), rng, close="rst")
    check_acks(segments, halves, missed=True)
    for direction, half in enumerate(halves):
        gone = [
            (s.offset, s.offset + len(s.payload)) for s in sendings[direction] if not s.captured
        ]
        whole = [
            fpdu
            for fpdu in half.truth
            if not any(begin < fpdu.end and fpdu.start < end for begin, end in gone)
        ]
        assert 0 < len(whole) < len(half.truth)
        assert impair.capturable(segments, half, direction) == whole


def test_first_captured_octets_win() -> None:
    """A differing copy takes an FPDU away only if it comes before the true one."""
    octets, truth = build_stream([b"one", b"two"])
    half = Half(b"", octets, truth, 2**32 - 3)
    true = Segment(INITIATOR, half.base, 0, impair.ACK, octets)
    false = true._replace(payload=bytes(6))
    assert impair.capturable([true, false], half, INITIATOR) == truth
    assert impair.capturable([false, true], half, INITIATOR) == truth[1:]
    assert impair.capturable([true], half, RESPONDER) == []


# Files and the walker ----------------------------------------------------------------------------


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("vlan", [None, 5])
def test_walker_reads_what_pcapfile_writes(
    tmp_path: pathlib.Path, ipv6: bool, vlan: int | None
) -> None:
    """Two independent sides of one format: all FPDUs of an impaired connection come back."""
    rng = random.Random(7)
    halves = (
        impair.isn_wrapping_at(random_half(rng, mpastream.REQUEST_KEY, markers=False), 1000),
        random_half(rng, mpastream.REPLY_KEY, markers=False),
    )
    sendings = [
        impair.reorder(impair.duplicate(impair.cut_mss(half.octets, 1460), rng, 0.1), rng, 0.2)
        for half in halves
    ]
    segments = impair.conversation(halves, (sendings[0], sendings[1]), rng)
    path = tmp_path / "made.pcap"
    pcapfile.write(path, segments, ipv6=ipv6, vlan=vlan)
    packets, connections = walker.walk(path)
    assert (packets, len(connections)) == (len(segments), 1)
    for role, half in zip("ir", halves, strict=True):
        found = connections[0].fpdus[role]
        assert [fpdu.ulpdu for fpdu in found] == [fpdu.ulpdu for fpdu in half.truth]
        assert [fpdu.seq for fpdu in found] == [
            (half.base + fpdu.seq_offset) % 2**32 for fpdu in half.truth
        ]
        assert all(fpdu.crc_good for fpdu in found)
    path.write_bytes(pcapfile.pcap(pcapfile.frames(segments), order=">", nanoseconds=True))
    assert walker.walk(path)[1][0].fpdus["i"] == connections[0].fpdus["i"]


def test_snap_length_cuts_octets(tmp_path: pathlib.Path) -> None:
    """A frame cut by the snap length leaves a hole; the walker stops at it."""
    octets, truth = build_stream([bytes(100), bytes(20), bytes(100)])
    startup = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1)
    halves = Half(startup, octets, truth, 1), Half(b"", b"", [], 1)
    sendings = impair.cut_aligned(octets, truth)
    segments = impair.conversation(halves, (sendings, []), random.Random(1))
    path = tmp_path / "cut.pcap"
    pcapfile.write(path, segments, snaplen=100)
    connection = walker.walk(path)[1][0]
    assert connection.fpdus["i"] == []
    missing = 54 + len(octets[: truth[0].end]) - 100
    assert connection.streams["i"].holes() == [(20 + truth[0].end - missing, missing)]


def test_same_ports_again_are_another_connection(tmp_path: pathlib.Path) -> None:
    """A SYN with another initial sequence number starts over; the same SYN again does not."""
    octets, truth = build_stream([b"abcd"])
    startup = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1)
    segments: list[Segment] = []
    for isn in (1000, 90000):
        halves = Half(startup, octets, truth, isn), Half(b"", b"", [], isn)
        sent = impair.conversation(
            halves, (impair.cut_mss(octets, 5), []), random.Random(1), close="rst"
        )
        segments += [sent[0], *sent]
    path = tmp_path / "again.pcap"
    pcapfile.write(path, segments)
    connections = walker.walk(path)[1]
    assert [len(connection.fpdus["i"]) for connection in connections] == [1, 1]


def test_walkers_stream() -> None:
    """First octets stay, octets before the beginning are dropped, holes are told."""
    stream = walker.Stream(isn=2**32 - 1)
    stream.put(4, b"EFG")
    stream.put(-1, b"?AB")
    stream.put(1, b"xyz")
    stream.put(9, b"J")
    assert stream.contiguous() == b"AByzEFG"
    assert (stream.holes(), stream.seq(3)) == ([(7, 2)], 3)


def test_a_bad_length_is_not_trusted() -> None:
    """After a bad CRC the walk goes on only to an FPDU with a good one."""
    stream = walker.Stream(isn=0)
    good, _ = build_stream([bytes(20)] * 3)
    bad, _ = build_stream([bytes(20)] * 3, damage={1: Damage(crc_xor=1)})
    lying, _ = build_stream([bytes(20)] * 3, damage={1: Damage(ulpdu_length=8)})
    for octets, expected in ((good, "ggg"), (bad, "gbg"), (lying, "gb")):
        fpdus, _ = walker.walk_fpdus(octets, 0, stream, crc_on=True)
        assert "".join("g" if fpdu.crc_good else "b" for fpdu in fpdus) == expected


def test_all_captures_are_counted() -> None:
    """Each capture has its row in COUNTED and its file of expectations, and the other way."""
    assert {capture_name(path) for path in OVER_TCP} == set(COUNTED)
    expected = {expectation(path) for path in REAL + CRAFTED}
    assert expected == set((PCAPS.parent / "tests" / "expected").rglob("*.json"))


@pytest.mark.parametrize("path", OVER_TCP, ids=capture_name)
def test_walker_agrees_with_the_count(path: pathlib.Path) -> None:
    """Packets, FPDUs, connections and CRC fields are those counted before."""
    packets, connections = walker.walk(path)
    fpdus = [fpdu for c in connections for role in "ir" for fpdu in c.fpdus[role]]
    good = sum(fpdu.crc_good for fpdu in fpdus)
    zero = sum(fpdu.crc_zero and not fpdu.crc_good for fpdu in fpdus)
    bad = len(fpdus) - good - zero
    assert (packets, len(fpdus), len(connections), good, zero, bad) == COUNTED[capture_name(path)]


@pytest.mark.parametrize("path", OVER_TCP, ids=capture_name)
def test_expectations_are_the_walkers(path: pathlib.Path) -> None:
    """The files are what the walker writes today, and JSON of the documented shape."""
    text = expectation(path).read_text()
    walk = iftwalker.walk if path in OVER_IFT else walker.expectations
    assert text == walker.to_json(walk(path))
    loaded = json.loads(text)
    assert list(loaded)[:6] == ["packets", "connections", "startup", "fpdus", "holes", "rest"]
    assert all(len(row) == 8 for row in loaded["startup"])
    assert all(len(row) == 10 for row in loaded["fpdus"])

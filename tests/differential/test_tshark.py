# SPDX-License-Identifier: GPL-2.0-or-later
"""Wireshark and this project agree, FPDU by FPDU and field by field.

For each half connection, in stream order, these are compared: the startup frames (kind, M, C, R,
the other flag bits, Rev, PD_Length, Private Data), the FPDUs (ULPDU_Length, pad, CRC field and
verdict, every DDP and RDMAP header field, payload), and the captured frame that completes each.

Wireshark is an oracle only without Markers, with both startup frames captured and with nothing
missing.  ``NOT_COMPARED``, ``PAYLOAD_SHOWN`` and ``miscut`` show what else is left out: there the
octets show that Wireshark is wrong or silent.  Terminates are compared in the layout of RFC 5040
4.8, even if their sender (siw) uses another.

Records of real connections are also right about their end, copies and stalls.  There the oracle is
tshark's Terminates, FINs and RSTs, and its sequence numbers.
"""

import json
import random
from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.stream.events import FPDURecovered
from scapy_mpa.wire.ddp import TAGGED_LENGTH, UNTAGGED_LENGTH
from scapy_mpa.wire.rdmap_names import Opcode
from tests.captures import OVER_TCP, REAL, capture_name, expectation
from tests.cli.command import records
from tests.differential import ours
from tests.differential.tshark import Row, fields, rows
from tests.truth import impair, messages, mpastream, pcapfile

PROBE = "live_siw_probe_guest_eth0.pcap.gz"

NOT_COMPARED: dict[str, dict[int, str]] = {
    "erdma.pcap": {0: "Wireshark does not know the extension of revision 129"},
    "markers.pcap": {0: "Wireshark takes the second Marker of an FPDU (7) for its payload"},
    "mpa-rev0.pcap": {0: "Wireshark takes the second Marker of an FPDU (7) for its payload"},
    "softuiwarp.pcap": {0: "Wireshark does not know SoftUiWARP's pads"},
    "softuiwarp_crcoff.pcap": {0: "Wireshark does not know SoftUiWARP's pads"},
    PROBE: {
        16: "frame 214 is a Reply without a Request; Wireshark wants a Request first",
        21: "the Reply has R=1, yet both sides send an FPDU (266, 268); Wireshark expects none",
        27: "PD_Length is 513; Wireshark shows nothing after a PD_Length above 512",
        28: "PD_Length is 65535 and nothing follows; Wireshark shows no incomplete startup frame",
        30: "an FPDU stands in the segment of its Request (351); Wireshark does not look for it",
        32: "the Request comes octet by octet (366 to 404); Wireshark wants 20 in one segment",
        33: "the Request's first segment has 10 octets (418); Wireshark wants 20",
        42: "an FPDU begins with a segment of 7 octets (539); Wireshark starts with the next one",
        80: "an Atomic Request has 32 octets (1203) instead of 52: there are no fields to compare",
        107: "ULPDU_Length is 10 where 50 octets follow, and the CRC is bad (1585); Wireshark "
        "goes on where that length leads, and reads payload (00 00, 78 78) as ULPDU_Length",
    },
    "rtr-frame-proposal-2007.pcap": {0: "Wireshark takes the Rtr Frame (6) for an FPDU"},
}
"""Connections left out, by capture: why, with the numbers of the frames that show it."""

PAYLOAD_SHOWN = {
    *((True, each) for each in (Opcode.WRITE, Opcode.READ_RESPONSE)),
    *((False, each) for each in (Opcode.READ_REQUEST, Opcode.SEND, Opcode.SEND_WITH_INVALIDATE)),
    *((False, each) for each in (Opcode.SEND_WITH_SE, Opcode.SEND_WITH_SE_AND_INVALIDATE)),
}
"""T bit and opcode for which Wireshark shows what follows the headers.  It does not for Immediate
Data (which it does not know), Atomics, reserved opcodes and opcodes with the wrong T bit."""


def expected(capture: Path, kind: str) -> int:
    """How many FPDUs or startup frames of the expected records are to be compared."""
    listed = json.loads(expectation(capture).read_text(encoding="utf-8"))[kind]
    return sum(each[0] not in NOT_COMPARED.get(capture.name, ()) for each in listed)


def differences(capture: Path, program: str, skip: Iterable[int] = ()) -> tuple[list[str], int]:
    """The differences between Wireshark's rows and ours, and how many rows agree.

    :param program: tshark's path.
    :param skip: connections to leave out.
    """
    reading = ours.read(capture)
    theirs: dict[bytes, list[Row]] = {}
    for row in rows(program, capture):
        theirs.setdefault(reading.flow_of[int(row["frame"])], []).append(row)
    found: list[str] = []
    agreed = 0
    for (connection, direction), events in sorted(reading.found.items()):
        half = theirs.pop(events[0].connection.flows[direction], [])
        if connection in skip:
            continue
        for index, (event, row) in enumerate(zip_longest(events, half)):
            mine, shown = comparable(event), row or {}
            if isinstance(event, FPDURecovered) and event.out_of_order:
                # Wireshark waits for all earlier octets, and shows the FPDU in a later frame.
                mine["frame"] = shown.get("frame", 0)
            if miscut(mine):
                for name in ("copied_ddp_header", "copied_rdmap_header"):
                    mine.pop(name, None)
                    shown.pop(name, None)
            if mine == shown:
                agreed += 1
                continue
            where = f"connection {connection}, direction {direction}, number {index}"
            what = f"Wireshark {unlike(shown, mine)}, we {unlike(mine, shown)}"
            found.append(f"{where}: {what}")
    found += [f"only Wireshark: {row}" for half in theirs.values() for row in half]
    return found, agreed


def comparable(event: ours.Found | None) -> Row:
    """Our row, without payload that Wireshark does not show.  Without an event, an empty row."""
    row = ours.row(event) if event else {}
    if (row.get("tagged"), row.get("opcode")) not in PAYLOAD_SHOWN:
        row.pop("payload", None)
    return row


def miscut(terminate: Row) -> bool:
    """Whether Wireshark shows a copied DDP header with a wrong length.

    It derives the length from the error type.  The header's T bit gives it (RFC 5040 4.8).
    """
    header = terminate.get("copied_ddp_header", b"")
    assert isinstance(header, bytes)
    tagged = (terminate.get("layer"), terminate.get("etype")) in ((0, 1), (1, 1))
    return len(header) != (TAGGED_LENGTH if tagged else UNTAGGED_LENGTH)


def unlike(row: Row, other: Row) -> Row:
    """The values of a row that another row does not have, and the frame number."""
    return {key: row[key] for key in row if key == "frame" or row[key] != other.get(key)}


@pytest.mark.examples
@pytest.mark.parametrize("capture", OVER_TCP, ids=capture_name)
def test_real_capture(capture: Path, tshark: str) -> None:
    """Both find the same startup frames and FPDUs in a capture of real traffic."""
    skip = NOT_COMPARED.get(capture.name, {})
    found, agreed = differences(capture, tshark, skip)
    assert not found, "\n".join(found[:10])
    assert agreed == expected(capture, "fpdus") + expected(capture, "startup")


def constructed(rng: random.Random, *, crc: bool) -> tuple[impair.Half, impair.Half]:
    """Messages of every kind without Markers; one CRC field of each direction is wrong."""
    halves = []
    for key in (mpastream.REQUEST_KEY, mpastream.REPLY_KEY):
        startup = mpastream.startup_frame(
            key, crc=int(crc), revision=1, private_data=rng.randbytes(rng.randint(0, 512))
        )
        ulpdus = messages.random_ulpdus(rng, 60)
        harm = {len(ulpdus) // 2: mpastream.Damage(crc_xor=0x8000)}
        ulpdus += terminates()
        octets, truth = mpastream.build_stream(ulpdus, crc=crc, damage=harm)
        halves.append(impair.Half(startup, octets, truth, rng.getrandbits(32)))
    return halves[0], halves[1]


def terminates() -> list[bytes]:
    """A Terminate for each kind of header that can be copied, under each kind of error.

    No tagged header stands under an error for which Wireshark expects an untagged one.  Wireshark
    then reads past the end, calls the packet malformed, and ignores the end of the segment.
    """
    write = messages.write(1, 2, b"tagged")
    untagged = messages.send(3, b"untagged") + messages.read_request(4, 5, 6, 7, 8, 9)
    errors = {(0, 1, 1): write + untagged, (0, 2, 6): untagged, (1, 1, 0): write}
    return messages.terminate(2, 0, 2) + [
        terminate
        for error, in_error in errors.items()
        for ulpdu in in_error
        for terminate in messages.terminate(*error, ulpdu)
    ]


VERDICTS = {True: "good", False: "bad", None: "off"}


@pytest.mark.parametrize("crc", [True, False])
def test_constructed_conversation(tshark: str, tmp_path: Path, crc: bool) -> None:
    """Both find every FPDU of a conversation whose content is known."""
    rng = random.Random(f"{crc}")
    halves = constructed(rng, crc=crc)
    first, second = (impair.cut_packed(half.octets, half.truth, 1460) for half in halves)
    capture = tmp_path / "constructed.pcap"
    pcapfile.write(capture, impair.conversation(halves, (first, second), rng))
    found, agreed = differences(capture, tshark)
    assert not found, "\n".join(found[:10])
    assert agreed == 2 + sum(len(half.truth) for half in halves)
    reading = ours.read(capture)
    for direction, half in enumerate(halves):
        _, *fpdus = reading.found[0, direction]
        assert [(each.ulpdu, each.crc) for each in fpdus if isinstance(each, FPDURecovered)] == [
            (fpdu.ulpdu, VERDICTS[fpdu.crc_ok]) for fpdu in half.truth
        ]


# -- how connections end ---------------------------------------------------------------------------


_FIELDS = (
    *("frame.number", "tcp.stream", "ip.src", "ipv6.src", "tcp.srcport"),
    *("tcp.flags.fin", "tcp.flags.reset", "iwarp_rdma.opcode"),
    *("tcp.seq", "tcp.len", "ip.dst", "ipv6.dst", "tcp.dstport"),
)
_TERMINATE = 7

STALLED = {"netem_loss15_heavy_crcoff_at_server_B": [456]}
"""The frames that ended stalls."""


def ends(shown: list[list[str]]) -> dict[str, tuple[int, str]]:
    """Frame and cause of the end of each connection, by sender.

    The end is the first Terminate, else the first FIN or RST.
    """
    found: dict[str, list[tuple[bool, int, str, str]]] = {}
    for row in shown:
        frame, stream, ipv4, ipv6, port, fin, reset, opcodes, *_ = row
        is_terminate = _TERMINATE in [int(each, 16) for each in opcodes.split(",") if each]
        is_reset = reset in ("1", "True")
        if is_terminate or is_reset or fin in ("1", "True"):
            cause = "terminate" if is_terminate else "reset" if is_reset else "closed"
            sender = f"{ipv4 or f'[{ipv6}]'}:{port}"
            found.setdefault(stream, []).append((not is_terminate, int(frame), cause, sender))
    return {
        sender: (frame, cause) for _, frame, cause, sender in (min(each) for each in found.values())
    }


def captured_again(shown: list[list[str]]) -> dict[tuple[str, str], float]:
    """The share of octets that were captured before, by sender and receiver."""
    seen: dict[tuple[str, str], set[int]] = {}
    sent: Counter[tuple[str, str]] = Counter()
    for row in (each for each in shown if each[8]):
        sender, target = (
            f"{ipv4 or f'[{ipv6}]'}:{port}" for ipv4, ipv6, port in (row[2:5], row[10:13])
        )
        seq, length = map(int, row[8:10])
        seen.setdefault((sender, target), set()).update(range(seq, seq + length))
        sent[sender, target] += length
    return {each: 1 - len(seen[each]) / sent[each] for each in sent if sent[each]}


def connections(path: Path) -> list[dict[str, Any]]:
    """The connections of a capture that carried MPA and were not rejected."""
    return [
        each
        for each in records("--type", "connection", path)
        if each["revision"] is not None and each["end"]["cause"] != "rejected"
    ]


# Each connection of a live capture breaks a rule.  tshark does not find all their Terminates.
PLAIN = [path for path in REAL if not capture_name(path).startswith("live")]


@pytest.mark.parametrize("path", PLAIN, ids=capture_name)
def test_captures(tshark: str, path: Path) -> None:
    """End, share of retransmitted octets, and stalls of each connection.

    In one capture the loss was so high that a sender had to wait for its timeout.
    """
    shown = fields(tshark, path, _FIELDS, "--disable-protocol", "nvme-tcp")
    ours = connections(path)
    known, again = ends(shown), captured_again(shown)
    for each in ours:
        end = each["end"]
        if end["by"] == "capture":
            assert not known
        else:
            assert known[each[end["by"]]] == (end["frame"], end["cause"])
        share, (src, dst) = each["retransmitted_share"], (each["src"], each["dst"])
        assert share["src"] == pytest.approx(again.get((src, dst)))
        assert share["dst"] == pytest.approx(again.get((dst, src)))
    stalls = [each["stall_frame"] for each in ours if each["stalls"]]
    assert stalls == STALLED.get(capture_name(path), [])

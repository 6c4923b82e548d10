# SPDX-License-Identifier: GPL-2.0-or-later
"""End to end: the commands print what independent walkers find in captures.

They find connections, startup frames, FPDUs and messages of MPA, and those of the other carriers.
"""

import json
import re
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.captures import OF_OSC, OVER_IFT, OVER_SCTP, OVER_TCP, PCAPS, capture_name, expectation
from tests.cli.command import PROBE, Record, lines_of, parsed, records, run
from tests.dialects.sctp_feed import OPENING, closing, frames_of, talk_of
from tests.truth import iftwalker, oscwalker, pcapfile, sctpwalker, walker
from tests.truth import sctpstream as sctp
from tests.truth.headers import header_length, header_of
from tests.truth.walker import read_pcap

INVALID_STARTUP_FRAME = 4


def roles(found: list[Record]) -> dict[tuple[int, str], str]:
    """The role of each connection's endpoints: ``i`` or ``r``."""
    ends = [record for record in found if record["type"] == "connection"]
    return {
        (record["connection"], record[endpoint]): role
        for record in ends
        for endpoint, role in (("src", "i"), ("dst", "r"))
    }


def rows(found: list[Record], kind: str, names: str) -> list[list[Any]]:
    """The records of a type as the walkers have them: connection, role of the sender, values."""
    role = roles(found)

    def values(record: Record) -> Iterator[Any]:
        for value in map(record.get, names.split()):
            yield int(value) if isinstance(value, bool) else value

    return [
        [each["connection"], role[each["connection"], each["src"]], *values(each)]
        for each in found
        if each["type"] == kind
    ]


def whole_private_data(record: Record) -> str:
    """The Private Data field in hexadecimal, enhanced data included (RFC 6581 9)."""
    if not record["enhanced"]:
        return str(record["private_data"])
    a, b, c, d = (letter in record["control_flags"] for letter in "ABCD")
    words = a << 15 | b << 14 | record["ird"], c << 15 | d << 14 | record["ord"]
    return f"{words[0]:04x}{words[1]:04x}{record['private_data']}"


@pytest.mark.parametrize("path", OVER_TCP, ids=capture_name)
def test_capture(path: Path) -> None:
    """Every FPDU is reported once, with verdict and headers, and so are startup frames and
    connections."""
    expected = json.loads(expectation(path).read_text())
    found = records(path)
    headers = "seq ulpdu_length crc tagged last ddp_version rdmap_version opcode"
    assert sorted(rows(found, "fpdu", headers), key=repr) == sorted(expected["fpdus"], key=repr)
    for each in found:
        if each["type"] == "startup":
            each["private_data"] = whole_private_data(each)
    startup = []
    names = "kind revision markers crc rejected pd_length private_data"
    for number, by, kind, *values in rows(found, "startup", names):
        in_place = kind in {"i": ("request", "rtr"), "r": ("reply",)}[by]
        if in_place and len(values[-1]) == 2 * values[-2]:
            startup.append([number, kind, *values])
        else:
            # The walker lists only what is whole and in its place. The rest is an error.
            assert (number, INVALID_STARTUP_FRAME) in {
                (each["connection"], each.get("code")) for each in found
            }
    assert sorted(startup, key=repr) == sorted(expected["startup"], key=repr)
    ends = [each["connection"] for each in found if each["type"] == "connection"]
    assert sorted(ends) == list(range(expected["connections"]))
    assert rows(found, "gap", "seq") == [hole[:3] for hole in expected["holes"]]


SPECULATIVE = PCAPS / "crafted" / "ift_speculative.pcap"
SHIFTS = {
    name: 31 - place
    for place, name in enumerate(["ph", "r", "hc", "pc", "ih", "ip", "sp", "sm", "rm"])
}
VERDICTS = {True: "good", False: "bad", None: "off"}


@pytest.mark.parametrize("path", OVER_IFT, ids=capture_name)
def test_ift_capture(path: Path) -> None:
    """Each adaption indication has all its flags (4.2), each frame is found once with its verdicts.

    A frame within a payload is no frame (5.1, 8).
    """
    expected = json.loads(expectation(path).read_text())
    found = records(path)
    for each in found:
        if each["type"] == "adaption_indication":
            each["flags"] = sum(each[flag] << shift for flag, shift in SHIFTS.items())
        elif each["type"] == "ift_frame":
            first = each["tagged"] << 7 | each["last"] << 6 | each["ddp_version"]
            second = each["rdmap_version"] << 6 | each["opcode"]
            each["control"] = f"{first:02x}{second:02x}"
    assert {each["type"] for each in found} <= {"adaption_indication", "ift_frame", "connection"}
    indications = rows(found, "adaption_indication", "flags vtag")
    assert sorted(indications) == sorted(expected["indications"])
    names = "seq header_size payload_size vtag header_crc payload_crc control"
    wanted = [[*row[:6], VERDICTS[row[6]], VERDICTS[row[7]], row[8]] for row in expected["frames"]]
    assert sorted(rows(found, "ift_frame", names)) == sorted(wanted)


def test_ift_layers() -> None:
    """``-V`` shows the layers, and the table names the dialect."""
    assert "draft-williams-iwarp-ift-01" in run("summary", "--wide", SPECULATIVE).stdout
    tree = run("dissect", "-V", SPECULATIVE).stdout
    assert "###[ IFT Adaption Indication ]###" in tree
    assert "###[ IFT Frame ]###" in tree and "###[ DDP Tagged ]###" in tree


@pytest.mark.parametrize("path", OF_OSC, ids=capture_name)
@pytest.mark.parametrize("forced", [(), ("--dialect", "osc")], ids=["recognised", "forced"])
def test_osc_capture(path: Path, forced: tuple[str, ...]) -> None:
    """Every startup frame and FPDU is reported once, without an error."""
    expected = oscwalker.walk(path)
    assert json.loads(expectation(path).read_text()) == expected
    found = records("--check", "--payload", *forced, path)
    (connection,) = [each for each in found if each["type"] == "connection"]
    state = [connection[name] for name in ("dialect", "errors", "ended")]
    assert state == ["osc", 0, "closed"]
    # Revisions 0 and 1 are OSC's own here, not those of RFC 5044 appendix C.
    assert connection["rnics"] is None
    startup = rows(found, "startup", "kind revision markers crc")
    assert [[number, *values] for number, _, *values in startup] == expected["startup"]
    wanted = [[*row[:-1], row[-1][28 if row[-1] >= "8" else 36 :]] for row in expected["fpdus"]]
    fpdus = rows(found, "fpdu", "seq ulpdu_length markers crc payload")
    assert sorted(fpdus) == sorted(wanted)


READ_REQUEST, READ_RESPONSE = 1, 2

INTERLEAVED_OR_LACKING = frozenset({49, 50, 51, 52, 72, 88, 97})
"""Connections of the probe that the walker cannot follow: a message lies within another, or does
not begin where it must."""

Message = tuple[int, str, int, tuple[int, int], int, int]
"""Connection, role, opcode, QN and MSN or STag and TO, octets of payload, FPDUs."""

Read = tuple[int, str, int, int, int]
"""Connection, role of the requester, MSN, RDMA Read Message Size, octets of the Response or -1."""


def walked(path: Path) -> tuple[list[Message], list[Read]]:
    """The messages that ended with L, in the order of each stream, and the answers to Reads.

    Only order pairs Reads: the first Response answers the first Request.
    """
    found: list[Message] = []
    reads: list[Read] = []
    connections = iftwalker.connections(path) if path in OVER_IFT else walker.walk(path)[1]
    for number, connection in enumerate(connections):
        asked: dict[str, list[tuple[int, int, tuple[int, int]]]] = {"i": [], "r": []}
        given: dict[str, list[tuple[int, tuple[int, int]]]] = {"i": [], "r": []}
        for role in "ir":
            name, octets, fpdus = None, 0, 0
            for fpdu in connection.fpdus[role]:
                if len(fpdu.ulpdu) < 14 or (connection.crc_on and not fpdu.crc_good):
                    continue
                header = header_of(fpdu.ulpdu, len(fpdu.ulpdu))
                place = (header.stag, header.to) if header.tagged else (header.qn, header.msn)
                octets += len(fpdu.ulpdu) - header_length(fpdu.ulpdu)
                fpdus += 1
                name = name or place
                if not header.last:
                    continue
                found.append((number, role, header.opcode, name, octets, fpdus))
                if header.opcode == READ_RESPONSE:
                    given[role].append((octets, name))
                elif header.opcode == READ_REQUEST and len(fpdu.ulpdu) == 18 + 28:
                    stag, to, size = struct.unpack_from(">IQI", fpdu.ulpdu, 18)
                    asked[role].append((name[1], size, (stag, to)))
                name, octets, fpdus = None, 0, 0
        for role, other in ("ir", "ri"):
            for index, (msn, size, sink) in enumerate(asked[role]):
                octets, name = given[other][index] if index < len(given[other]) else (-1, sink)
                # Without octets, STag and TO mean nothing (RFC 5041 5.2).
                fits = name == sink or size == octets == 0
                reads.append((number, role, msn, size, octets if fits else -1))
    return found, reads


def printed(found: list[Record]) -> tuple[list[Message], list[Read]]:
    """The same messages and Reads, from records."""
    role = roles(found)
    whole: list[Message] = []
    reads: list[Read] = []
    for record in found:
        if record["type"] != "message":
            continue
        number = record["connection"]
        by = role[number, record["src"]]
        if record["complete"]:
            name = record["qn"], record["msn"]
            if record["qn"] is None:
                name = int(record["stag"], 16), int(record["to"], 16)
            assert record["length"] == record["captured_length"]
            whole.append((number, by, record["opcode"], name, record["length"], record["fpdus"]))
        if record["opcode"] == READ_RESPONSE and record["answers"] is not None:
            there = record["captured_length"] if record["complete"] else -1
            size = record["rdma_read_size"]
            reads.append((number, "ir"[by == "i"], record["answers"], size, there))
    return whole, reads


@pytest.mark.examples
@pytest.mark.parametrize("path", OVER_TCP, ids=capture_name)
def test_messages_of_a_capture(path: Path) -> None:
    """Complete messages and pairs of RDMA Read Request and Response are those of the walker."""
    expected, asked = walked(path)
    found, paired = printed(records("--type", "message,connection", path))
    if path == PROBE:
        expected = [each for each in expected if each[0] not in INTERLEAVED_OR_LACKING]
        found = [each for each in found if each[0] not in INTERLEAVED_OR_LACKING]
    assert Counter(found) == Counter(expected)
    assert sorted(paired) == sorted(asked)


WRONG = {
    50: "Send message qn 0 msn 1 30 octets in 2 DDP segments",
    52: "RDMA Write incomplete message stag 0xf3c61700 to 0x56499daa3000 40 octets in "
    "2 DDP segments, lacks 80 at 0x56499daa3014",
    70: "missing message qn 0 msn 1",
    97: "RDMA Read Request incomplete message qn 1 msn 1 28 octets in 1 DDP segment, reads 16 "
    "of stag 0xaee9a200 to 0x56499daa3000 into stag 0x00000001 to 0x2, lacks 4 at 0",
    98: "RDMA Read Request incomplete message qn 1 msn 1 28 octets in 1 DDP segment, "
    "lacks the rest from 28",
    101: "RDMA Read Response missing message stag 0x00000001 to 0x2, answers msn 1, "
    "16 octets asked for",
    116: "RDMA Read Response message stag 0x2f95c300 to 0x56499dba4000 48 octets in "
    "1 DDP segment, answers msn 1 after 682.0 us, 40 octets asked for",
    118: "RDMA Read Response message stag 0xec95f100 to 0x56499dba4008 40 octets in "
    "1 DDP segment, answers no Request",
}
"""Connections of the probe."""


def test_lines_of_wrong_messages() -> None:
    """Lines show in words what the probe sent, and how siw answered."""
    text = run("dissect", "--type", "message", PROBE).stdout
    found = re.findall(r" #(\d+) .* > \S+\s+(.*)", text)
    assert {(str(number), words) for number, words in WRONG.items()} <= set(found)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """An enhanced session: one chunk comes early, one never, and one is wrong.

    The place of the wrong chunk is not reported as an error, since another chunk is missing.
    """
    made = talk_of(">EI:5 <EA >S >S >S >S <S >c9 >T <T")
    units = [made.units[place] for place in (0, 1, 3, 2, 5, 6, 7, 8, 9)]
    path = tmp_path / "sctp.pcap"
    path.write_bytes(pcapfile.pcap([*OPENING, *frames_of(units), *closing(made)]))
    return path


def test_payload_and_layers(capture: Path) -> None:
    """``--payload`` and ``-V`` show both kinds of chunks."""
    chunks = records("--payload", "--type", "ddp_segment", capture)
    payloads = {each["tsn"]: each["payload"] for each in chunks}
    assert payloads == dict.fromkeys((101, 102, 104, 901), bytes(1).hex())
    text = run("dissect", "-V", "--payload", capture).stdout
    assert text.count("###[ DDP Stream Session Control ]###") == 5
    assert text.count("###[ DDP Segment Chunk ]###") == 4
    assert "ird       = 4" in text
    assert len(re.findall(r"^ +0000  00  ", text, re.MULTILINE)) == 4
    assert len(re.findall(r"^ +0000  00 00 00 00 00  ", text, re.MULTILINE)) == 1


def test_summary(capture: Path) -> None:
    """A session is a line of the table, and its error is counted."""
    result = run("summary", "--wide", capture)
    heading, line = result.stdout.splitlines()
    assert heading.split()[:5] == ["#", "Initiator", "Responder", "Dialect", "Rev"]
    cells = line.split()
    assert cells[:5] == ["0", "10.0.0.1:40000", "10.0.0.2:4000", "rfc5043", "-"]
    assert cells[7] == "3/1" and cells[-3:] == ["1/0", "1", "closed"]
    (error,) = records("--where", "type=error", capture)
    assert error["text"] == "function code 9 is not defined (RFC 5043 5.2.3)"
    (record,) = parsed(run("summary", "--json", capture).stdout)
    assert record["fpdus"] == {"src": 3, "dst": 1}
    assert (record["dialect"], record["crc"], record["revision"]) == ("rfc5043", None, None)


@pytest.mark.parametrize("path", OVER_SCTP, ids=capture_name)
def test_crafted_capture(path: Path) -> None:
    """Every message is reported once, as a plain walker over the octets has found it."""
    expected = json.loads(expectation(path).read_text())
    assert expected == sctpwalker.walk(path)
    found = []
    for each in records(path):
        port = int(each["src"].rpartition(":")[2])
        if each["type"] == "session_control":
            data = bytes.fromhex(each["private_data"])
            if each["enhanced"]:
                flags = {letter.lower(): int(letter in each["control_flags"]) for letter in "ABCD"}
                data = sctp.enhanced(each["ird"], each["ord"], **flags) + data
            what = ["control", each["function_code"], data.hex()]
        elif each["type"] == "ddp_segment":
            kind = ["tagged", "stag", "to"] if each["tagged"] else ["untagged", "qn", "msn", "mo"]
            rdmap = each["rdmap_version"] << 6 | each["opcode"]
            place = [each[name] for name in kind[1:]]
            if each["tagged"]:
                place = [int(value, 16) for value in place]
            what = [kind[0], int(each["last"]), rdmap, *place]
            what.append(each["payload_length"])
        else:
            assert (each["type"], each["errors"], each["ended"]) == ("connection", 0, "closed")
            continue
        found.append([port, each["tsn"], each["stream"], each["ddp_ssn"], *what])
    assert sorted(found) == expected["messages"]


@pytest.mark.parametrize("command", ["dissect", "summary"])
def test_bad_checksums_are_counted(tmp_path: Path, command: str) -> None:
    """Packets with bad checksums are counted and ignored (RFC 4960 6.8)."""
    frames = [*read_pcap(PCAPS / "crafted" / "sctp_enhanced.pcap")]
    # The Checksum follows 14 octets of Ethernet, 20 of IP, and 8 of SCTP.
    damaged = [each[:42] + bytes([each[42] ^ 0x5A]) + each[43:] for each in frames]
    path = tmp_path / "damaged.pcap"
    path.write_bytes(pcapfile.pcap(damaged))
    result = run(command, "--json", path)
    _, end = lines_of(result.stdout)
    assert end["not_followed"] == {"SCTP checksum bad": len(frames)}
    assert result.stderr.endswith(f" frames not followed: {len(frames)} SCTP checksum bad\n")

# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP over SCTP on the command line: lines, records, layers and the table (RFC 5043)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.captures import OVER_SCTP, capture_name, expectation
from tests.cli.command import lines_of, parsed, records, run
from tests.dialects.sctp_feed import OPENING, Talk, closing, frames_of
from tests.truth import pcapfile, sctpwalker
from tests.truth import sctpstream as sctp


def talk() -> Talk:
    """An enhanced session: one chunk comes early, one never, and one is wrong.

    The place of the wrong chunk is not reported as an error, since another chunk is missing.
    """
    made = Talk()
    made.control(0, sctp.ENHANCED_INITIATE, sctp.enhanced(4, 8, a=1, b=1) + b"hello")
    made.control(1, sctp.ENHANCED_ACCEPT, sctp.enhanced(8, 4, a=1, b=1))
    for payload in (b"zero", b"one", b"two", b"three"):
        made.send(0, payload)
    made.say(1, sctp.SEGMENT, sctp.segment(1, sctp.write(7, 0x1000, b"written")))
    made.ssns[1] += 1
    made.control(0, 9)
    made.end_session()
    return made


def frames_of_talk(*places: int) -> list[bytes]:
    """The frames of :func:`talk` whose chunks are in these places, or all of them."""
    made = talk()
    units = [made.units[place] for place in places] or made.units
    return [*OPENING, *frames_of(units), *closing(made)]


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A capture of :func:`talk`."""
    path = tmp_path / "sctp.pcap"
    path.write_bytes(pcapfile.pcap(frames_of_talk(0, 1, 3, 2, *range(5, len(talk().units)))))
    return path


def test_payload_and_layers(capture: Path) -> None:
    """``--payload`` and ``-V`` show both kinds of chunks."""
    found = records("--payload", capture)
    chunks = [each for each in found if each["type"] == "ddp_segment"]
    payloads = {each["tsn"]: bytes.fromhex(each["payload"]) for each in chunks}
    assert payloads == {101: b"zero", 102: b"one", 104: b"three", 901: b"written"}
    text = run("dissect", "-V", "--payload", capture).stdout
    assert text.count("###[ DDP Stream Session Control ]###") == 5
    assert text.count("###[ DDP Segment Chunk ]###") == 4
    assert "ird       = 4" in text and "|hello" not in text
    assert "77 72 69 74 74 65 6e" in text and "68 65 6c 6c 6f" in text


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
    frames = frames_of_talk()
    # The Checksum follows 14 octets of Ethernet, 20 of IP, and 8 of SCTP.
    damaged = [each[:42] + bytes([each[42] ^ 0x5A]) + each[43:] for each in frames]
    path = tmp_path / "damaged.pcap"
    path.write_bytes(pcapfile.pcap(damaged))
    result = run(command, "--json", path)
    _, end = lines_of(result.stdout)
    assert end["not_followed"] == {"SCTP checksum bad": len(frames)}
    assert result.stderr.endswith(f" frames not followed: {len(frames)} SCTP checksum bad\n")

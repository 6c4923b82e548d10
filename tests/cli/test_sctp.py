# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP over SCTP on the command line: lines, records, layers and the table (RFC 5043)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.captures import OVER_SCTP, PCAPS, capture_name, expectation
from tests.cli.command import lines_of, parsed, records, run
from tests.dialects.sctp_feed import OPENING, closing, frames_of, talk_of
from tests.truth import pcapfile, sctpwalker
from tests.truth import sctpstream as sctp
from tests.truth.walker import read_pcap


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

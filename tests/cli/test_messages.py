# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMAP messages of real captures: a plain walker puts the same messages together."""

from __future__ import annotations

import re
import struct
from collections import Counter
from pathlib import Path

import pytest

from tests.captures import OVER_IFT, OVER_TCP, capture_name
from tests.cli.command import PROBE, Record, records, run
from tests.cli.test_captures import roles
from tests.truth import iftwalker, walker
from tests.truth.headers import header_length, header_of

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

# SPDX-License-Identifier: GPL-2.0-or-later
"""Plain walker over captures of OSC's software iWARP without missing octets.

It imports nothing from ``scapy_mpa``.  As that stack does, it counts the octets of a direction one
by one, without those of CRC fields.  A Marker stands where the count is a
multiple of 512.  A Marker between two FPDUs stands before the CRC field if there is one, else
before the next FPDU.

``python -m tests.truth.oscwalker FILE...`` writes what it finds to
``tests/expected/crafted/NAME.json``.  Startup frames: connection, kind, Rev, M, C.  FPDUs:
connection, role, TCP sequence number of the ULPDU_Length field, ULPDU_Length, how many Markers,
verdict on the CRC, and the ULPDU in hex.  The walker checks where each Marker points.
"""

import pathlib
import sys
from collections.abc import Iterator
from typing import NamedTuple

from crc32c import crc32c

from tests.truth import walker


class Walked(NamedTuple):
    """One FPDU."""

    begin: int
    header: int
    end: int
    ulpdu: bytes
    markers: list[tuple[int, bytes]]
    crc_good: bool | None

    def agrees(self) -> bool:
        """Whether each Marker points to ULPDU_Length, with the least significant octet first."""
        return all(
            marker[:2] == b"\0\0" and int.from_bytes(marker[2:], "little") == max(0, at - begin)
            for begin in [self.header]
            for at, marker in self.markers
        )


def fpdus_of(octets: bytes, *, markers: bool, crc: bool) -> Iterator[Walked]:
    """The FPDUs of a direction, from the first on."""
    at = count = 0
    while at < len(octets):
        begin, header, body, found = at, -1, bytearray(), []
        while True:
            whole = 2 + int.from_bytes(body[:2], "big") if len(body) >= 2 else 1 << 20
            is_done = len(body) == (whole + 3) // 4 * 4
            if is_done and not crc:
                break
            if markers and count % 512 == 0:
                found.append((at, octets[at : at + 4]))
                at += 4
                count += 4
                continue
            if is_done:
                break
            if header < 0:
                header = at
            body.append(octets[at])
            at += 1
            count += 1
        good = None
        if crc:
            good = crc32c(octets[begin:at]) == int.from_bytes(octets[at : at + 4], "little")
            at += 4
        yield Walked(begin, header, at, bytes(body[2:whole]), found, good)


def walk(path: pathlib.Path) -> dict[str, int | list[list[object]]]:
    """The expectations of a capture, as in the module docstring."""
    startup: list[list[object]] = []
    fpdus: list[list[object]] = []
    for number, connection in enumerate(walker.walk(path)[1]):
        request, reply = connection.request, connection.reply
        assert request is not None and reply is not None
        for frame in (request, reply):
            startup.append([number, frame.kind, frame.revision, frame.markers, frame.crc])
        for role, sent, received in (("i", request, reply), ("r", reply, request)):
            stream = connection.streams[role]
            assert not stream.holes()
            octets = stream.contiguous()[sent.size :]
            marked = bool(received.markers)
            for each in fpdus_of(octets, markers=marked, crc=connection.crc_on):
                assert each.agrees()
                verdict = {True: "good", False: "bad", None: "off"}[each.crc_good]
                seq = stream.seq(sent.size + each.header)
                row = [seq, len(each.ulpdu), len(each.markers), verdict, each.ulpdu.hex()]
                fpdus.append([number, role, *row])
    return {"startup": startup, "fpdus": fpdus}


if __name__ == "__main__":
    walker.write(sys.argv[1:], walk)

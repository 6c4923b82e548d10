# SPDX-License-Identifier: GPL-2.0-or-later
"""The content of a capture of DDP over SCTP, chunk by chunk, without the package under test.

It reads Ethernet, IPv4 and SCTP (RFC 4960 3) and the headers after them (RFC 5043 5.2, RFC 5041 4),
takes each TSN once, and reassembles fragments.  ``python -m tests.truth.sctpwalker FILE...`` writes
what it finds to ``tests/expected/crafted/NAME.json``.
"""

import pathlib
import struct
import sys
from typing import Any

from crc32c import crc32c

from tests.truth import walker

Row = list[Any]


def chunks(packet: bytes) -> list[tuple[int, int, bytes]]:
    """Type, flags and value of each chunk of an SCTP packet with a good checksum."""
    (checksum,) = struct.unpack_from("<I", packet, 8)
    assert checksum == crc32c(packet[:8] + bytes(4) + packet[12:])
    found = []
    at = 12
    while at < len(packet):
        kind, flags, size = struct.unpack_from(">BBH", packet, at)
        found.append((kind, flags, packet[at + 4 : at + size]))
        at += size + 3 & ~3
    return found


def walk(path: pathlib.Path) -> dict[str, Any]:
    """The number of frames, and a row for each user message.

    A row is: source port, TSN, stream, DDP-SSN, then ``"control"``, function code and Private Data
    in hexadecimal; or ``"tagged"``, L, RDMAP control octet, STag, TO and octets of payload; or
    ``"untagged"``, L, RDMAP control octet, QN, MSN, MO and octets of payload.
    """
    frames = [*walker.read_pcap(path)]
    seen: set[tuple[int, int]] = set()
    pieces: dict[tuple[int, int], tuple[int, int, int, bytes]] = {}
    for frame in frames:
        assert frame[12:14] == b"\x08\x00" and frame[14] == 0x45 and frame[23] == 132
        (total,) = struct.unpack_from(">H", frame, 16)
        packet = frame[34 : 14 + total]
        (port,) = struct.unpack_from(">H", packet)
        for kind, flags, value in chunks(packet):
            if kind == 0:
                tsn, stream, _, ppid = struct.unpack_from(">IHHI", value)
                if (port, tsn) not in seen:
                    seen.add((port, tsn))
                    pieces[port, tsn] = flags, stream, ppid, value[12:]
    rows = []
    for (port, tsn), (flags, stream, ppid, user_data) in pieces.items():
        if not flags & 2:
            continue
        fragment_tsn = tsn
        while not flags & 1:
            fragment_tsn += 1
            flags, _, _, more = pieces[port, fragment_tsn]
            user_data += more
        rows.append([port, tsn, stream, *row(ppid, user_data)])
    return {"frames": len(frames), "messages": sorted(rows)}


def row(ppid: int, user_data: bytes) -> Row:
    """The row of a user message, without port, TSN and stream."""
    (ddp_ssn,) = struct.unpack_from(">H", user_data)
    if ppid == 17:
        (code,) = struct.unpack_from(">H", user_data, 2)
        return [ddp_ssn, "control", code, user_data[4:].hex()]
    assert ppid == 16
    control, rdmap = user_data[2], user_data[3]
    last = control >> 6 & 1
    if control & 0x80:
        stag, to = struct.unpack_from(">IQ", user_data, 4)
        return [ddp_ssn, "tagged", last, rdmap, stag, to, len(user_data) - 16]
    _, qn, msn, mo = struct.unpack_from(">IIII", user_data, 4)
    return [ddp_ssn, "untagged", last, rdmap, qn, msn, mo, len(user_data) - 20]


if __name__ == "__main__":
    walker.write(sys.argv[1:], walk)

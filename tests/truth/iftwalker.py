# SPDX-License-Identifier: GPL-2.0-or-later
"""Plain walker over captures of iWARP Framing for TCP without missing octets.

It imports nothing from ``scapy_mpa``.  ``python -m tests.truth.iftwalker FILE...`` writes for each
capture the file that ``tests.truth.walker`` writes (without FPDUs), with two more members.
``indications``: connection, role, the 32 flag bits, VTag.  ``frames``: connection, role, TCP
sequence number, header_size, payload_size, VTag, whether header and payload CRC match (null if
there is none), and the first two octets of the DDP header.
"""

import pathlib
import struct
import sys
from collections.abc import Iterator

from crc32c import crc32c

from tests.truth import walker

HC, PC = 1 << 29, 1 << 28

Frame = tuple[int, tuple[int, int, int], bytes, bytes, bool | None, bool | None]


def fits(octets: bytes, crc: bytes) -> bool:
    """Whether a CRC is that of octets."""
    return crc32c(octets) == int.from_bytes(crc, "little")


def connections(path: pathlib.Path) -> list[walker.Connection]:
    """The connections of a capture, with the DDP segments of their frames as FPDUs."""
    _, found = walker.reassembled(path)
    for connection in found:
        for role in "ir":
            stream = connection.streams[role]
            assert not stream.holes()
            connection.fpdus[role] = [
                walker.WalkedFPDU(stream.seq(at), ddp + payload, all_good, False)
                for at, _, ddp, payload, *verdicts in frames_of(stream.contiguous())
                for all_good in [False not in verdicts]
            ]
    return found


def frames_of(octets: bytes) -> Iterator[Frame]:
    """The frames of a direction: offset, IFT header, DDP header, payload, verdicts on both CRCs."""
    _, flags, _ = indication_of(octets)
    at = 64
    while at < len(octets):
        size, payload_size, vtag = struct.unpack_from(">HHH", octets, at)
        end = at + 6 + size
        payload = end + (4 if flags & HC else 0)
        payload_end = payload + payload_size
        after = payload_end + (4 if flags & PC else 0)
        yield (
            at,
            (size, payload_size, vtag),
            octets[at + 6 : end],
            octets[payload:payload_end],
            fits(octets[at:end], octets[end:payload]) if flags & HC else None,
            fits(octets[payload:payload_end], octets[payload_end:after]) if flags & PC else None,
        )
        at = after
    assert at == len(octets)


def indication_of(octets: bytes) -> tuple[int, int, int]:
    """Magic number, flags and VTag of the indication at the beginning of a direction."""
    magic, flags, vtag = struct.unpack_from(">I4xIH", octets)
    assert magic == 0x52444450 and fits(octets[:60], octets[60:64])
    return magic, flags, vtag


def walk(path: pathlib.Path) -> dict[str, int | list[list[object]]]:
    """The expectations of a capture, as in the module docstring."""
    indications: list[list[object]] = []
    frames: list[list[object]] = []
    for number, connection in enumerate(connections(path)):
        for role in "ir":
            stream = connection.streams[role]
            octets = stream.contiguous()
            _, flags, vtag = indication_of(octets)
            indications.append([number, role, flags, vtag])
            for at, header, ddp, _, *verdicts in frames_of(octets):
                frames.append([number, role, stream.seq(at), *header, *verdicts, ddp[:2].hex()])
    return {**walker.expectations(path), "indications": indications, "frames": frames}


if __name__ == "__main__":
    walker.write(sys.argv[1:], walk)

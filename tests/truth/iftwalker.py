# SPDX-License-Identifier: GPL-2.0-or-later
"""Plain walker over captures of iWARP Framing for TCP of which no octet is missing.

It imports nothing from ``scapy_mpa``.  ``python -m tests.truth.iftwalker FILE...`` writes what it
finds to ``tests/expected/ift/NAME.json``: indications as connection, role, the 32 flag bits, VTag;
frames as connection, role, TCP sequence number, header_size, payload_size, VTag, whether header and
payload CRC match (null if there is none), and the first two octets of the DDP header.
"""

from __future__ import annotations

import pathlib
import struct
import sys

from crc32c import crc32c

from tests.truth import walker

EXPECTED = walker.EXPECTED / "ift"
HC, PC = 1 << 29, 1 << 28


def fits(octets: bytes, crc: bytes) -> bool:
    """Whether a CRC is that of octets."""
    return crc32c(octets) == int.from_bytes(crc, "little")


def walk(path: pathlib.Path) -> dict[str, int | list[list[object]]]:
    """What the module docstring says."""
    segments = [
        segment
        for number, frame in enumerate(walker.read_pcap(path), 1)
        if (segment := walker.parse_frame(number, frame)) is not None
    ]
    indications: list[list[object]] = []
    frames: list[list[object]] = []
    for number, connection in enumerate(walker.group(segments)):
        walker.reassemble(connection)
        for role in "ir":
            stream = connection.streams[role]
            octets = stream.contiguous()
            assert not stream.holes()
            magic, flags, vtag = struct.unpack_from(">I4xIH", octets)
            assert magic == 0x52444450 and fits(octets[:60], octets[60:64])
            indications.append([number, role, flags, vtag])
            at = 64
            while at < len(octets):
                size, payload_size, vtag = struct.unpack_from(">HHH", octets, at)
                end = at + 6 + size
                payload = end + (4 if flags & HC else 0)
                payload_end = payload + payload_size
                behind = payload_end + (4 if flags & PC else 0)
                frames.append(
                    [
                        number,
                        role,
                        stream.seq(at),
                        size,
                        payload_size,
                        vtag,
                        fits(octets[at:end], octets[end:payload]) if flags & HC else None,
                        fits(octets[payload:payload_end], octets[payload_end:behind])
                        if flags & PC
                        else None,
                        octets[at + 6 : at + 8].hex(),
                    ]
                )
                at = behind
            assert at == len(octets)
    return {"indications": indications, "frames": frames}


def main(arguments: list[str]) -> None:
    """Write the expectations of the captures named."""
    EXPECTED.mkdir(exist_ok=True)
    for argument in arguments:
        path = pathlib.Path(argument)
        target = EXPECTED / f"{walker.capture_name(path)}.json"
        target.write_text(walker.to_json(walk(path)))
        print(target)


if __name__ == "__main__":
    main(sys.argv[1:])

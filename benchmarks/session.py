# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares ``MPASession`` with Scapy's own ``TCPSession`` on the same capture.

::

    python -m benchmarks.session --size 5M --runs 3

TCPSession needs a layer that says where a packet ends.  The layer here does only that.  MPASession
also checks CRCs and dissects DDP and RDMAP.  The layer finds no FPDU after a Marker, a hole or a
late segment.  So both read a ``bulk`` capture, with one FPDU in each segment.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

from scapy.config import conf
from scapy.fields import ShortField, StrField
from scapy.layers.inet import TCP
from scapy.packet import Packet, bind_layers, split_layers
from scapy.sendrecv import sniff
from scapy.sessions import TCPSession

from benchmarks.conversation import RESPONDER_PORT
from benchmarks.generate import generate
from benchmarks.size import size_argument
from scapy_mpa.layers import FPDU
from scapy_mpa.session import MPASession

__all__ = ["StandIn", "seconds_with_mpasession", "seconds_with_tcpsession"]

_KEY: Final = b"MPA ID Re"
_START_OF_KEY: Final = int.from_bytes(_KEY[:2], "big")
_STARTUP_LENGTH: Final = 20


class StandIn(Packet):  # type: ignore[misc]  # Scapy's classes are not typed
    """An FPDU, or a startup frame: only its end is known."""

    name = "MPA stand-in"
    fields_desc = [ShortField("ulpdu_length", 0), StrField("rest", b"")]  # noqa: RUF012

    @classmethod
    def tcp_reassemble(
        cls, data: bytes, metadata: dict[str, Any], session: dict[str, Any]
    ) -> Packet | None:
        """Return the first FPDU of ``data``, what follows it as padding; None if it is cut."""
        if data.startswith(_KEY):
            length = _STARTUP_LENGTH
        else:
            # The FPDU without its CRC is a multiple of 4 octets long (RFC 5044 4.1).
            length = (int.from_bytes(data[:2], "big") + 2 + 3 & ~3) + 4
        if len(data) < length:
            metadata["tcp_min_len"] = length
            return None
        packet = cls(data[:length])
        if len(data) > length:
            packet.add_payload(conf.padding_layer(data[length:]))
        return packet


@contextmanager
def _bound() -> Iterator[None]:
    """Bind the stand-in to the port while TCPSession needs it: it would slow MPASession down."""
    for port in ("sport", "dport"):
        bind_layers(TCP, StandIn, **{port: RESPONDER_PORT})
    try:
        yield
    finally:
        for port in ("sport", "dport"):
            split_layers(TCP, StandIn, **{port: RESPONDER_PORT})


def seconds_with_mpasession(capture: Path) -> tuple[float, int]:
    """Return seconds of processor time, and how many FPDUs were found."""
    return _seconds(capture, MPASession, lambda packet: FPDU in packet)


def seconds_with_tcpsession(capture: Path) -> tuple[float, int]:
    """Return seconds of processor time, and how many FPDUs were found."""
    with _bound():
        return _seconds(capture, TCPSession, _holds_fpdu)


def _holds_fpdu(packet: Packet) -> bool:
    layer = packet.getlayer(StandIn)
    return layer is not None and layer.ulpdu_length != _START_OF_KEY


def _seconds(capture: Path, session: type, is_fpdu: Callable[[Packet], bool]) -> tuple[float, int]:
    found = 0

    def count(packet: Packet) -> None:
        nonlocal found
        found += is_fpdu(packet)

    start = time.process_time()
    sniff(offline=str(capture), session=session, store=False, prn=count)
    return time.process_time() - start, found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.session")
    parser.add_argument("--size", type=size_argument, default="5M", help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=3, help="of each session; default: %(default)s")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    sessions = {"MPASession": seconds_with_mpasession, "TCPSession": seconds_with_tcpsession}
    runs: dict[str, list[float]] = {name: [] for name in sessions}
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="scapy-mpa-benchmark-") as directory:
        capture = Path(directory, "bulk.pcap")
        made = generate("bulk", options.size, capture)
        for _ in range(options.runs):
            for name, seconds_with in sessions.items():
                seconds, counts[name] = seconds_with(capture)
                runs[name].append(seconds)
    print(f"{made.octets} octets, {made.frames} frames, {made.fpdus} FPDUs\n")
    print("| session | FPDUs found | CPU s | TCPSession / it |\n| --- | ---: | ---: | ---: |")
    theirs = median(runs["TCPSession"])
    for name, seconds_of in runs.items():
        seconds = median(seconds_of)
        print(f"| {name} | {counts[name]} | {seconds:.2f} | {theirs / seconds:.2f} |")


if __name__ == "__main__":
    main()

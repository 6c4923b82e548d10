# SPDX-License-Identifier: GPL-2.0-or-later
"""The captures of this repository: how many frames, and the same segments as Scapy finds."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from scapy_mpa.capture import Decoder, open_capture
from tests.captures import CRAFTED, PCAPS, REAL, capture_name

PACKETS = {
    name: int(packets)
    for name, packets in re.findall(
        r"^\| (\S+) \| (\d+) \|", (PCAPS / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
}

each_file = pytest.mark.parametrize("path", REAL + CRAFTED, ids=capture_name)


@each_file
def test_packets(path: Path) -> None:
    """As many frames as the table of the captures says, and no problem."""
    with open_capture(path) as capture:
        assert sum(1 for _ in capture) == PACKETS[path.relative_to(PCAPS).as_posix()]
        assert capture.problem is None
        assert capture.octets_read == capture.size == path.stat().st_size


@pytest.mark.parametrize("form", ["pcap", "nsecpcap", "modpcap", "pcapng"])
def test_same_frames_in_every_format(tmp_path: Path, tshark: str, form: str) -> None:
    """A capture that Wireshark's code has written anew in another format has the same frames."""
    path = PCAPS / "rping_ipv6_mpa2_crcon.pcap"
    subprocess.run(
        [tshark, "-r", path, "-F", form, "-w", tmp_path / "x"], check=True, capture_output=True
    )
    with open_capture(path) as capture, open_capture(tmp_path / "x") as rewritten:
        assert list(rewritten) == list(capture)
        assert rewritten.problem is None


@pytest.mark.examples
@each_file
def test_same_as_scapy(path: Path) -> None:
    """Scapy's dissection of each frame has the same addresses, numbers, flags and payload."""
    decoder = Decoder()
    without_segment = 0
    with open_capture(path) as capture:
        for frame in capture:
            segment = decoder.segment(frame)
            ip = Ether(frame.octets)
            while not isinstance(ip, IP | IPv6) and ip.payload:
                ip = ip.payload
            tcp = ip.payload
            if not isinstance(ip, IP | IPv6) or not isinstance(tcp, TCP):
                assert segment is None
                without_segment += 1
                continue
            assert segment is not None
            length = ip.len - 4 * ip.ihl if isinstance(ip, IP) else ip.plen
            raw = bytes(ip)
            at = 8 if isinstance(ip, IPv6) else 12
            size = 32 if isinstance(ip, IPv6) else 8
            assert segment.flow[:-4] == raw[at : at + size]
            assert segment.flow[-4:] == struct.pack(">HH", tcp.sport, tcp.dport)
            assert (segment.seq, segment.ack) == (tcp.seq, tcp.ack)
            assert segment.flags == int(tcp.flags) & 0xFF
            assert segment.length == length - 4 * tcp.dataofs
            assert segment.payload == bytes(tcp.payload)[: segment.length]
            assert (segment.frame, segment.time_ns) == (frame.number, frame.time_ns)
    assert decoder.not_followed.total() == without_segment

# SPDX-License-Identifier: GPL-2.0-or-later
"""``MPASession`` and ``rdmpa()`` on DDP over SCTP: frames pass, and there are records."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.layers.sctp import SCTPChunkData
from scapy.sendrecv import sniff

from scapy_mpa.session import MPASession, rdmpa
from tests.captures import PCAPS
from tests.dialects.sctp_feed import Talk, frames_of
from tests.session.plain import sniffed
from tests.truth import pcapfile
from tests.truth.walker import read_pcap


@pytest.mark.parametrize("name", ["sctp_enhanced", "sctp_fragments", "sctp_reject"])
def test_frames_pass(name: str) -> None:
    """``sniff()`` gives the frames, and ``rdmpa()`` the records."""
    path = PCAPS / "crafted" / f"{name}.pcap"
    found = sniffed(path)
    assert [bytes(each) for each in found] == [*read_pcap(path)]
    packets = rdmpa(str(path))
    assert len(packets) == 0 and len(rdmpa(path, others=True)) == len(found)
    (connection,) = packets.connections()
    assert (connection["dialect"], connection["ended"]) == ("rfc5043", "closed")
    assert not packets.errors() and not packets.gaps()


def test_other_sctp_passes(tmp_path: Path) -> None:
    """SCTP without DDP is counted as not followed, and passes unchanged."""
    made = Talk()
    made.say(0, 46, b"diameter")
    path = tmp_path / "diameter.pcap"
    path.write_bytes(pcapfile.pcap(frames_of(made.units)))
    session = MPASession()
    assert len(sniff(offline=str(path), session=session, quiet=True)) == 1
    assert session.not_followed == rdmpa(path).not_followed() == {"SCTP without DDP": 1}
    assert len(rdmpa(path)) == 0
    (packet,) = rdmpa(path, others=True)
    assert packet[SCTPChunkData].proto_id == 46

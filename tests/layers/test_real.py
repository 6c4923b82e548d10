# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs and startup frames of real connections, found by the tests' own walker."""

from pathlib import Path

import pytest
from scapy.packet import Padding, Raw

from scapy_mpa.layers import (
    FPDU,
    DDPTagged,
    DDPUntagged,
)
from tests.truth import walker

CAPTURES = Path(__file__).resolve().parents[2] / "pcaps"
SOME = [
    "connect_pd200_ird4_ord8",
    "mix_mpa0_crcoff",
    "mix_mpa1_crcon",
    "p2p_rtr_read_crcon",
    "p2p_rtr_write_crcoff",
    "reject_pdata",
    "rping_ipv6_mpa2_crcon",
    "term_cmdsinv",
    "term_readoob",
    "term_sendnorecv",
    "term_writebad",
    "vlan5_mix_crcon",
]


def connections(name: str) -> list[walker.Connection]:
    """The connections of a capture."""
    return walker.walk(CAPTURES / f"{name}.pcap")[1]


@pytest.mark.parametrize("name", SOME)
def test_every_fpdu(name: str) -> None:
    """Fields as in the octets, a message above DDP, the CRC as it is, octets rebuilt."""
    for connection in connections(name):
        for role, startup in (("i", connection.request), ("r", connection.reply)):
            if startup is None:
                continue
            octets = connection.streams[role].contiguous()[startup.size :]
            for found in connection.fpdus[role]:
                fpdu = FPDU(octets)
                rest = fpdu[Padding].load if Padding in fpdu else b""
                assert bytes(fpdu) == octets
                assert bytes(fpdu.payload.build())[: len(found.ulpdu)] == found.ulpdu
                assert fpdu.ulpdu_length == len(found.ulpdu)
                assert (fpdu.crc_verdict() == "good") is found.crc_good
                segment = fpdu.payload
                assert isinstance(segment, (DDPTagged, DDPUntagged))
                assert [
                    segment.tagged,
                    segment.last,
                    segment.ddp_version,
                    segment.rdmap_version,
                    segment.opcode,
                ] == walker.control(found.ulpdu)
                assert type(segment.payload) is not Raw
                octets = rest
            assert len(octets) == connection.rest[role]

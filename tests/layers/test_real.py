# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs and startup frames of real connections, found by the tests' own walker."""

from collections import Counter
from pathlib import Path

import pytest
from scapy.packet import Padding, Raw

from scapy_mpa.layers import (
    FPDU,
    MPA,
    DDPTagged,
    DDPUntagged,
    MPAReply,
    MPARequest,
    RDMAPTerminate,
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


@pytest.mark.parametrize("name", SOME)
def test_every_startup_frame(name: str) -> None:
    """Fields as in the octets, and the octets rebuilt."""
    for connection in connections(name):
        for role, startup, layer in (
            ("i", connection.request, MPARequest),
            ("r", connection.reply, MPAReply),
        ):
            if startup is None:
                continue
            octets = connection.streams[role].contiguous()
            frame = MPA(octets)
            assert type(frame) is layer
            assert bytes(frame) == octets
            assert (frame.markers, frame.crc, frame.rejected, frame.revision) == (
                startup.markers,
                startup.crc,
                startup.rejected,
                startup.revision,
            )
            assert frame.private_data == startup.private_data[4 if frame.s else 0 :]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("term_cmdsinv", "RDMA: Remote Operation Error: STag cannot be Invalidated"),
        ("term_readoob", "RDMA: Remote Protection Error: Base or bounds violation"),
        ("term_sendnorecv", "DDP: Untagged Buffer Error: Invalid MSN - no buffer available"),
        ("term_writebad", "DDP: Tagged Buffer Error: Invalid STag"),
    ],
)
def test_terminates_of_siw(name: str, error: str) -> None:
    """Mirrored, recognised as such, and with the error that was provoked."""
    summaries: Counter[str] = Counter()
    for connection in connections(name):
        for fpdus in connection.fpdus.values():
            for found in fpdus:
                if found.ulpdu[1] & 15 != 7:
                    continue
                message = DDPUntagged(found.ulpdu)[RDMAPTerminate]
                assert message.mirrored is True
                assert message.problem is None
                summaries[message.describe()] += 1
    assert summaries == {f"Terminate {error}": 1}

# SPDX-License-Identifier: GPL-2.0-or-later
"""The sources of truth agree with the published examples and the captures."""

from __future__ import annotations

import json
import pathlib
import struct

import pytest

from tests.captures import CRAFTED, OVER_IFT, OVER_TCP, PCAPS, REAL, capture_name, expectation
from tests.truth import iftwalker, walker
from tests.truth.mpastream import Damage, TrueFPDU, build_stream

# packets, FPDUs, connections, CRC good, CRC field zero, CRC bad: counted by another walker, by
# another author, except for the probe.  There that walker stopped at a ULPDU_Length of 0, and
# counted two FPDUs less in connection 106 (340, 284 good).  The Send after it has a good CRC.  The
# numbers of crafted captures follow from their messages: payload divided by what fits MULPDU (530
# and 1454).
COUNTED = {
    "2vm_perf_write_bw_q4_crcon": (1540, 764, 5, 764, 0, 0),
    "close_graceful_by_server": (14, 3, 1, 0, 3, 0),
    "close_midmsg_clientkill": (461, 298, 1, 0, 298, 0),
    "connect_pd200_ird4_ord8": (17, 4, 1, 4, 0, 0),
    "draft-ietf-rddp-mpa-01": (26, 13, 1, 0, 13, 0),
    "rtr-frame-proposal-2007": (20, 9, 1, 9, 0, 0),
    "draft_rtr_read": (18, 7, 1, 7, 0, 0),
    "draft_ulp_send": (16, 6, 1, 6, 0, 0),
    "jumbo9000_mix_crcon": (104, 51, 1, 51, 0, 0),
    "listener_absent": (2, 0, 1, 0, 0, 0),
    "live_siw_probe_guest_eth0": (2041, 342, 127, 286, 53, 3),
    "markers": (18, 8, 1, 8, 0, 0),
    "mix_mpa0_crcoff": (43, 19, 1, 0, 19, 0),
    "mix_mpa1_crcon": (66, 31, 1, 31, 0, 0),
    "mix_mpa2_crcoff": (308, 164, 1, 0, 164, 0),
    "mpa-rev0": (18, 8, 1, 8, 0, 0),
    "mpa-rev2-enhanced": (18, 8, 1, 8, 0, 0),
    "netem_loss15_heavy_crcoff_at_server_B": (471, 246, 1, 0, 246, 0),
    "netem_loss1_at_server_B": (977, 585, 1, 585, 0, 0),
    "netem_reorder25_at_client_A": (1126, 585, 1, 585, 0, 0),
    "p2p_rtr_read_crcon": (38, 23, 1, 23, 0, 0),
    "p2p_rtr_write_crcoff": (36, 22, 1, 0, 22, 0),
    "reject_pdata": (10, 0, 1, 0, 0, 0),
    "reject_pdata_mpa1": (10, 0, 1, 0, 0, 0),
    "rping_ipv6_mpa2_crcon": (52, 33, 1, 33, 0, 0),
    "rping_mpa1_crcon": (11, 1, 1, 1, 0, 0),
    "rping_mpa2_crcon": (51, 35, 1, 35, 0, 0),
    "seqwrap_client_crcon": (2007, 1159, 1, 1159, 0, 0),
    "term_cmdsinv": (17, 4, 1, 4, 0, 0),
    "term_readoob": (15, 3, 1, 3, 0, 0),
    "term_sendnorecv": (13, 2, 1, 2, 0, 0),
    "term_writebad": (15, 3, 1, 3, 0, 0),
    "trygso_bigfpdu_offloads_on_crcon": (148, 31, 1, 31, 0, 0),
    "ulp_nfs4_rdma_crcoff": (301, 195, 1, 0, 195, 0),
    "ulp_nvme_rdma_crcoff": (693, 379, 3, 0, 379, 0),
    "vlan5_mix_crcon": (46, 17, 1, 17, 0, 0),
    "erdma": (22, 11, 1, 0, 11, 0),
    "siw-terminate": (30, 5, 1, 5, 0, 0),
    "softuiwarp": (22, 11, 1, 0, 11, 0),
    "softuiwarp_crcoff": (39, 11, 2, 0, 11, 0),
    # iWARP Framing for TCP: no FPDUs.
    "ift_speculative": (33, 0, 1, 0, 0, 0),
}


# The published examples -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("control", "first", "second"),
    [
        ("4143", "52239983", "84925898"),  # RFC 5044, figures 5 and 6
        ("4003", "4c86b384", "a19cd103"),  # draft-ietf-rddp-mpa-01, 5.2: both versions 0
    ],
)
def test_published_fpdus(control: str, first: str, second: str) -> None:
    """Figures 5 and 6 of RFC 5044 and of the draft before it, octet by octet."""
    head = bytes.fromhex(control)
    figure5 = head + struct.pack(">IIII", 0, 0, 1, 0) + bytes(24)
    stream, truth = build_stream([figure5], markers=True)
    assert stream == bytes.fromhex("00000000 002a") + figure5 + bytes.fromhex(first)
    assert truth == [TrueFPDU(0, 4, 0x34, 42, figure5, 1, True)]

    # A first FPDU of 492 octets with its leading marker: a ULPDU of 482.
    figure6 = head + struct.pack(">IIII", 0, 0, 2, 0) + bytes(24)
    stream, truth = build_stream([bytes(482), figure6], markers=True)
    assert truth[1] == TrueFPDU(0x1EC, 0x1EC, 0x220, 42, figure6, 1, True)
    expected = bytes.fromhex("002a") + figure6[:18] + bytes.fromhex("00000014") + figure6[18:]
    assert stream[0x1EC:] == expected + bytes.fromhex(second)


# The walker and the captures ----------------------------------------------------------------------


def test_a_bad_length_is_not_trusted() -> None:
    """After a bad CRC the walk goes on only if an FPDU with a good CRC follows."""
    stream = walker.Stream(isn=0)
    good, _ = build_stream([bytes(20)] * 3)
    bad, _ = build_stream([bytes(20)] * 3, damage={1: Damage(crc_xor=1)})
    wrong, _ = build_stream([bytes(20)] * 3, damage={1: Damage(ulpdu_length=8)})
    for octets, expected in ((good, "ggg"), (bad, "gbg"), (wrong, "gb")):
        fpdus, _ = walker.walk_fpdus(octets, 0, stream, crc_on=True)
        assert "".join("g" if fpdu.crc_good else "b" for fpdu in fpdus) == expected


def test_all_captures_are_counted() -> None:
    """Each capture has a row in COUNTED and a file of expectations, and there are no others."""
    assert {capture_name(path) for path in OVER_TCP} == set(COUNTED)
    expected = {expectation(path) for path in REAL + CRAFTED}
    assert expected == set((PCAPS.parent / "tests" / "expected").rglob("*.json"))


@pytest.mark.parametrize("path", OVER_TCP, ids=capture_name)
def test_walker_agrees_with_the_count(path: pathlib.Path) -> None:
    """Packets, FPDUs, connections and CRC fields are those counted before."""
    packets, connections = walker.walk(path)
    fpdus = [fpdu for c in connections for role in "ir" for fpdu in c.fpdus[role]]
    good = sum(fpdu.crc_good for fpdu in fpdus)
    zero = sum(fpdu.crc_zero and not fpdu.crc_good for fpdu in fpdus)
    bad = len(fpdus) - good - zero
    assert (packets, len(fpdus), len(connections), good, zero, bad) == COUNTED[capture_name(path)]


@pytest.mark.parametrize("path", OVER_TCP, ids=capture_name)
def test_expected_files_are_up_to_date(path: pathlib.Path) -> None:
    """The files are what the walker writes, and JSON of the documented shape."""
    text = expectation(path).read_text()
    walk = iftwalker.walk if path in OVER_IFT else walker.expectations
    assert text == walker.to_json(walk(path))
    loaded = json.loads(text)
    assert list(loaded)[:6] == ["packets", "connections", "startup", "fpdus", "holes", "rest"]
    assert all(len(row) == 8 for row in loaded["startup"])
    assert all(len(row) == 10 for row in loaded["fpdus"])

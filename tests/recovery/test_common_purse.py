# SPDX-License-Identifier: GPL-2.0-or-later
"""All connections share one purse for searches.  FPDUs among hostile octets are still found.

Standard error says how many directions were not searched to their end.
"""

import random
import struct
from pathlib import Path

import pytest

from scapy_mpa.stream.purse import CALL, Purse
from tests.cli.command import parsed, run
from tests.recovery.reading import check
from tests.stream import startup
from tests.truth import messages, mpastream, pcapfile
from tests.truth.cases import case
from tests.truth.hostile import HOSTILE, MSS
from tests.truth.impair import ACK, PSH, SYN, Segment

SEED = 11


def stream(*, crc: bool, markers: bool, mulpdu: int) -> tuple[bytes, list[tuple[int, int]]]:
    """Octets of RDMA Writes, and where each of their FPDUs begins and ends."""
    payload = random.Random(SEED).randbytes(30 * MSS)
    octets, truth = mpastream.build_stream(
        messages.write(1, 0, payload, mulpdu), crc=crc, markers=markers
    )
    return octets, [(each.start, each.end) for each in truth]


def frames_of(number: int, segments: list[Segment]) -> list[bytes]:
    """The frames of one of many connections."""
    return pcapfile.frames(segments, hosts=(f"10.9.{number >> 8}.{number & 255}", "10.0.0.2"))


def connection(number: int, octets: bytes, begin: int, segments: int) -> list[bytes]:
    """Consecutive segments of a connection whose beginning was not captured."""
    places = range(begin, begin + segments * MSS, MSS)
    made = [Segment(0, 5000 + at, 1, PSH | ACK, octets[at : at + MSS]) for at in places]
    return frames_of(number, made)


def found(path: Path, frames: list[bytes]) -> tuple[int, str]:
    """How many FPDUs of these connections are found, and the text on standard error."""
    path.write_bytes(pcapfile.pcap(frames))
    result = run("dissect", "--json", "--type", "fpdu", path)
    return sum(each["src"].startswith("10.9.") for each in parsed(result.stdout)), result.stderr


def within(places: list[tuple[int, int]], begin: int, segments: int) -> int:
    """How many FPDUs lie whole in consecutive segments."""
    return sum(begin <= start and stop <= begin + segments * MSS for start, stop in places)


@pytest.mark.parametrize("segments", [1, 8])
@pytest.mark.parametrize("mulpdu", [64, 300])
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("crc", [False, True])
def test_many_connections_captured_from_the_middle(
    tmp_path: Path, crc: bool, markers: bool, mulpdu: int, segments: int
) -> None:
    """All whole FPDUs are found.  Without CRCs, a row needs four, and two Markers if any."""
    octets, places = stream(crc=crc, markers=markers, mulpdu=mulpdu)
    frames: list[bytes] = []
    wanted = 0
    for number in range(40):
        begin = 37 * number
        frames += connection(number, octets, begin, segments)
        wanted += within(places, begin, segments)
    number, complaints = found(tmp_path / "many.pcap", frames)
    assert complaints == ""
    # A segment holds four or three FPDUs of 300 octets.  Without CRCs, three are no proof.
    assert number == wanted if crc or mulpdu == 64 or segments > 1 else number > wanted // 2


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(
    ("name", "is_unsearched"),
    [
        ("sound headers in connections of their own", True),
        ("lengths that lead within what is there, in order", False),
    ],
)
def test_true_connections_among_hostile_ones(
    tmp_path: Path, name: str, is_unsearched: bool, at_once: bool
) -> None:
    """FPDUs with CRCs are found at once, so a share of what is left in the purse is enough."""
    octets, places = stream(crc=True, markers=False, mulpdu=300)
    hostile = HOSTILE[name](60).hostile
    true = [connection(number, octets, places[number][0], 4) for number in range(20)]
    frames: list[bytes] = []
    for number, each in enumerate(true):
        frames += hostile if at_once and not number else hostile[3 * number : 3 * number + 3]
        frames += each
    number, complaints = found(tmp_path / "among.pcap", frames)
    assert number == sum(within(places, places[number][0], 4) for number in range(20))
    assert ("not searched to their end" in complaints) == is_unsearched


@pytest.mark.examples
@pytest.mark.parametrize("fixed", [{}, {"startup": "neither"}])
@pytest.mark.parametrize("seed", range(100, 120))
def test_searches_that_wait_find_the_same(
    seed: int, fixed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost or wrong, even if each segment pays for a few calls of a search alone."""
    fill = Purse.fill

    def fill_little(purse: Purse, octets: int) -> None:
        fill(purse, octets)
        purse.slice = 10 * CALL

    monkeypatch.setattr(Purse, "fill", fill_little)
    check(case(seed, **fixed))


def test_connections_within_startup_are_not_searched(tmp_path: Path) -> None:
    """Connections that end within startup are not searched: no FPDU precedes a startup frame."""
    headers = [struct.pack(">HBBIQ", 24, 0xC1, 0x40, 1, at) for at in range(32)]
    request = startup.request(private_data=b"".join(headers))
    talk = [
        Segment(0, 999, 0, SYN, b""),
        Segment(1, 4999, 1000, SYN | ACK, b""),
        Segment(0, 1000, 5000, PSH | ACK, request),
    ]
    frames = [each for number in range(300) for each in frames_of(number, talk)]
    assert found(tmp_path / "begun.pcap", frames) == (0, "")

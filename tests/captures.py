# SPDX-License-Identifier: GPL-2.0-or-later
"""The captures of this repository, by their origin and by the carrier of DDP."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PCAPS = ROOT / "pcaps"

REAL = sorted(PCAPS.glob("*.pcap*"))
"""Traffic of real stacks."""
CRAFTED = sorted((PCAPS / "crafted").glob("*.pcap"))
"""Captures made by ``scapy-mpa craft``. The table in ``pcaps/README.md`` has the commands."""
OVER_SCTP = [path for path in CRAFTED if path.name.startswith("sctp_")]
OVER_IFT = [path for path in CRAFTED if path.name.startswith("ift_")]
OF_OSC = [path for path in REAL + CRAFTED if path.name.startswith("osc")]
"""Like MPA, but with Markers in other places, or without CRC fields."""
OVER_TCP = [path for path in REAL + CRAFTED if path not in OVER_SCTP + OF_OSC]
"""Captures of MPA and of iWARP Framing for TCP."""


def capture_name(path: Path) -> str:
    """The capture's name without ``.pcap`` and ``.gz``."""
    return path.name.removesuffix(".gz").removesuffix(".pcap")


def expectation(path: Path) -> Path:
    """The file with what a walker of ``tests.truth`` finds in a capture."""
    folder = path.resolve().parent.relative_to(PCAPS)
    return ROOT / "tests" / "expected" / folder / f"{capture_name(path)}.json"

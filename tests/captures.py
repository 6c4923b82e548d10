# SPDX-License-Identifier: GPL-2.0-or-later
"""The captures of this repository, by where they are from and what carries their DDP."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PCAPS = ROOT / "pcaps"

REAL = sorted(PCAPS.glob("*.pcap*"))
"""Traffic of real stacks."""
CRAFTED = sorted((PCAPS / "crafted").glob("*.pcap"))
"""What ``scapy-mpa craft`` has made: the table in ``pcaps/README.md`` says how."""
OVER_SCTP = [path for path in CRAFTED if path.name.startswith("sctp_")]
OVER_IFT = [path for path in CRAFTED if path.name.startswith("ift_")]
OF_OSC = [path for path in REAL + CRAFTED if path.name.startswith("osc")]
"""MPA, but where Markers are, and whether there are CRC fields."""
OVER_TCP = [path for path in REAL + CRAFTED if path not in OVER_SCTP + OF_OSC]
"""Those of MPA and of iWARP Framing for TCP."""


def capture_name(path: Path) -> str:
    """The capture's name without ``.pcap`` and ``.gz``."""
    return path.name.removesuffix(".gz").removesuffix(".pcap")


def expectation(path: Path) -> Path:
    """The file that says what a walker of ``tests.truth`` finds in a capture."""
    folder = path.resolve().parent.relative_to(PCAPS)
    return ROOT / "tests" / "expected" / folder / f"{capture_name(path)}.json"

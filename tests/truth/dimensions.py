# SPDX-License-Identifier: GPL-2.0-or-later
"""The dimensions of constructed captures: the values of each, and a choice by seed."""

import random
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Dimensions:
    """The properties of a constructed capture.  The defaults make an ordinary, undisturbed one."""

    markers: str = "neither"
    """Which side sends Markers."""
    crc: bool = True
    revision: int = 1
    """Rev of the startup frames; with 2 they carry enhanced data (RFC 6581)."""
    mix: str = "any"
    """The kinds of messages."""
    payload: str = "random"
    """The content of ULP payload."""
    mulpdu: int = 1442
    """Octets of the largest ULPDU."""
    cuts: tuple[str, str] = ("whole FPDUs", "whole FPDUs")
    """How each side cuts its octets into segments."""
    loss: str = "none"
    """Segments lost before the capture point or after it (``after``), and sent again."""
    order: str = "kept"
    copies: str = "none"
    """Octets that come twice."""
    missing: float = 0.0
    """The share of segments that are never captured."""
    wraps: str = "neither"
    """Which side's sequence numbers pass 2**32."""
    startup: str = "both"
    """Which startup frames were captured."""
    startup_pieces: str = "whole"
    """Whether each startup frame comes in one segment, or in any pieces."""
    begin: str = "SYN"
    """Where the capture begins."""
    damage: str = "none"
    snap: int = 0
    """Snap length of the capture in octets, 0 for none."""
    network: str = "IPv4"
    close: str = "fin"

    def __str__(self) -> str:
        """All that differs from the ordinary case."""
        ordinary = asdict(Dimensions())
        unusual = [
            f"{name}={value}" for name, value in asdict(self).items() if value != ordinary[name]
        ]
        return ", ".join(unusual) or "ordinary"


VALUES: dict[str, tuple[Any, ...]] = {
    "markers": ("neither", "Initiator", "Responder", "both", "both"),
    "crc": (True, True, True, False),
    "revision": (1, 1, 2),
    "mix": ("any", "any", "small", "bulk", "terminated"),
    "payload": ("random", "random", "zeros", "header words", "text"),
    "mulpdu": (64, 200, 500, 1442, 1442, 8940, 64000),
    "cuts": (
        *("whole FPDUs", "several FPDUs", "segment size", "segment size"),
        *("any size", "super-segments", "tiny", "octets"),
    ),
    "loss": ("none", "none", "before", "after"),
    "order": ("kept", "kept", "near", "far"),
    "copies": ("none", "none", "equal", "overlapping", "differing", "keepalive"),
    "missing": (0.0, 0.0, 0.0, 0.01, 0.05, 0.2),
    "wraps": ("neither", "neither", "Initiator", "Responder", "both"),
    "startup": ("both", "both", "both", "both", "Request", "Reply", "neither"),
    "startup_pieces": ("any",),
    "begin": ("SYN", "SYN", "SYN", "no SYN", "any point"),
    "damage": ("none", "none", "none", "none", "CRC", "flip", "length", "FPDUPTR"),
    "snap": (0, 0, 0, 0, 0, 0, 0, 140, 300, 1000),
    "network": ("IPv4", "IPv4", "IPv6", "VLAN", "IPv6 in VLAN", "TCP options"),
    "close": ("fin", "fin", "rst", "none"),
}
"""The values of each dimension.  A value that stands here twice comes twice as often."""


def choose(rng: random.Random, **fixed: Any) -> Dimensions:
    """A random value of each dimension.  ``fixed`` sets some of them."""
    chosen = {
        name: rng.choice(values) if len(values) > 1 else values[0]
        for name, values in VALUES.items()
    }
    chosen["cuts"] = rng.choice(VALUES["cuts"]), rng.choice(VALUES["cuts"])
    dimensions = Dimensions(**{**chosen, **fixed})
    if dimensions.begin == "any point":
        # At least the first startup frame lies before that point.
        dimensions = replace(dimensions, startup="both")
    if dimensions.damage == "FPDUPTR" and dimensions.markers == "neither":
        dimensions = replace(dimensions, markers="both")
    if dimensions.snap:
        dimensions = replace(dimensions, damage="none")
        if dimensions.copies == "differing":
            # Where the first copy was cut off, a second copy with wrong octets would count.
            dimensions = replace(dimensions, copies="overlapping")
    if not dimensions.crc and dimensions.damage in ("CRC", "flip"):
        # Nothing shows that such an FPDU is damaged.
        dimensions = replace(dimensions, damage="length")
    return dimensions

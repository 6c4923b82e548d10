# SPDX-License-Identifier: GPL-2.0-or-later
"""Select crafted segments, and records of their capture, by type and sender."""

from collections.abc import Sequence
from typing import Any

from scapy_mpa.craft import Segment

Record = dict[str, Any]


def places(segments: Sequence[Segment], side: int | None = None) -> list[int]:
    """The indexes of segments with octets, of one side or of both."""
    return [at for at, each in enumerate(segments) if each.octets and side in (None, each.side)]


def of(records: Sequence[Record], kind: str, src: str | None = None) -> list[Record]:
    """The records of a type, from an endpoint or from both."""
    return [each for each in records if each["type"] == kind and src in (None, each.get("src"))]


def fpdu_keys(records: Sequence[Record]) -> list[tuple[str, int]]:
    """Sender and sequence number of each FPDU."""
    return [(each["src"], each["seq"]) for each in of(records, "fpdu")]

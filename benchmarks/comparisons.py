# SPDX-License-Identifier: GPL-2.0-or-later
"""Which commands are held against each other, and how to count the FPDUs that they found."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["COMPARISONS", "Command", "Comparison"]

_OURS: Final = (sys.executable, "-m", "scapy_mpa")
_CLEAN_OR_FINDINGS: Final = frozenset({0, 1})

_TSHARK: Final = (
    *("tshark", "-n"),
    *("-o", "tcp.reassemble_out_of_order:TRUE"),
    *("-o", "tcp.try_heuristic_first:TRUE"),
)
"""Without these preferences it finds less, and without -n it looks names up."""

_FIELDS: Final = (
    "frame.number",
    "frame.time_epoch",
    "tcp.stream",
    "ip.src",
    "ip.dst",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "iwarp_mpa.ulpdulength",
    "iwarp_ddp.tagged_flag",
    "iwarp_ddp.last_flag",
    "iwarp_rdma.opcode",
    "iwarp_ddp.stag",
    "iwarp_ddp.tagged_offset",
    "iwarp_ddp.qn",
    "iwarp_ddp.msn",
    "iwarp_ddp.mo",
)
"""What a line of `scapy-mpa dissect` says of an FPDU."""
_ULPDU_LENGTH: Final = _FIELDS.index("iwarp_mpa.ulpdulength")

_SEGMENTS: Final = re.compile(rb" in (\d+) DDP segment")


@dataclass(frozen=True, slots=True)
class Command:
    """One side of a comparison."""

    words: tuple[str, ...]
    """The capture is its last argument."""
    count: Callable[[bytes], int]
    """Counts the FPDUs in whole lines of its output."""
    good: frozenset[int] = frozenset({0})
    """Exit statuses that are no failure."""

    def on(self, capture: Path) -> list[str]:
        """Return the command line for a capture."""
        return [*self.words, str(capture)]

    @property
    def is_there(self) -> bool:
        """Whether it is installed."""
        return shutil.which(self.words[0]) is not None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two commands that do the same work, or nearly."""

    title: str
    ours: Command
    theirs: Command


def _count_listed(lines: bytes) -> int:
    """Only these two messages are in the captures made here."""
    return lines.count(b"  RDMA Write stag ") + lines.count(b"  Send qn ")


def _count_in_messages(lines: bytes) -> int:
    return sum(map(int, _SEGMENTS.findall(lines)))


def _count_records(lines: bytes) -> int:
    return lines.count(b'{"type":"fpdu",')


def _count_column(lines: bytes) -> int:
    values = [
        columns[_ULPDU_LENGTH]
        for columns in (line.split(b"\t") for line in lines.split(b"\n"))
        if len(columns) > _ULPDU_LENGTH
    ]
    return sum(value.count(b",") + 1 for value in values if value)


def _count_members(lines: bytes) -> int:
    return lines.count(b'"iwarp_mpa_iwarp_mpa_ulpdulength":')


def _ours(*arguments: str, count: Callable[[bytes], int]) -> Command:
    return Command((*_OURS, *arguments), count, _CLEAN_OR_FINDINGS)


_TSHARK_FIELDS: Final = Command(
    (*_TSHARK, "-T", "fields", *(word for name in _FIELDS for word in ("-e", name)), "-r"),
    _count_column,
)

COMPARISONS: Final = {
    "listing": Comparison(
        "`scapy-mpa dissect` beside `tshark -T fields`",
        _ours("dissect", count=_count_listed),
        _TSHARK_FIELDS,
    ),
    "messages": Comparison(
        "`scapy-mpa dissect --type message` beside `tshark -T fields`, which lists FPDUs",
        _ours("dissect", "--type", "message", count=_count_in_messages),
        _TSHARK_FIELDS,
    ),
    "json": Comparison(
        "`scapy-mpa dissect --json` beside `tshark -T ek`",
        _ours("dissect", "--json", count=_count_records),
        Command((*_TSHARK, "-T", "ek", "-r"), _count_members),
    ),
}
"""All comparisons by name."""

# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of one length that wait behind a hole, each the whole of a segment.

Most of them are read soon, out of the window in which they came, so they are not cut out of it
before it ends.
"""

from __future__ import annotations

from typing import TypeAlias

from scapy_mpa.express.borrower import Borrower
from scapy_mpa.express.headers import FPDU_HEADERS
from scapy_mpa.express.shapes import Shapes
from scapy_mpa.stream.connections.loan import Loan
from scapy_mpa.stream.sequence import SEQUENCE_SPACE
from scapy_mpa.wire.crc import RESIDUE, crc32c

__all__ = ["Early", "cut_out", "hand_back", "repeats_early", "take_over"]

Early: TypeAlias = dict[int, tuple[int, int, bytes | memoryview, int]]
"""By sequence number: what the first four octets say, which frame brought it, what octets it lies
in, and where."""


def take_over(loan: Loan, length: int, farthest: int, shapes: Shapes, borrower: Borrower) -> Early:
    """Take over what a loan has behind a hole.

    Return nothing, and leave it there, if that is not sound FPDUs of ``length`` octets, back to
    back but for holes, if one begins more than ``farthest`` octets ahead, or if sequence numbers
    wrap there.
    """
    early: Early = {}
    for position, octets, brought_by in loan.waiting.early:
        seq = position - loan.lap
        ahead = seq - loan.seq
        if (
            len(octets) != length
            or ahead % length
            or ahead > farthest
            or seq + length > SEQUENCE_SPACE
            or crc32c(octets) != RESIDUE
        ):
            return {}
        word, *_ = FPDU_HEADERS.unpack_from(octets)
        if shapes.find(word, None)[0] != length:
            return {}
        early[seq] = word, brought_by, octets, 0
    borrower.hand_over(loan)
    return early


def cut_out(early: Early, length: int) -> None:
    """Take the octets out of their window, which is about to end."""
    for seq, (word, brought_by, octets, at) in early.items():
        early[seq] = word, brought_by, bytes(octets[at : at + length]), 0


def repeats_early(early: Early, seq: int, octets: memoryview) -> bool:
    """Tell whether octets are the same as those that wait at a sequence number."""
    _, _, known, at = early[seq]
    return bytes(known[at : at + len(octets)]) == bytes(octets)


def hand_back(early: Early, length: int, loan: Loan, borrower: Borrower) -> None:
    """Give a loan back what it has behind a hole, once it is brought up to date."""
    if early:
        segments = []
        for seq in sorted(early):
            _, brought_by, octets, at = early[seq]
            segments.append((loan.lap + seq, bytes(octets[at : at + length]), brought_by))
        borrower.take_back(loan, segments)

# SPDX-License-Identifier: GPL-2.0-or-later
"""What the first four octets of an FPDU say for all FPDUs that begin with the same."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from scapy_mpa.wire.ddp import DDP_HEADER_LENGTHS, TAGGED, UNTAGGED_LENGTH
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_INTERVAL, fpdu_layout

if TYPE_CHECKING:
    from scapy_mpa.records.kinds import Patterns

__all__ = ["LOW_MSN", "SEVEN_DIGITS", "Pointers", "Shape", "Shapes"]

SEVEN_DIGITS: Final = 0x0FFFFFFF
"""The largest STag that can be written with them, and so the largest that is not usual."""
LOW_MSN: Final = (1 << 30) - 1
"""The largest MSN that is looked at as usual, with QN and MO 0: Python compares numbers up to there
faster than others."""
_TAGGED_BIT: Final = TAGGED[0] << 8
"""The T bit in the two control octets (RFC 5041 4.1)."""
_CONTROL: Final = 0xFFFF
_HEAD: Final = HEADER_LENGTH + UNTAGGED_LENGTH
_CACHED: Final = 4096
"""Shapes of each kind; a bulk transfer with Markers has 128 of them."""


class Pointers(NamedTuple):
    """What the Markers of an FPDU say."""

    unpack: Callable[..., tuple[int, ...]]
    """Gives their FPDUPTRs, from octets and the place at which the FPDU begins there."""
    fpduptrs: tuple[int, ...]
    """What these must be."""


# A plain tuple, because it is taken apart for every FPDU, and any other would take twice as long.
Shape: TypeAlias = tuple[int, bool, tuple[bytes, bytes], tuple[bytes, bytes], Pointers | None]
"""What FPDUs have in common with the same ULPDU_Length, control octets and phase:

* octets of the whole FPDU; of one that must be read with care, more than there can be;
* whether it is Tagged;
* the patterns of its line, in which the length is there already: one for what is usual, as
  :class:`~scapy_mpa.records.kinds.Patterns` says, and one for all;
* the same with one place in the beginning for what is filled in already;
* what its Markers say, None without Markers.
"""

_NOT_EASY: Final[Shape] = 1 << 32, False, (b"", b""), (b"", b""), None
"""Of FPDUs whose DDP header may be cut short or holds a Marker, or that have no pattern."""


class Shapes:
    """The shapes of FPDUs that have CRCs.

    :param patterns: gives their lines; None: they are not written.
    """

    def __init__(self, patterns: "Patterns | None") -> None:
        self._patterns = patterns
        self._head = b"" if patterns is None else patterns.head.encode()
        self.unmarked: dict[int, Shape] = {}
        """By ULPDU_Length and control octets as one number."""
        self.marked: dict[int, Shape] = {}
        """By the same, times 512, plus the phase."""

    def find(self, word: int, phase: int | None) -> Shape:
        """Return a shape, and have it at hand from now on.

        :param word: ULPDU_Length and control octets.
        :param phase: offset of the FPDU's first octet modulo 512, None without Markers.
        """
        shapes, key = self.unmarked, word
        if phase is not None:
            shapes, key = self.marked, word * MARKER_INTERVAL + phase
        shape = shapes.get(key)
        if shape is None:
            if len(shapes) >= _CACHED:
                shapes.clear()
            shape = shapes[key] = self._make(word >> 16, word & _CONTROL, phase)
        return shape

    def _make(self, ulpdu_length: int, control: int, phase: int | None) -> Shape:
        tagged = control >= _TAGGED_BIT
        # A Marker may lie before the header, but not in it.
        if ulpdu_length < UNTAGGED_LENGTH or (phase or 0) > MARKER_INTERVAL - _HEAD:
            return _NOT_EASY
        line = self._line(ulpdu_length, control, is_usual=False)
        usual = self._line(ulpdu_length, control, is_usual=True)
        if line is None or usual is None:
            return _NOT_EASY
        tails = b"%b" + usual[len(self._head) :], b"%b" + line[len(self._head) :]
        layout = fpdu_layout(ulpdu_length, phase)
        pointers = None
        if layout.markers:
            pointers = Pointers(layout.unpack.unpack_from, layout.fpduptrs)
        return layout.length, tagged, (usual, line), tails, pointers

    def _line(self, ulpdu_length: int, control: int, *, is_usual: bool) -> bytes | None:
        """Return the pattern of a line, empty if none are written; None if there is none."""
        if self._patterns is None:
            return b""
        pattern = self._patterns.pattern(
            control.to_bytes(2, "big"),
            "good",
            "length",
            out_of_order=False,
            length=ulpdu_length - DDP_HEADER_LENGTHS[control >= _TAGGED_BIT],
            is_usual=is_usual,
        )
        return None if pattern is None else pattern.encode() + b"\n"

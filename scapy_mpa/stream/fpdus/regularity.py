# SPDX-License-Identifier: GPL-2.0-or-later
"""Headers of FPDUs back to back: they tell which octets are FPDUs, where these leave a choice.

An MSN of 12 may stand where a Marker says 12, and what is left of the header if that is taken for
the Marker may make sense as well; and a length that lies may lead to where another FPDU ends.  But
the MSNs of a queue ascend, by one from message to message, and are the same in all segments of a
message, of which each MO is where the one before ends (RFC 5041 4.3, 5.1, 5.2).
"""

from typing import Final, NamedTuple, cast

from scapy_mpa.stream.sequence import SEQUENCE_WINDOW
from scapy_mpa.wire.ddp import ddp_header_of
from scapy_mpa.wire.rdmap import plausible

__all__ = ["Irregular", "Regularity"]

_MODULUS: Final = 1 << 32


class Irregular(NamedTuple):
    """What is not as a conforming sender has it, from what tells most to what tells least."""

    senseless: int = 0
    """Headers that make no sense."""
    descents: int = 0
    """MSNs below that of the FPDU before, of the same queue."""
    astray: int = 0
    """MOs that are not where the FPDU before, of the same queue, has ended, or its message."""
    left_out: int = 0
    """MSNs that are in no FPDU."""


class Regularity:
    """Counts what is irregular about FPDUs one behind the other."""

    __slots__ = ("_astray", "_descents", "_last", "_left_out", "_senseless")

    def __init__(self) -> None:
        self._senseless = self._descents = self._astray = self._left_out = 0
        # MSN of the last segment of each queue, and where the next one of its message begins.
        self._last: dict[int, tuple[int, int]] = {}

    def take(self, head: bytes, length: int) -> None:
        """Take the next FPDU.

        :param head: octets behind its ULPDU_Length, without Markers, up to the end of its header.
        :param length: its ULPDU_Length.
        """
        self._senseless += not plausible(head, length)
        header = ddp_header_of(head)
        if header is None or header.qn is None:
            return
        qn, msn, mo = cast("tuple[int, int, int]", (header.qn, header.msn, header.mo))
        before, end = self._last.get(qn, (msn, mo))
        step = (msn - before) % _MODULUS
        if step < SEQUENCE_WINDOW:
            self._left_out += max(0, step - 1)
        else:
            self._descents += 1
        self._astray += mo != (0 if step else end)
        self._last[qn] = msn, 0 if header.last else mo + length - header.length

    @property
    def irregular(self) -> Irregular:
        """What was found so far."""
        return Irregular(self._senseless, self._descents, self._astray, self._left_out)

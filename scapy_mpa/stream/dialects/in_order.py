# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of stacks whose framing is not that of RFC 5044 4, one behind the other.

The FPDU before it tells where one begins: there are no Markers at known places to start from beyond
a hole.  What lies there waits until the hole is filled, or is known to stay.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from scapy_mpa.stream.fpdus.framing import Framing
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.wire.ddp import TAGGED_LENGTH, UNTAGGED_LENGTH
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import HEADER_LENGTH
from scapy_mpa.wire.rdmap import plausible

__all__ = ["HEAD", "InOrderFraming", "makes_sense"]

HEAD = HEADER_LENGTH + UNTAGGED_LENGTH
"""Octets in which the longest DDP header of an FPDU lies."""


class InOrderFraming(Framing, ABC):
    """Finds the FPDUs of one direction, in order."""

    __slots__ = ()
    is_standard = False

    def advance(self, island: Island, fresh: int) -> None:
        """Find what can be found in an island that has grown.

        :param fresh: octets that came since the last call.
        """
        if island.joined or island.end >= island.need:
            self._read(island, final=False)

    def finish(self, island: Island) -> None:
        """Find what can be found in an island to whose end nothing will be added."""
        self._read(island, final=True)
        if island.runs:
            self._end(island, island.runs[0], _limit_of(island))

    def give_up(self, island: Island) -> int:
        """Find what can be found in an island that is let go of, though more may come.

        Return where the octets begin that might have been of use then.
        """
        self._read(island, final=True)
        if island.runs:
            return island.runs[0].end
        return island.end if island.end <= self.origin else island.start

    def _read(self, island: Island, *, final: bool) -> None:
        """Go from FPDU to FPDU as far as there are octets."""
        island.joined = False
        island.scanned = None
        if island.end <= self.origin or island.start > self.origin:
            return
        if not island.runs:
            island.runs = (self._first_run(island),)
        run, limit = island.runs[0], _limit_of(island)
        final = final or limit < island.end
        while run.trouble is None and run.end < limit:
            if not self._take(island, run, limit, final=final):
                break
        self._sink.release(island, run.start, run.end)

    @abstractmethod
    def _take(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Pass on the FPDU at the end of a run; tell whether there is one, whole before a limit.

        If there is none, ``run.trouble`` or ``island.need`` says why.
        """

    def _end(self, island: Island, run: Run, limit: int) -> None:
        """Say what stays unexplained, now that nothing more will come."""
        if run.end >= limit:
            return
        is_cut = island.captured_until(run.end, limit) < limit
        if is_cut or run.end < island.held:
            self._sink.cut_off(run.end, limit)
        elif run.trouble is None:
            self._sink.unfinished(run.end, limit - run.end)
        else:
            assert self.dialect is not None
            text = f"{limit - run.end} octets in which no FPDU begins ({self.dialect.value})"
            code = ErrorCode.CRC_MISMATCH if self.crc else ErrorCode.MARKER_MISMATCH
            self._sink.wrong(code, run.end, text)
        run.end = limit


def _limit_of(island: Island) -> int:
    """Return up to where octets may be read: RFC 5044's framing may have been behind a hole."""
    return island.runs[1].start if len(island.runs) > 1 else island.end


def makes_sense(island: Island, start: int, limit: int) -> bool:
    """Tell whether the header at ``start``, of an FPDU without Markers there, makes sense.

    It must be there, before the limit.  SoftUiWARP leaves an STag of before where a Send has none.
    """
    end = island.captured_until(start, min(limit, start + HEAD))
    if end < start + HEADER_LENGTH + TAGGED_LENGTH:
        return False
    head = island.read(start, end)
    ulpdu_length = int.from_bytes(head[:HEADER_LENGTH], "big")
    return plausible(head[HEADER_LENGTH:], ulpdu_length, any_stag=True)

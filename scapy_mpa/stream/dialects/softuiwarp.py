# SPDX-License-Identifier: GPL-2.0-or-later
"""Where FPDUs of SoftUiWARP begin and end in one direction, and what tells that they are some.

The rules:

* FPDUs lie one behind the other from the beginning of the Full Operation Phase on; ULPDU_Length and
  SoftUiWARP's pad say where the next one begins.  There are no Markers, and no CRCs.
* An FPDU whose header makes no sense is one if the next one's does.
* Nothing else tells where an FPDU begins.  So behind a hole that stays, or where the lengths lead
  nowhere, no more of them is told.

A direction without Markers and CRCs is taken for SoftUiWARP's if the chain of RFC 5044 breaks
behind an FPDU of odd length, and the one with the other pad goes on: there three FPDUs in a row
have headers that make sense, and pads and CRC fields of zeros, or as many as there are up to the
end of the stream, two at least.  All FPDUs of a conforming sender are on the 4-octet grid, the next
one of these is off it.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.dialects.in_order import HEAD, InOrderFraming, makes_sense
from scapy_mpa.stream.events import SoftUiWARPRecovered
from scapy_mpa.stream.fpdus.candidate import Candidate
from scapy_mpa.stream.fpdus.sink import Sink
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.fpdu import HEADER_LENGTH, fpdu_layout
from scapy_mpa.wire.rdmap import plausible
from scapy_mpa.wire.softuiwarp import CRC_FIELD, fpdu_length, pad_length

__all__ = ["SoftUiWARPFraming", "pads_otherwise"]

_ROW: Final = 3
_SHORTEST_ROW: Final = 2


class SoftUiWARPFraming(InOrderFraming):
    """Finds the FPDUs of one direction, in order.

    :param sink: who is told.
    :param origin: position of offset 0 of the Full Operation Phase.
    :param from_start: whether that is so; if not, an FPDU begins there, and nobody knows which.
    """

    __slots__ = ()
    recovered = SoftUiWARPRecovered
    dialect = Dialect.SOFTUIWARP

    def __init__(self, sink: Sink, origin: int, *, from_start: bool = True) -> None:
        super().__init__(sink, origin, markers=False, crc=False, from_start=from_start)

    def _first_run(self, island: Island) -> Run:
        """Return the run that begins where the first FPDU does that is known."""
        run = super()._first_run(island)
        if not self.from_start:
            run.next_by = "search"
        return run

    def go_on(self, island: Island, run: Run, position: int) -> None:
        """Take over a run behind its last FPDU.

        :param position: where that one ends.
        """
        run.end = position
        run.trouble = None
        run.next_by = "length"
        island.runs = (run,)
        island.need = island.start
        self._read(island, final=False)

    def _take(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Pass on the FPDU at the end of a run; tell whether there is one, whole before a limit."""
        start = run.end
        need = start + HEAD
        if limit >= start + HEADER_LENGTH:
            if start < island.held or island.captured_until(start, start + HEADER_LENGTH) < (
                start + HEADER_LENGTH
            ):
                run.trouble = start
                return False
            ulpdu_length = _length_at(island, start)
            end = start + fpdu_length(ulpdu_length)
            need = end
            if end <= limit:
                is_one = makes_sense(island, start, end)
                if not is_one:
                    is_one = makes_sense(island, end, limit)
                    need = end + HEAD
                if is_one:
                    self._pass_fpdu(island, run, start, end, ulpdu_length)
                    return True
                if need <= limit or final:
                    run.trouble = start
                    return False
        island.need = need
        return False

    def _pass_fpdu(self, island: Island, run: Run, start: int, end: int, ulpdu_length: int) -> None:
        octets = island.read(start, island.captured_until(start, end))
        layout = fpdu_layout(ulpdu_length)
        fpdu = Candidate(start, end, ulpdu_length, layout, octets, "off", True, False, True)
        self._sink.found(island, fpdu, run.next_by)
        run.next_by = "length"
        run.last = start
        run.end = end


def pads_otherwise(island: Island, start: int, end: int, *, final: bool) -> int | None:
    """Tell whether SoftUiWARP's pad leads on from an FPDU where RFC 5044's does not.

    :param start: where the last FPDU that RFC 5044's lengths led to begins.
    :param end: where it ends by RFC 5044.
    :param final: nothing will be added to the island.
    :return: where the FPDU ends if so; 0 if not; None if it is not known yet, and ``island.need``
        is where to ask again.
    """
    if start < island.held or start == end:
        return 0
    ulpdu_length = _length_at(island, start)
    behind = start + fpdu_length(ulpdu_length)
    if not ulpdu_length & 1 or end == behind:
        return 0
    at, row = start, -1
    while row < _ROW:
        if at + HEAD > island.end and at > start:
            if final and at == island.end and row >= _SHORTEST_ROW:
                break
            if final or not _may_make_sense(island, at):
                return 0
            island.need = at + HEAD
            return None
        if not makes_sense(island, at, island.end):
            return 0
        ulpdu_length = _length_at(island, at)
        following = at + fpdu_length(ulpdu_length)
        if following > island.end:
            if final:
                return 0
            island.need = following
            return None
        trailer = pad_length(ulpdu_length) + len(CRC_FIELD)
        if island.captured_until(at, following) < following or any(
            island.read(following - trailer, following)
        ):
            return 0
        at = following
        row += 1
    return behind


def _length_at(island: Island, start: int) -> int:
    return int.from_bytes(island.read(start, start + HEADER_LENGTH), "big")


def _may_make_sense(island: Island, start: int) -> bool:
    """Tell whether the header at ``start`` may make sense once all of it is there."""
    head = island.read(start, island.end) if start < island.end else b""
    if len(head) < HEADER_LENGTH + 2:
        return True
    # Zeros are what least speaks against it.
    ulpdu_length = int.from_bytes(head[:HEADER_LENGTH], "big")
    return plausible((head + bytes(HEAD))[HEADER_LENGTH:], ulpdu_length, any_stag=True)

# SPDX-License-Identifier: GPL-2.0-or-later
"""From FPDU to FPDU by their lengths, up to one that is not verified.

The rules stand in :mod:`~scapy_mpa.stream.fpdus.framing`, which says where chains begin and end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.fpdus.allowance import Allowance
from scapy_mpa.stream.fpdus.candidate import (
    UNREADABLE,
    WHOLE_FPDUS,
    Candidate,
    FPDUReader,
    header_octets,
    lacks_header,
)
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.stream.octets.scan import KEY_PREFIX, startup_reach
from scapy_mpa.wire.fpdu import HEADER_LENGTH, Layout, fpdu_length

if TYPE_CHECKING:
    from scapy_mpa.stream.fpdus.sink import Sink

__all__ = ["FPDUChain"]

# A place that no island reaches.
_NOWHERE: Final = 1 << 62

_LENGTH_IN_KEY: Final = int.from_bytes(KEY_PREFIX[:HEADER_LENGTH], "big")
"""What the first octets of a Key say as ULPDU_Length."""


class FPDUChain(FPDUReader):
    """Passes on the FPDUs of a stretch of octets, from a place where one begins.

    :param sink: who is reported.
    :param origin: position from which Markers are counted.
    :param markers: whether the direction has Markers.
    :param crc: whether CRCs are to be checked.
    :param is_guess: whether Markers may as well be elsewhere: then only what is verified counts.
    :param crc_is_known: whether it is known that CRCs are on, or off.
    """

    __slots__ = ("_doubt", "_sink", "allowance", "is_guess")

    def __init__(
        self,
        sink: Sink,
        origin: int,
        *,
        markers: bool,
        crc: bool,
        is_guess: bool = False,
        crc_is_known: bool = True,
    ) -> None:
        super().__init__(origin, markers=markers, crc=crc)
        self._sink = sink
        self.allowance = Allowance(sink.reserve)
        self.is_guess = is_guess
        # Whole FPDUs up to the one that shows that CRCs are off; 0 if nothing need be shown.
        self._doubt = 0 if crc_is_known else WHOLE_FPDUS

    @property
    def crc_is_known(self) -> bool:
        """Whether it was known from the beginning that CRCs are on, or off."""
        return not self._doubt

    # -- what is found -------------------------------------------------------------------------

    def _pass_on(self, island: Island, run: Run, fpdu: Candidate) -> None:
        """Report an FPDU and count it to the run after which it stands."""
        if fpdu.crc == "bad" and self._doubt:
            is_off = self._doubt == 1 or self._leads_to_whole(island, fpdu.end)
            fpdu = fpdu._replace(crc="off" if is_off else "unknown")
            self._doubt = max(1, self._doubt - 1)
        is_readable = not (self.is_guess and fpdu.crc == "unknown" and fpdu.layout.markers)
        if is_readable or fpdu.is_pointed_at:
            self._sink.found(island, fpdu, run.next_by)
        else:
            # It leads to the next one, but nobody knows which of its octets are Markers.
            self._sink.cut_off(fpdu.start, fpdu.end)
        run.next_by = "length"
        run.last = fpdu.start
        run.end = fpdu.end
        fault = fpdu.fault
        if fault is not None and (is_readable or fpdu.crc == "bad"):
            self._sink.wrong(fault.code, fpdu.start + fpdu.layout.header, fault.text)

    def _leads_to_whole(self, island: Island, at: int) -> bool:
        """Tell whether lengths lead on to an FPDU that is whole, and that no CRC verifies."""
        fpdu = self._try(island, at, island.end)
        while not isinstance(fpdu, int):
            if fpdu.crc == "bad":
                return True
            fpdu = self._try(island, fpdu.end, island.end)
        return False

    # -- the chain of lengths ----------------------------------------------------------------

    def _chain(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Pass on FPDU after FPDU, up to the limit or to the first that is not verified."""
        while True:
            at = run.end
            if at == limit:
                # The same number, which need not be kept thrice.
                run.end = island.need = limit
                break
            fpdu = self._try(island, at, limit)
            if isinstance(fpdu, int):
                island.need = fpdu
                if fpdu - at > _LENGTH_IN_KEY and not final and self._meets_startup(island, run):
                    break
                said = self._header_at(island, at, limit) if self.crc else None
                if said is not None and not said[0] and said[1].length > fpdu_length(0):
                    # Its length may be wrong, too.
                    run.broken_at = at
                    break
                if final or fpdu == UNREADABLE:
                    makes_sense = self.crc or self._may_follow(island, at, limit)
                    run.broken_at = at if makes_sense else run.last
                break
            if fpdu.sound or (not self.crc and self._is_believed(fpdu)):
                self._pass_on(island, run, fpdu)
                continue
            if fpdu.ulpdu_length == _LENGTH_IN_KEY and self._meets_startup(island, run):
                break
            if fpdu.crc == "bad" and not self.is_guess:
                # Its start is certain, so it is reported (RFC 5044 4.4).
                self._pass_on(island, run, fpdu)
                run.broken_at = at
            else:
                # Without CRCs, the length of the one before may be wrong.
                run.broken_at = at if self.crc else run.last
            break
        # Without CRCs a length is not proven before the next FPDU stands after it.
        done = run.end if self.crc else run.last
        self._sink.release(island, run.start, done if run.broken_at is None else run.broken_at)

    def _meets_startup(self, island: Island, run: Run) -> bool:
        """Leave a run at a startup frame, whose Key is no header of an FPDU; tell whether one
        begins there."""
        reach = startup_reach(island, run.end)
        if reach > island.end:
            island.need = reach
        elif reach:
            self._sink.meets_startup(run.end)
            self._await(island, run)
        return reach > 0

    def _is_believed(self, fpdu: Candidate) -> bool:
        """Tell whether an FPDU to which lengths have led is one, though its header looks wrong.

        A Marker may say so.  The snap length may have cut the header off.  And a Send may have an
        STag where there is none, which its receiver ignores (RFC 5040 4.1); but where Markers may
        as well be elsewhere, one may stand there.
        """
        if fpdu.is_pointed_at:
            return True
        if not fpdu.agrees or self.is_guess:
            return False
        head = header_octets(fpdu.octets, fpdu.layout)
        is_cut = len(fpdu.octets) < fpdu.end - fpdu.start
        if is_cut and lacks_header(head, fpdu.ulpdu_length):
            return True
        return self._header_makes_sense(fpdu, any_stag=True)

    def _may_follow(self, island: Island, at: int, limit: int) -> bool:
        """Tell whether the header to which lengths have led makes sense, as far as it is there."""
        return self._may_begin(island, at, limit, any_stag=not self.is_guess)

    # -- what the snap length cut off ----------------------------------------------------------

    def _judge_cut(
        self, island: Island, start: int, ulpdu_length: int, layout: Layout, seen: bytes
    ) -> Candidate:
        """Judge an FPDU of which the snap length cut something off.

        Where Markers may as well be elsewhere, nothing says how many lie in what was cut off.
        """
        fpdu = super()._judge_cut(island, start, ulpdu_length, layout, seen)
        if self.is_guess and not fpdu.is_pointed_at:
            return fpdu._replace(sound=False)
        return fpdu

    @staticmethod
    def _is_cut(island: Island, start: int, end: int) -> bool:
        """Tell whether octets between two places were cut off."""
        return bool(island.absent) and island.captured_until(start, end) < end

    @staticmethod
    def _await(island: Island, run: Run) -> None:
        """Leave a run as it is until the startup frame after it was read."""
        run.awaits = True
        island.need = _NOWHERE

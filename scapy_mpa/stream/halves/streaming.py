# SPDX-License-Identifier: GPL-2.0-or-later
"""Streaming mode: a half connection whose octets are not known to be FPDUs (RFC 5044 7.1.2).

One object looks for startup frames in them.  It is dropped when the Full Operation Phase begins.
"""

from scapy_mpa.stream.fpdus.heads import may_be_fpdu
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.limits import STREAMING_OCTETS
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.scan import (
    FoundStartup,
    almost_key,
    find_startups,
    may_be_rtr,
    refused_at,
    startup_reach,
    undecided_from,
)
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.startup import KEY_LENGTH, StartupKind


class Streaming:
    """Reads a half connection until it is known to carry FPDUs.

    :param half: the half connection.
    """

    __slots__ = ("_decide_at", "_half", "_key_checked", "_look_at", "_waits", "delayed")

    def __init__(self, half: HalfConnection) -> None:
        self._half = half
        self.delayed: FoundStartup | None = None
        """The last startup frame that was taken after other octets.  The octets after it may still
        refute it."""
        self._key_checked = False
        self._look_at: int | None = 0
        """How many held octets the next look at them needs; None to look no more."""
        self._decide_at = 0
        """How many captured octets the next decision needs."""
        self._waits = False
        """Whether the last look or decision goes on with the next octets."""

    # -- when to look ------------------------------------------------------------------------

    @property
    def is_looked_at(self) -> bool:
        """Whether it is worth looking at the octets to find out what they are."""
        return self._look_at is not None

    def look_no_more(self) -> None:
        """Stop looking for good: nothing more will be found out."""
        self._look_at = None

    def look_soon(self) -> None:
        """Look again at the next octets: nothing could be found out yet."""
        self._look_at = self._decide_at = 0
        self._waits = True

    def look_afresh(self) -> None:
        """Begin to look again: the phase has changed.

        The next look comes when the held octets have doubled.  So even many rejected startups cost
        only a few looks at all held octets.
        """
        self.delayed = None
        self._look_at = 2 * self._half.held

    def _is_due(self) -> bool:
        """Return whether to look at the held octets: each time that they have doubled."""
        held = self._half.held
        if self._look_at is None or held < self._look_at:
            return False
        self._look_at = 2 * held
        self._waits = False
        return True

    def _look(self) -> None:
        """Look at the held octets if that is due."""
        if self._is_due():
            self._half.owner.on_unknown(self._half, must_decide=False, at_once=False)

    def decide(self, *, at_once: bool = True) -> None:
        """Ask the connection what the octets are, each time that they have doubled.

        :param at_once: the decision cannot wait for the next segment.
        """
        half = self._half
        is_unknown = self.is_looked_at and half.phase is not Phase.FULL
        if is_unknown and half.octets >= self._decide_at:
            self._decide_at = 2 * half.octets
            self._waits = False
            half.owner.on_unknown(half, must_decide=True, at_once=at_once)

    # -- octets come -------------------------------------------------------------------------

    def advance(self, island: Island) -> None:
        """Read on in an island that has grown."""
        half = self._half
        if half.phase is Phase.STREAMING:
            self.scan(island)
        elif self.delayed is not None and _is_refuted(island, self.delayed):
            half.owner.on_refuted(half)
        else:
            # The peer's startup frame may be missing.
            self._look()

    def finish(self, island: Island) -> None:
        """Read an island that will not grow at its end."""
        if self._half.phase is Phase.STREAMING:
            self.scan(island, final=True)
        self.decide()

    def give_up(self, island: Island) -> int:
        """Return the position of the first octet that may belong to a startup frame."""
        begin = max(island.start, island.scan)
        is_streaming = self._half.phase is Phase.STREAMING and begin != self._half.begin
        return undecided_from(island) if is_streaming else begin

    def scan(self, island: Island, *, final: bool = False) -> None:
        """Look for startup frames in an island, in streaming mode.

        :param final: nothing will be added to its end.
        """
        half = self._half
        if island.joined:
            island.joined = False
        elif island.end < island.need and not final:
            return
        at_begin = island.held == island.start == half.begin and not self._key_checked
        if at_begin and not self._check_key(island) and not final:
            # A wrong Key is recognised only as a whole.
            return
        before = island.scan
        if not self._find_startup(island, final=final):
            return
        others = half.owner.shared.others
        if others and half.phase is Phase.STREAMING and half.octets <= STREAMING_OCTETS:
            others.look(half, island, before)
        if half.phase is not Phase.STREAMING:
            return
        if half.octets > STREAMING_OCTETS:
            self.decide(at_once=False)
        else:
            self._look()
        is_over = self._look_at is None or (half.octets > STREAMING_OCTETS and not self._waits)
        if is_over and streaming_of(half) is self and half.phase is Phase.STREAMING:
            self.stop_looking(island)

    def resume(self) -> None:
        """Read all islands again: they have not grown, but more is known by now."""
        for island in list(self._half.islands.items):
            if self._half.reader is self:
                island.need = island.start
                self.advance(island)

    def stop_looking(self, grown: Island | None = None) -> None:
        """Treat the octets so far as other traffic; a startup frame may still come."""
        half = self._half
        islands = [grown] if grown and self._look_at is None else self._half.islands.items
        self._look_at = None
        for island in list(islands):
            half.release(island, island.start, island.scan)
            island.has_hole = island.held > island.start

    def undecided_from(self) -> int | None:
        """Return the position of the first octet that may belong to an incomplete startup frame;
        None if there is none."""
        for island in self._half.islands.items:
            position = undecided_from(island)
            if position < island.end:
                return position
        return None

    def awaits_startup(self) -> bool:
        """Return whether a startup frame may still be captured, or become whole.

        Its Private Data may hold anything, even FPDUs.
        """
        half, begin = self._half, self._half.begin
        if begin is None:
            return False
        if half.phase is Phase.STREAMING and half.first_missing is not None:
            # It may lie in a hole.
            return True
        island = half.islands.at(begin)
        if island is None or island is not half.islands.items[-1]:
            return False
        return startup_reach(island, begin) > island.end

    def _check_key(self, island: Island) -> bool:
        """Report an almost correct Key where a Key must stand.

        Return False if there are too few octets to decide.
        """
        if island.end - island.start < KEY_LENGTH:
            return False
        end = island.start + KEY_LENGTH
        if not island.is_captured(island.start, end):
            # A copy may bring the rest.
            return True
        self._key_checked = True
        octets = island.read(island.start, end)
        if almost_key(octets):
            self._half.wrong(
                ErrorCode.INVALID_STARTUP_FRAME,
                island.start,
                f"the Key of the startup frame is {octets!r} (RFC 5044 7.1.1, 7.1.2 rule 5)",
            )
        return True

    def refuse_startup(self) -> None:
        """Report a startup frame whose PD_Length claims octets that turned out to be FPDUs."""
        half = self._half
        if half.phase is not Phase.STREAMING:
            return
        islands = self._half.islands.items
        for island in islands:
            if island.held == island.start == half.begin:
                # If all octets are in one island, so are the FPDUs.
                alone = len(islands) == 1
                for problem in refused_at(island, island.start, holds_fpdus=alone):
                    half.wrong(ErrorCode.INVALID_STARTUP_FRAME, island.start, problem)

    # -- seeming startup frames --------------------------------------------------------------

    def _find_startup(self, island: Island, *, final: bool = False) -> bool:
        """Pass on seeming startup frames; return False if one of them must wait for its turn."""
        half = self._half
        # A frame that is passed on may change the phase.
        phase = half.phase
        if phase is not Phase.STREAMING:
            return True
        for found in find_startups(island, half.begin, final=final):
            is_delayed = self._is_delayed(found)
            if is_delayed and _is_refuted(island, found):
                # Its later octets may hold the true one.
                island.scan = found.position + 1
            elif half.owner.must_wait(half, island, found):
                return False
            elif not half.may_be_startup(island, found):
                island.scan = found.position + 1
            elif is_delayed and half.owner.reads_before(half, island, found):
                break
            else:
                self._pass_on(island, found, is_delayed=is_delayed)
            if half.phase is not Phase.STREAMING:
                break
        return True

    def _pass_on(self, island: Island, found: FoundStartup, *, is_delayed: bool) -> None:
        """Pass on a startup frame."""
        half = self._half
        island.scan = min(found.end, island.end)
        half.owner.on_startup(half, island, found)
        if is_delayed and half.phase is Phase.HELD:
            # The octets after it are held.  They show whether it is a startup frame.
            self.delayed = found

    def _is_delayed(self, found: FoundStartup) -> bool:
        """Return whether octets of streaming mode, captured or not, precede a startup frame."""
        half = self._half
        return found.position != half.begin and not half.owner.ends_startup(half, found.position)

    def refute(self) -> None:
        """Go back to streaming mode: a seeming startup frame was part of a payload."""
        assert self.delayed is not None
        half = self._half
        position = self.delayed.position
        self.look_afresh()
        half.phase = Phase.STREAMING
        island = half.islands.at(position)
        if island is not None:
            island.scan = position + 1
        self.resume()


def _is_refuted(island: Island, found: FoundStartup) -> bool:
    """Return whether the octets directly after a seeming startup frame show that it is none.

    FPDUs follow an accepted startup frame (RFC 5044 7.1.2 rules 3, 4), or an Rtr Frame comes first
    (rtr-frame-proposal-2007 2).  A payload may hold the octets of a startup frame.  If it is a
    capture file, for example, the next record follows them.
    """
    is_request = found.startup.kind is StartupKind.REQUEST
    may_be_followed = (
        found.startup.rejects
        or island.start > found.end
        or may_be_fpdu(island, found.end)
        or (is_request and may_be_rtr(island, found.end))
    )
    return not may_be_followed


def streaming_of(half: HalfConnection) -> Streaming | None:
    """Return the reader of streaming mode; None once a half connection carries FPDUs."""
    reader = half.reader
    return reader if isinstance(reader, Streaming) else None


def is_unknown(half: HalfConnection) -> bool:
    """Return whether another look at a half connection may show what its octets are."""
    streaming = streaming_of(half)
    return streaming is not None and streaming.is_looked_at

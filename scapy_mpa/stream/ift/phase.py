# SPDX-License-Identifier: GPL-2.0-or-later
"""The adaption indications of a connection, and what they agree on (draft-williams-iwarp-ift-01 4).

Each direction holds what follows its indication until the other one is there: only then it is
known which VTag its frames have.

An indication behind octets in streaming mode counts if there is one in either direction, of phase 0
and of phase 1, and nothing but frames with the VTags that they announce follows them.
"""

from __future__ import annotations

from scapy_mpa.stream.halves.extent import is_whole, span
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.takeover import enter_ift, hold
from scapy_mpa.stream.ift.framing import IFTFraming
from scapy_mpa.stream.ift.inference import infer_frames
from scapy_mpa.stream.ift.reader import FrameReader
from scapy_mpa.stream.ift.sink import IFTSink
from scapy_mpa.stream.octets.ift_scan import FoundIndication, SeenIndication
from scapy_mpa.wire.ift_frame import FRAME_HEADER_LENGTH, parse_frame_header
from scapy_mpa.wire.ift_indication import Problem
from scapy_mpa.wire.ift_negotiation import Agreement, negotiate

__all__ = ["IFTPhase"]


class IFTPhase:
    """What is known of a connection that may speak iWARP Framing for TCP.

    :param halves: both half connections, by direction.
    """

    __slots__ = ("_halves", "_is_unanswered", "_pending", "seen")

    def __init__(self, halves: tuple[HalfConnection, HalfConnection]) -> None:
        self._halves = halves
        self.seen: list[FoundIndication | None] = [None, None]
        """By direction, the adaption indications."""
        self._pending: list[SeenIndication | None] = [None, None]
        """By direction, what may be one, behind octets in streaming mode."""
        self._is_unanswered = False

    @property
    def is_begun(self) -> bool:
        """Whether an indication was seen, or frames were."""
        return self.seen != [None, None] or any(half.ift is not None for half in self._halves)

    @property
    def agreement(self) -> Agreement | None:
        """What the indications come to, by direction; None unless both were seen."""
        one, other = self.seen
        if one is None or other is None:
            return None
        return negotiate(one.indication, other.indication)

    @property
    def initiator(self) -> int | None:
        """The direction of phase 0, None if that is not known."""
        for direction, found in enumerate(self.seen):
            if found is not None:
                return 1 - direction if found.indication.ph else direction
        return None

    def take(self, half: HalfConnection, found: FoundIndication, frames: tuple[int, ...]) -> None:
        """Take an indication, and pass it on."""
        self._pass_on(half, _seen_now(half, found, frames))
        self._go_on()

    def doubt(self, half: HalfConnection, found: FoundIndication, frames: tuple[int, ...]) -> None:
        """Take what may be an indication, and pass on those that are known to be some now."""
        for each, seen in self._weigh(half, _seen_now(half, found, frames)):
            self._pass_on(each, seen)
        self._go_on()

    def _pass_on(self, half: HalfConnection, seen: SeenIndication) -> None:
        """Pass on an indication, and what is wrong with it, or with what both come to."""
        found = seen.found
        self.seen[half.direction] = found
        agreement = self.agreement
        hold(half)
        half.owner.tell_indication(half, seen)
        for problem in (*found.indication.problems(), *(agreement.failures if agreement else ())):
            half.owner.on_error(half, None, found.position, str(problem))

    def _weigh(
        self, half: HalfConnection, mine: SeenIndication
    ) -> list[tuple[HalfConnection, SeenIndication]]:
        """Take what may be an indication; return those that are known to be some now."""
        direction = half.direction
        if self.seen[1 - direction] is not None:
            return [(half, mine)]
        self._pending[direction] = mine
        peers = self._pending[1 - direction]
        if peers is None or mine.found.indication.ph == peers.found.indication.ph:
            return []
        other = self._halves[1 - direction]
        if _is_followed(half, mine, peers) and _is_followed(other, peers, mine):
            return sorted([(half, mine), (other, peers)], key=lambda pair: pair[1].frame)
        return []

    def _go_on(self) -> None:
        """Have both directions framed if both indications were seen."""
        if self.agreement is not None:
            for half in self._halves:
                self._enter(half)

    def look(self, half: HalfConnection, *, must_decide: bool) -> None:
        """See what can be made of a direction while the other indication is missing.

        :param must_decide: as if nothing more came.
        """
        self._enter(half)
        if must_decide:
            self._find_answer(half)

    def infer(self, half: HalfConnection) -> None:
        """Have a direction framed if CRCs prove that it carries frames, without any indication."""
        if half.phase is not Phase.STREAMING or self.seen[half.direction] is not None:
            return
        for island in half.islands.whole():
            inferred = infer_frames(island)
            if inferred is not None:
                # Whether RDMAP is in them, indications say.
                reader = FrameReader(**inferred._asdict(), rdma=False)
                sink = IFTSink(half)
                enter_ift(half, IFTFraming(sink, None, reader, speculative=False, markers=False))
                return

    def conclude(self) -> None:
        """Find out what can be found out, now that nothing more will come."""
        for half in self._halves:
            self.look(half, must_decide=True)

    def note_silence(self, how: str | None) -> None:
        """Say so if phase 0 was not answered at all, and nothing of the connection is missing.

        :param how: how the connection ended; None if that was not captured.
        """
        for half, found in zip(self._halves, self.seen, strict=True):
            other = self._halves[1 - half.direction]
            if found is None or found.indication.ph or self.seen[other.direction] is not None:
                continue
            if how is not None and not other.octets and is_whole(half) and is_whole(other):
                problem = Problem(f"the connection was {how} before phase 0 was answered", "4.2")
                half.owner.on_error(half, None, found.end, str(problem))

    def _enter(self, half: HalfConnection) -> None:
        """Have a direction framed whose indication was seen."""
        direction = half.direction
        found = self.seen[direction]
        if found is None or half.phase is not Phase.HELD:
            return
        told, agreement = found.indication, self.agreement
        vtag, rdma, markers, ignored = None, told.r, False, ""
        if agreement is not None:
            own = agreement.directions[direction]
            vtag, rdma, markers, ignored = own.vtag, bool(agreement.rdma), own.markers, own.ignored
        reader = FrameReader(
            header_crc=told.hc, payload_crc=told.pc, vtag=vtag, rdma=rdma, ignored=ignored
        )
        enter_ift(
            half, IFTFraming(IFTSink(half), found.end, reader, speculative=told.sp, markers=markers)
        )

    def _find_answer(self, half: HalfConnection) -> None:
        """Say so if phase 0 was answered by something else than phase 1."""
        begin = span(half)[0]
        if self.seen[half.direction] is not None or half.begin is None or self._is_unanswered:
            return
        if half.islands.at(begin) is not None:
            self._is_unanswered = True
            problem = Problem("no adaption indication answers the one of the peer", "4.2")
            half.owner.on_error(half, None, begin, str(problem))


def _seen_now(
    half: HalfConnection, found: FoundIndication, frames: tuple[int, ...]
) -> SeenIndication:
    return SeenIndication(found, frames, half.owner.frame, half.owner.last_time_ns)


def _is_followed(half: HalfConnection, own: SeenIndication, peers: SeenIndication) -> bool:
    """Tell whether nothing but a frame can follow an indication, for all that was captured."""
    start = own.found.end
    end = start + FRAME_HEADER_LENGTH
    island = half.islands.at(start)
    if island is None or start < island.held or island.end < end:
        return True
    if island.captured_until(start, end) < end:
        return True
    return parse_frame_header(island.read(start, end)).vtag == peers.found.indication.vtag

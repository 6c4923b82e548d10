# SPDX-License-Identifier: GPL-2.0-or-later
"""The adaption indications of a connection, and what they agree on (draft-williams-iwarp-ift-01 4).

One with which a direction begins is reported at once.  One after octets in streaming mode may be
part of a file: it counts if the other direction has one, too, of the other phase.  Frames are read
once there is one in each direction, since only then their VTags are known.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.dialects.ift.framing import IFTFraming
from scapy_mpa.dialects.ift.scan import FoundIndication, may_become_indication
from scapy_mpa.stream.events import AdaptionIndicationSeen
from scapy_mpa.stream.halves.extent import acknowledged_with, is_whole
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.transitions import enter_other
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.ift_indication import Problem
from scapy_mpa.wire.ift_negotiation import negotiate


class IFTPhase:
    """What is known of a connection that may speak iWARP Framing for TCP.

    :param halves: both half connections, by direction.
    """

    __slots__ = ("_halves", "_received", "_seen", "_unreported", "is_begun")
    dialect: Final = Dialect.DRAFT_IFT_01

    def __init__(self, halves: tuple[HalfConnection, HalfConnection]) -> None:
        self._halves = halves
        self._seen: list[FoundIndication | None] = [None, None]
        """By direction, the first that was found."""
        self._received: list[int | None] = [None, None]
        """What the sender of each had received then, as a sequence number."""
        self._unreported: list[AdaptionIndicationSeen] = []
        self.is_begun = False
        """Whether an indication was reported."""

    @property
    def initiator(self) -> int | None:
        """The direction of phase 0, None if that is not known."""
        for direction, found in enumerate(self._seen):
            if found is not None:
                return 1 - direction if found.indication.ph else direction
        return None

    def take(
        self,
        half: HalfConnection,
        found: FoundIndication,
        frames: tuple[int, ...],
        *,
        is_first: bool,
    ) -> None:
        """Take an indication, report those that count now, and go on with frames if both do.

        :param frames: that brought it.
        :param is_first: whether its direction begins with it.
        """
        seen, direction = self._seen, half.direction
        if seen[direction] or any(each.phase is not Phase.STREAMING for each in self._halves):
            return
        seen[direction] = found
        self._received[direction] = acknowledged_with(half, found.position, found.end)
        self._unreported.append(
            AdaptionIndicationSeen(
                *half.head(found.position),
                octets=found.octets,
                frames=frames,
                indication=found.indication,
            )
        )
        peer = seen[1 - direction]
        is_answer = peer is not None and peer.indication.ph != found.indication.ph
        self.is_begun = self.is_begun or is_first or is_answer
        if self.is_begun:
            self._report()

    def _report(self) -> None:
        """Report indications, and what is wrong with each and with both; begin to read frames."""
        one, other = self._seen
        agreement = negotiate(one.indication, other.indication) if one and other else None
        for event in self._unreported:
            half, found = self._halves[event.direction], self._seen[event.direction]
            assert found is not None
            half.owner.common.emit(event)
            problems = event.indication.problems()
            if agreement is not None and event is self._unreported[-1]:
                problems += agreement.failures
            for problem in problems:
                half.wrong(None, found.position, str(problem))
        self._unreported = []
        if agreement is None or one is None or other is None:
            return
        self._check_order(one, other)
        for half, found in zip(self._halves, (one, other), strict=True):
            agreed = agreement.directions[half.direction]
            framing = IFTFraming(half, found.end, agreed, agreement.rdma)
            enter_other(half, framing, found.end)

    def _check_order(self, one: FoundIndication, other: FoundIndication) -> None:
        """Report a phase 1 whose sender had not received phase 0, which it answers."""
        if one.indication.ph == other.indication.ph:
            return
        answer, asked = (one, other) if one.indication.ph else (other, one)
        half = self._halves[answer is other]
        received = self._received[half.direction]
        if received is not None and unwrap(received, asked.end) < asked.end:
            problem = Problem("phase 1 was sent before phase 0 was received", "4.2")
            half.wrong(None, answer.position, str(problem))

    def conclude(self, how: str | None) -> None:
        """Report an indication that was not answered, now that nothing more will come.

        :param how: how the connection ended; None if that was not captured.
        """
        for half, found in zip(self._halves, self._seen, strict=True):
            peer = self._halves[1 - half.direction]
            if found is None or self._seen[peer.direction] is not None:
                continue
            if (other := _begins_otherwise(peer)) is not None:
                problem = Problem("no adaption indication answers the one of the peer", "4.2")
                peer.wrong(None, other, str(problem))
            elif how and not found.indication.ph and is_whole(half) and is_whole(peer):
                problem = Problem(f"the connection was {how} before phase 0 was answered", "4.2")
                half.wrong(None, found.end, str(problem))


def _begins_otherwise(half: HalfConnection) -> int | None:
    """Return where a direction begins, if what was captured there cannot become an indication."""
    begin = half.begin
    island = None if begin is None else half.islands.at(begin)
    if begin is None or island is None or may_become_indication(island, begin):
        return None
    return begin

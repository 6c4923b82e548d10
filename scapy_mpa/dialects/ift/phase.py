# SPDX-License-Identifier: GPL-2.0-or-later
"""The adaption indications of a connection, and their result (draft-williams-iwarp-ift-01 4).

An indication is found where a direction begins, and reported at once.
Frames are read after both indications, since only these give the VTags.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.dialects.ift.framing import IFTFraming
from scapy_mpa.dialects.ift.scan import FoundIndication
from scapy_mpa.stream.events import AdaptionIndicationSeen
from scapy_mpa.stream.halves.extent import acknowledged_with
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.transitions import enter_other
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.ift_indication import INDICATION_LENGTH, problem_text
from scapy_mpa.wire.ift_negotiation import negotiate


class IFTPhase:
    """The indications of a connection that may use iWARP Framing for TCP.

    :param halves: both half connections, by direction.
    """

    __slots__ = ("_halves", "_received", "_seen")
    dialect: Final = Dialect.DRAFT_IFT_01

    def __init__(self, halves: tuple[HalfConnection, HalfConnection]) -> None:
        self._halves = halves
        self._seen: list[FoundIndication | None] = [None, None]
        """The indication of each direction."""
        self._received: list[int | None] = [None, None]
        """The acknowledgement number sent with each indication."""

    @property
    def initiator(self) -> int | None:
        """The direction of phase 0, None if it is not known."""
        for direction, found in enumerate(self._seen):
            if found is not None:
                return 1 - direction if found.indication.ph else direction
        return None

    def take(self, half: HalfConnection, found: FoundIndication, frames: tuple[int, ...]) -> None:
        """Take the indication with which a direction begins; after both, begin to read frames.

        :param frames: the frames that carried it.
        """
        seen, direction = self._seen, half.direction
        if seen[direction]:
            return
        seen[direction] = found
        self._received[direction] = acknowledged_with(half, found.position, found.end)
        half.owner.shared.rows.append(
            AdaptionIndicationSeen(
                *half.head(found.position),
                octets=found.octets,
                frames=frames,
                indication=found.indication,
            )
        )
        first, second = seen
        agreement = negotiate(first.indication, second.indication) if first and second else None
        failures = [] if agreement is None else agreement.failures
        for problem in (*found.indication.problems(), *failures):
            half.wrong(None, found.position, problem)
        if agreement is None or first is None or second is None:
            return
        self._check_order(first, second)
        for one, own in zip(self._halves, (first, second), strict=True):
            agreed = agreement.directions[one.direction]
            enter_other(one, IFTFraming(one, own.end, agreed, agreement.rdma), own.end)

    def _check_order(self, first: FoundIndication, second: FoundIndication) -> None:
        """Report a phase 1 that was sent before its sender had received phase 0."""
        if first.indication.ph == second.indication.ph:
            return
        answer, request = (first, second) if first.indication.ph else (second, first)
        half = self._halves[answer is second]
        received = self._received[half.direction]
        if received is not None and unwrap(received, request.end) < request.end:
            problem = problem_text("phase 1 was sent before phase 0 was received", "4.2")
            half.wrong(None, answer.position, problem)

    def conclude(self) -> None:
        """Report a direction that begins with other octets than an answer to an indication."""
        for half, found in zip(self._halves, self._seen, strict=True):
            begin = half.begin
            island = None if found or begin is None else half.islands.at(begin)
            if begin is None or island is None:
                continue
            end = begin + INDICATION_LENGTH
            if end <= island.end and island.captured_until(begin, end) == end:
                problem = problem_text("no adaption indication answers the one of the peer", "4.2")
                half.wrong(None, begin, problem)

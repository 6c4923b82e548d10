# SPDX-License-Identifier: GPL-2.0-or-later
"""Adaption indications: looked for where directions begin (draft-williams-iwarp-ift-01 4).

An indication has the magic number and a good CRC, and is reported at once.  Frames are read after
both indications, since only these give the VTags.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from scapy_mpa.dialects.ift.framing import IFTFraming
from scapy_mpa.stream.events import AdaptionIndicationSeen
from scapy_mpa.stream.halves.extent import acknowledged_with
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.other import Beginning
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.transitions import enter_other
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.ift_indication import (
    DOCUMENT,
    INDICATION_LENGTH,
    MAGIC,
    VERSION,
    AdaptionIndication,
    parse_indication,
    problem_text,
)
from scapy_mpa.wire.ift_negotiation import negotiate

_INDICATION: Final = Beginning("an adaption indication", INDICATION_LENGTH, f"{DOCUMENT} 4.2")
_MAGIC: Final = MAGIC.to_bytes(4, "big")
_VERSIONS: Final = VERSION.to_bytes(2, "big") * 2
_VERSIONS_AT: Final = len(_MAGIC)


class _Found(NamedTuple):
    """An adaption indication in a stream."""

    position: int
    octets: bytes
    indication: AdaptionIndication
    received: int | None
    """The acknowledgement number that was sent with it."""

    @property
    def end(self) -> int:
        """Position after the indication."""
        return self.position + INDICATION_LENGTH


class Indications:
    """Finds connections that use iWARP Framing for TCP."""

    def look(self, half: HalfConnection, island: Island, position: int) -> None:
        """Look for an adaption indication where a direction begins, and take it.

        :param position: octets before it were looked at.
        """
        start = island.start
        if position > start or not half.may_begin_at(island, start):
            return
        octets = island.read(start, min(island.end, start + INDICATION_LENGTH))
        if not octets.startswith(_MAGIC[: len(octets)]):
            return
        if len(octets) < INDICATION_LENGTH:
            # Keep its octets: a startup frame may still come, too.
            island.scan = start
            return
        indication = parse_indication(octets)
        is_streaming = all(one.phase is Phase.STREAMING for one in half.owner.halves)
        if indication.crc_is_good() and is_streaming:
            received = acknowledged_with(half, start, start + INDICATION_LENGTH)
            _phase_of(half).take(half, island, _Found(start, octets, indication, received))

    def begins(self, island: Island, position: int) -> Beginning | None:
        """Describe an adaption indication if octets begin like one, else return None."""
        end = position + _VERSIONS_AT + len(_VERSIONS)
        is_one = island.holds(position, end) and island.read(position, end) == _MAGIC + _VERSIONS
        return _INDICATION if is_one else None


def _phase_of(half: HalfConnection) -> IFTPhase:
    """Return the indications of a connection; create the object on first use."""
    owner = half.owner
    if not isinstance(owner.other, IFTPhase):
        owner.other = IFTPhase(owner.halves)
    return owner.other


class IFTPhase:
    """The indications of a connection that may use iWARP Framing for TCP.

    :param halves: both half connections, by direction.
    """

    __slots__ = ("_halves", "_seen")
    dialect: Final = Dialect.DRAFT_IFT_01

    def __init__(self, halves: tuple[HalfConnection, HalfConnection]) -> None:
        self._halves = halves
        self._seen: list[_Found | None] = [None, None]
        """The indication of each direction."""

    @property
    def initiator(self) -> int | None:
        """The direction of phase 0, None if it is not known."""
        for direction, found in enumerate(self._seen):
            if found is not None:
                return 1 - direction if found.indication.ph else direction
        return None

    def take(self, half: HalfConnection, island: Island, found: _Found) -> None:
        """Take the indication with which a direction begins; after both, begin to read frames."""
        seen, direction = self._seen, half.direction
        if seen[direction]:
            return
        seen[direction] = found
        half.owner.identity.initiator = self.initiator
        half.owner.shared.rows.append(
            AdaptionIndicationSeen(
                *half.head(found.position),
                octets=found.octets,
                frames=island.frames(found.position, found.end),
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

    def _check_order(self, first: _Found, second: _Found) -> None:
        """Report a phase 1 that was sent before its sender had received phase 0."""
        if first.indication.ph == second.indication.ph:
            return
        answer, request = (first, second) if first.indication.ph else (second, first)
        if answer.received is not None and unwrap(answer.received, request.end) < request.end:
            problem = problem_text("phase 1 was sent before phase 0 was received", "4.2")
            self._halves[answer is second].wrong(None, answer.position, problem)

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

# SPDX-License-Identifier: GPL-2.0-or-later
"""One TCP connection from its first frame to its last."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final

from benchmarks.network import Receiver, passing
from benchmarks.packets import ACK, FIN, PSH, SMALLEST_RECORD, SYN, Endpoint, Sender
from benchmarks.profiles import Profile
from benchmarks.traffic import FPDUSource, Payloads, startup_frame
from scapy_mpa.wire.startup import StartupKind

__all__ = ["CLOSING_OCTETS", "RESPONDER_PORT", "Conversation"]

RESPONDER_PORT: Final = 7174
"""Where Linux' rping listens; no registered protocol has it, so that nobody guesses another."""

_RESPONDER: Final = Endpoint(b"\x02\0\0\0\0\2", bytes([10, 128, 0, 1]), RESPONDER_PORT)
_ANSWER: Final = 64
"""Octets of payload of what the Responder sends."""
_ACKNOWLEDGED: Final = 2
"""Every other segment is acknowledged (RFC 9293 3.8.6.3)."""

CLOSING_OCTETS: Final = 3 * SMALLEST_RECORD
"""Octets that the end of a connection takes in the file."""


class Conversation:
    """A connection whose Initiator sends what its profile says.

    :param number: sets it apart from other connections; 0 to 65535.
    """

    __slots__ = ("_initiator", "_profile", "_responder", "_rng", "_sources")

    def __init__(
        self, profile: Profile, number: int, payloads: Payloads, rng: random.Random
    ) -> None:
        self._profile = profile
        self._rng = rng
        address = bytes([10, 0, *number.to_bytes(2, "big")])
        port = rng.randint(32768, 60999)
        endpoint = Endpoint(b"\x02\0\0\0\0\1", address, port)
        # Sequence numbers do not wrap in files of less than 2 GB: what a wrap does to a dissector
        # is not to be left to a seed.
        self._initiator = Sender(endpoint, _RESPONDER, rng.getrandbits(31))
        self._responder = Sender(_RESPONDER, endpoint, rng.getrandbits(31))
        markers = profile.markers
        self._sources = (
            FPDUSource(payloads, markers=markers, stag=rng.getrandbits(32)),
            FPDUSource(payloads, markers=markers, stag=rng.getrandbits(32)),
        )

    @property
    def fpdus(self) -> int:
        """How many FPDUs both sides have sent so far."""
        return sum(source.fpdus for source in self._sources)

    def frames(self, enough: Callable[[], bool]) -> Iterator[bytes]:
        """Yield the frames in the order of capture; close the connection when they are enough."""
        yield from self._open()
        yield from self._work(enough)
        yield from self._close()

    def _open(self) -> Iterator[bytes]:
        initiator, responder = self._initiator, self._responder
        yield initiator.send(b"", 0, SYN)
        yield responder.send(b"", initiator.next, SYN | ACK)
        yield initiator.send(b"", responder.next)
        markers = self._profile.markers
        request = startup_frame(StartupKind.REQUEST, markers=markers)
        reply = startup_frame(StartupKind.REPLY, markers=markers)
        yield initiator.send(request, responder.next, PSH | ACK)
        yield responder.send(reply, initiator.next, PSH | ACK)

    def _work(self, enough: Callable[[], bool]) -> Iterator[bytes]:
        profile, rng = self._profile, self._rng
        initiator, responder = self._initiator, self._responder
        requests, answers = self._sources
        receiver = Receiver(initiator.next)
        payloads = profile.segments(requests, rng, enough)
        segments = passing(profile.impairment, payloads, initiator.next, rng)
        for number, (position, payload, is_received) in enumerate(segments, 1):
            yield initiator.frame(position, payload, responder.next)
            initiator.next = max(initiator.next, position + len(payload))
            if is_received:
                receiver.take(position, len(payload))
            if number % profile.answered == 0:
                yield responder.send(answers.send(_ANSWER), receiver.acknowledges, PSH | ACK)
            elif number % _ACKNOWLEDGED == 0:
                yield responder.send(b"", receiver.acknowledges)

    def _close(self) -> Iterator[bytes]:
        initiator, responder = self._initiator, self._responder
        yield initiator.send(b"", responder.next, FIN | ACK)
        yield responder.send(b"", initiator.next, FIN | ACK)
        yield initiator.send(b"", responder.next)

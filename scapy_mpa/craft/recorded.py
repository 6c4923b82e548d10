# SPDX-License-Identifier: GPL-2.0-or-later
"""A captured connection as a conversation: what was said on it, to be said again or changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from scapy_mpa.capture import Decoder, open_capture
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.endpoint import Endpoint
from scapy_mpa.craft.script import CloseItem, FPDUItem, HandshakeItem, Item, StartupItem
from scapy_mpa.stream.events import ConnectionId, Event, FPDURecovered, StartupSeen
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.segment import flow_endpoints
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.startup import KEY_LENGTH, StartupKind

__all__ = ["RECORDED_FPDUS", "recorded"]

RECORDED_FPDUS: Final = 1000
"""FPDUs that are taken of a connection unless told otherwise: a case is a file of its own."""


_NEEDED: Final = {StartupKind.REQUEST, StartupKind.REPLY}


def recorded(
    path: str | os.PathLike[str], connection: int | None = None, *, fpdus: int = RECORDED_FPDUS
) -> Conversation:
    """Return what was said on a captured connection, from its last startup frames on.

    The FPDUs are those that are sound, in the order of their stream, and between the sides in that
    of the capture.  TCP segments, Markers and CRCs are made anew.

    :param connection: its number; None: the first one with a Request, a Reply and an FPDU.
    :param fpdus: how many are taken at most.
    :raises CaptureError: the capture cannot be read.
    :raises LocalProtocolError: there is no such connection in it.
    """
    startups: dict[ConnectionId, dict[StartupKind, StartupSeen]] = {}
    chosen: ConnectionId | None = None
    found: list[FPDURecovered] = []
    for event in _events(path):
        if connection is not None and event.connection.number != connection:
            continue
        if isinstance(event, StartupSeen) and chosen is None:
            startups.setdefault(event.connection, {})[event.startup.kind] = event
        elif isinstance(event, FPDURecovered) and event.crc in ("good", "off"):
            seen = startups.get(event.connection, {})
            if chosen is None and seen.keys() >= _NEEDED:
                chosen = event.connection
            if event.connection == chosen:
                found.append(event)
                if len(found) == fpdus:
                    break
    if chosen is None:
        which = "no connection" if connection is None else f"connection {connection} is not one"
        raise LocalProtocolError(f"{os.fspath(path)}: {which} with startup frames and FPDUs")
    seen = startups[chosen]
    return _conversation(seen, found)


def _events(path: str | os.PathLike[str]) -> Iterator[Event]:
    flows, decoder = Flows(), Decoder()
    with open_capture(path) as capture:
        for frame in capture:
            segment = decoder.segment(frame)
            if segment is not None:
                yield from flows.receive(segment)
    yield from flows.finish()


def _conversation(seen: dict[StartupKind, StartupSeen], fpdus: list[FPDURecovered]) -> Conversation:
    request = seen[StartupKind.REQUEST]
    said = request.startup, seen[StartupKind.REPLY].startup
    initiator = request.direction
    ends = flow_endpoints(request.connection.flow)
    made = Conversation(
        _endpoint(ends[initiator]),
        _endpoint(ends[1 - initiator]),
        revision=said[0].revision,
        markers=(said[0].markers, said[1].markers),
        crc=(said[0].crc, said[1].crc),
        strict=False,
    )
    script: list[Item] = [HandshakeItem()]
    for event in (seen[kind] for kind in StartupKind if kind in seen):
        startup = event.startup
        script.append(
            StartupItem(
                int(event.direction != initiator),
                startup.kind,
                startup.data,
                startup.rejected,
                crc=startup.crc,
                s_bit=startup.s_bit,
                reserved=startup.reserved,
                revision=startup.revision,
                key=event.octets[:KEY_LENGTH],
                extension=startup.extension,
            )
        )
    script += [FPDUItem(int(each.direction != initiator), each.ulpdu) for each in _in_order(fpdus)]
    script.append(CloseItem(0))
    return made.with_script(script)


def _in_order(fpdus: list[FPDURecovered]) -> list[FPDURecovered]:
    """Return FPDUs such that none comes before those that its side has sent before it."""
    ordered = []
    for direction in (0, 1):
        latest = 0
        for each in sorted(
            (each for each in fpdus if each.direction == direction),
            key=lambda each: each.offset or 0,
        ):
            latest = max(latest, each.frame)
            ordered.append((latest, each))
    return [each for _, each in sorted(ordered, key=itemgetter(0))]


def _endpoint(text: str) -> Endpoint:
    """Return an endpoint as records have it: ``10.0.0.1:4000``, ``[fd00::1]:4000``."""
    address, _, port = text.rpartition(":")
    return Endpoint(address.strip("[]"), int(port))

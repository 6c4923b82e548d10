# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a conversation of a captured connection, to send it again or change it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import itemgetter
from typing import BinaryIO, Final, NamedTuple

from scapy_mpa.capture import Decoder, Frame, open_capture
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.endpoint import Endpoint
from scapy_mpa.craft.given import number
from scapy_mpa.craft.script import CloseItem, FPDUItem, HandshakeItem, Item, StartupItem
from scapy_mpa.dialects import other_framings
from scapy_mpa.stream.events import ConnectionEnded, ConnectionId, Event, FPDURecovered, StartupSeen
from scapy_mpa.stream.flows import Flows
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import CaptureError, LocalProtocolError
from scapy_mpa.wire.shown import shown
from scapy_mpa.wire.startup import KEY_LENGTH, StartupKind

RECORDED_FPDUS: Final = 1000
"""Default for how many FPDUs of a connection are taken: each fuzz case is a file with all of
them."""

_MOST_OPEN: Final = 128
"""Open connections without an FPDU whose startup frames are held, at most.  Few connections are in
that state at a time, and an attacker's startup frames may have 64 KiB each."""

_MOST: Final = (1 << 63) - 1
"""The largest length of a list."""

_NEEDED: Final = {StartupKind.REQUEST, StartupKind.REPLY}
_LAYOUTS: Final = (Dialect.OSC, Dialect.SOFTUIWARP)
"""Dialects whose FPDUs have another layout than those of RFC 5044."""
_SOUND: Final = ("good", "off")
"""CRC verdicts of the FPDUs that are taken."""


def _warn(problem: CaptureError) -> None:
    warnings.warn(str(problem), RuntimeWarning, stacklevel=3)


def recorded(
    path: str | os.PathLike[str] | BinaryIO,
    connection: int | None = None,
    *,
    fpdus: int = RECORDED_FPDUS,
    tell: Callable[[CaptureError], object] = _warn,
) -> Conversation:
    """Return a captured connection as a conversation, from its last startup frames on.

    It has the FPDUs with a good CRC, or with CRCs off, in the order of their stream; those of the
    two sides are in the order of the capture.  TCP segments, Markers and CRCs are made anew, in the
    layout of osc or SoftUiWARP if that was recognised.  The capture is read only as far as needed.
    At the end, both sides close; remove that item of the script to go on with verbs.

    :param path: as for :func:`~scapy_mpa.capture.open_capture`.
    :param connection: its number; None: the first one with a Request, a Reply and an FPDU.
    :param fpdus: the most FPDUs that are taken, from 1.
    :param tell: takes the error if the capture could not be read to its end; by default, a Python
        warning is issued.
    :raises TypeError: ``path`` is neither a name nor a binary file.
    :raises CaptureError: the capture cannot be read.
    :raises LocalProtocolError: the capture has no such connection, or a conversation cannot
        represent it.
    """
    if connection is not None:
        number("connection", connection, 0, _MOST)
    number("fpdus", fpdus, 1, _MOST)
    with open_capture(path) as capture:
        events = events_of(capture)
        beginning = _beginning(events, connection)
        found = [*islice(_sound_fpdus(events, beginning), fpdus)]
        name = shown(capture.name)
        if capture.problem is not None:
            tell(capture.problem)
    if not found:
        which = "no connection" if connection is None else f"connection {connection} is not one"
        why = "DDP over SCTP and iWARP Framing for TCP have none"
        if beginning.given_up:
            why = f"{beginning.given_up} with startup frames were too many to wait for their FPDUs"
        raise LocalProtocolError(f"{name}: {which} with startup frames and FPDUs of MPA; {why}")
    try:
        return _conversation(beginning.startups, found)
    except LocalProtocolError as error:
        raise LocalProtocolError(f"{name}: {error}") from error


class _Beginning(NamedTuple):
    """The startup frames and the first FPDU of the connection that is taken."""

    startups: dict[StartupKind, StartupSeen]
    first: FPDURecovered | None
    """The first FPDU; None: there is no such connection."""
    given_up: int
    """Connections whose startup frames were dropped because of the limit."""


def events_of(frames: Iterable[Frame]) -> Iterator[Event]:
    """Yield the events of the stream core for frames."""
    flows, decoder = Flows(others=other_framings()), Decoder()
    for frame in frames:
        segment = decoder.segment(frame)
        if segment is not None:
            yield from flows.receive(segment)
    yield from flows.finish()


def _beginning(events: Iterable[Event], number: int | None) -> _Beginning:
    """Read events up to the first sound FPDU of a connection with a Request and a Reply.

    :param number: the number of the connection; None: any.
    """
    # The startup frames of connections that have not ended, oldest first.
    opened: dict[ConnectionId, dict[StartupKind, StartupSeen]] = {}
    given_up = 0
    for event in events:
        connection = event.connection
        if number not in (None, connection.number):
            continue
        if isinstance(event, StartupSeen):
            opened.setdefault(connection, {})[event.startup.kind] = event
            if len(opened) > _MOST_OPEN:
                del opened[next(iter(opened))]
                given_up += 1
        elif isinstance(event, FPDURecovered):
            startups = opened.get(connection, {})
            if event.crc in _SOUND and startups.keys() >= _NEEDED:
                return _Beginning(startups, event, given_up)
        elif isinstance(event, ConnectionEnded):
            opened.pop(connection, None)
    return _Beginning({}, None, given_up)


def _sound_fpdus(events: Iterable[Event], beginning: _Beginning) -> Iterator[FPDURecovered]:
    """Yield the sound FPDUs of the connection, up to its end."""
    if beginning.first is None:
        return
    yield beginning.first
    for event in events:
        if event.connection == beginning.first.connection:
            if isinstance(event, ConnectionEnded):
                return
            if isinstance(event, FPDURecovered) and event.crc in _SOUND:
                yield event


def _conversation(seen: dict[StartupKind, StartupSeen], fpdus: list[FPDURecovered]) -> Conversation:
    request, reply = seen[StartupKind.REQUEST], seen[StartupKind.REPLY]
    startups = request.startup, reply.startup
    dialects = {reply.dialect, *(each.dialect for each in fpdus)}
    dialect = next((each for each in _LAYOUTS if each in dialects), None)
    initiator = request.direction
    ends = request.connection.endpoints
    made = Conversation(
        _endpoint(ends[initiator]),
        _endpoint(ends[1 - initiator]),
        revision=startups[0].revision,
        markers=(startups[0].markers, startups[1].markers),
        crc=(startups[0].crc, startups[1].crc),
        dialect=dialect,
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
    """Return FPDUs in the order of the capture, but each side's in the order of its stream."""
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
    """Return the endpoint of a record's text: ``10.0.0.1:4000``, ``[fd00::1]:4000``."""
    address, _, port = text.rpartition(":")
    return Endpoint(address.strip("[]"), int(port))

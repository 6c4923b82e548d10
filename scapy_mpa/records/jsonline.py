# SPDX-License-Identifier: GPL-2.0-or-later
"""Records as text: one JSON object a line, what ``json.loads`` makes of it is the record.

A capture has millions of FPDUs, and a general encoder takes as long for one as finding it takes.
So the line of an FPDU whose headers are whole is put together here from what is the same for
many FPDUs and what is not; everything rare goes through the general encoder.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from scapy_mpa.records.ddp import ddp_header, ddp_payload
from scapy_mpa.records.kinds import FPDUKind, WriteTagged, WriteUntagged
from scapy_mpa.records.record import RecordedEvent, own_fields, type_of
from scapy_mpa.stream.events import ConnectionId, CrcVerdict, FPDURecovered, LocatedBy
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.ddp import (
    TAGGED,
    TAGGED_FIELDS,
    TAGGED_LENGTH,
    UNTAGGED_FIELDS,
    UNTAGGED_LENGTH,
    parse_ddp,
)
from scapy_mpa.wire.rdmap import parse_control
from scapy_mpa.wire.rdmap_names import INVALIDATING_OPCODES, message_name

__all__ = ["JSONTemplates", "json_line"]

_BOOLEAN: Final = {True: "true", False: "false"}

_CACHED_KINDS: Final = 4096
"""Writers of FPDUs that are kept, each some 1000 octets: real traffic has some twenty."""

_CACHED_LABELS: Final = 4096
"""Directions of which is kept how the lines of their FPDUs begin."""

_CACHED_CONTROLS: Final = 256
"""Pairs of control octets that are kept: real traffic has some twenty."""


def _encode(value: Any) -> str:
    """Return a value as JSON."""
    return _encoder()(value)


@lru_cache(maxsize=1)
def _encoder() -> Callable[[Any], str]:
    # Not all who import this module write JSON, and a command is to start soon.
    import json

    return json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def json_line(event: RecordedEvent, *, payload: bool = False) -> str:
    """Return the record of ``event`` as one line of JSON in ASCII, without the line's end.

    ``time`` is written as the exact decimal, with nine digits.

    :param payload: see :func:`~scapy_mpa.records.record.record_of`.
    """
    if isinstance(event, FPDURecovered):
        line = _fpdu_line(event, payload)
        if line is not None:
            return line
    beginning = _beginning(type_of(event), event.connection, event.direction)
    rest = _encode(own_fields(event, payload=payload))
    return f'{beginning}{event.frame},"time":{_seconds(event.time_ns)},{rest[1:]}'


def _seconds(time_ns: int) -> str:
    """Return nanoseconds as seconds: clocks and time offsets of captures may lie before 1970."""
    seconds, fraction = divmod(abs(time_ns), SECOND)
    return f"{'-' if time_ns < 0 else ''}{seconds}.{fraction:09d}"


def _beginning(kind: str, connection: ConnectionId, direction: int) -> str:
    """Return a line up to the number of the frame."""
    source, target = connection.endpoints[direction], connection.endpoints[1 - direction]
    return (
        f'{{"type":"{kind}","connection":{connection.number},"src":{_encode(source)},'
        f'"dst":{_encode(target)},"frame":'
    )


@lru_cache(maxsize=_CACHED_CONTROLS)
def _control(octets: bytes) -> tuple[str, bool, bool]:
    """Return the keys that the two control octets fill, and whether T and an Invalidate STag."""
    header = parse_ddp(octets.ljust(UNTAGGED_LENGTH, b"\0"))
    control = parse_control(header.rsvdulp)
    text = (
        f'"tagged":{_BOOLEAN[header.tagged]},"last":{_BOOLEAN[header.last]},'
        f'"ddp_version":{header.ddp_version},"rdmap_version":{control.rdmap_version},'
        f'"opcode":{control.opcode},"message":{_encode(message_name(control.opcode))},'
    )
    return text, header.tagged, not header.tagged and control.opcode in INVALIDATING_OPCODES


class JSONTemplates:
    """Writes FPDUs that have nearly everything in common."""

    def line(self, event: RecordedEvent) -> str:
        """Return the line of any event."""
        return json_line(event)

    def label(self, connection: ConnectionId, direction: int) -> str:
        """Return how the lines of all FPDUs of a direction begin."""
        return _beginning("fpdu", connection, direction)

    def tagged(self, kind: FPDUKind) -> WriteTagged:
        """Return what writes Tagged FPDUs of a kind."""
        middle, control, _ = _parts(kind)

        def write(
            label: str,
            frame: int,
            time_ns: int,
            seq: int,
            offset: int | None,
            ulpdu_length: int,
            frames: str | int,
            stag: int,
            to: int,
        ) -> str:
            return (
                f'{label}{frame},"time":{time_ns // SECOND}.{time_ns % SECOND:09d},'
                f'"seq":{seq},"offset":{"null" if offset is None else offset},'
                f'"ulpdu_length":{ulpdu_length}{middle}{frames}{control}'
                f'"stag":{stag},"to":{to},"qn":null,"msn":null,"mo":null,'
                f'"invalidate_stag":null,"payload_length":{ulpdu_length - TAGGED_LENGTH}}}'
            )

        return write

    def untagged(self, kind: FPDUKind) -> WriteUntagged:
        """Return what writes Untagged FPDUs of a kind."""
        middle, control, invalidates = _parts(kind)

        def write(
            label: str,
            frame: int,
            time_ns: int,
            seq: int,
            offset: int | None,
            ulpdu_length: int,
            frames: str | int,
            word: int,
            qn: int,
            msn: int,
            mo: int,
        ) -> str:
            return (
                f'{label}{frame},"time":{time_ns // SECOND}.{time_ns % SECOND:09d},'
                f'"seq":{seq},"offset":{"null" if offset is None else offset},'
                f'"ulpdu_length":{ulpdu_length}{middle}{frames}{control}'
                f'"stag":null,"to":null,"qn":{qn},"msn":{msn},"mo":{mo},'
                f'"invalidate_stag":{word if invalidates else "null"},'
                f'"payload_length":{ulpdu_length - UNTAGGED_LENGTH}}}'
            )

        return write


_TEMPLATES: Final = JSONTemplates()


def _parts(kind: FPDUKind) -> tuple[str, str, bool]:
    """Return what is the same for all FPDUs of a kind: two pieces of text, and a choice."""
    control, _, invalidates = _control(kind.control)
    middle = (
        f',"markers":{kind.markers},"crc":"{kind.crc}","located_by":"{kind.located_by}",'
        f'"out_of_order":{_BOOLEAN[kind.out_of_order]},"frames":['
    )
    return middle, f"],{control}", invalidates


@lru_cache(maxsize=_CACHED_KINDS)
def _writer(
    control: bytes, markers: int, crc: CrcVerdict, located_by: LocatedBy, out_of_order: bool
) -> Any:
    """Return what writes FPDUs of a kind."""
    kind = FPDUKind(control, markers, crc, located_by, out_of_order)
    return (_TEMPLATES.tagged if control >= TAGGED else _TEMPLATES.untagged)(kind)


# By the number of the connection, which is quicker to hash, and the direction; it holds as long as
# the connection is the very same.
_labels: Final[dict[tuple[int, int], tuple[ConnectionId, str]]] = {}


def _label(connection: ConnectionId, direction: int) -> str:
    """Return how the lines of all FPDUs of a direction begin."""
    key = connection.number, direction
    known = _labels.get(key)
    if known is not None and known[0] is connection:
        return known[1]
    if len(_labels) >= _CACHED_LABELS:
        _labels.clear()
    label = _TEMPLATES.label(connection, direction)
    _labels[key] = connection, label
    return label


def _fpdu_line(event: FPDURecovered, payload: bool) -> str | None:
    """Return the line of an FPDU, None if its headers are not whole or its time is negative."""
    (
        connection,
        direction,
        frame,
        time_ns,
        seq,
        offset,
        ulpdu_length,
        _,
        _,
        markers,
        crc,
        located_by,
        ahead,
        frames,
        _,
        _,
    ) = event
    octets = ddp_header(event)
    there = len(octets)
    if there < TAGGED_LENGTH or time_ns < 0:
        return None
    if octets >= TAGGED:
        fields = TAGGED_FIELDS.unpack_from(octets)
    elif there == UNTAGGED_LENGTH:
        fields = UNTAGGED_FIELDS.unpack_from(octets)
    else:
        return None
    joined = frames[0] if len(frames) == 1 else ",".join(map(str, frames))
    write = _writer(octets[:2], markers, crc, located_by, ahead)
    label = _label(connection, direction)
    line: str = write(label, frame, time_ns, seq, offset, ulpdu_length, joined, *fields)
    return f'{line[:-1]},"payload":"{ddp_payload(event).hex()}"}}' if payload else line

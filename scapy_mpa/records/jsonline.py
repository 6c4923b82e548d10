# SPDX-License-Identifier: GPL-2.0-or-later
"""Records as text: one JSON object a line, what ``json.loads`` makes of it is the record.

The ordinary FPDU is written elsewhere (:mod:`~scapy_mpa.records.page`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from scapy_mpa.records.record import RecordedEvent, capture_record, own_fields, type_of
from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH, parse_ddp
from scapy_mpa.wire.rdmap import parse_control
from scapy_mpa.wire.rdmap_names import message_name

__all__ = ["beginning", "capture_line", "control_keys", "json_line"]

_BOOLEAN: Final = {True: "true", False: "false"}


def capture_line(file: str, frames: int, not_followed: Mapping[str, int]) -> str:
    """Return :func:`~scapy_mpa.records.record.capture_record` as one line of JSON in ASCII."""
    return _encode(capture_record(file, frames, not_followed))


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
    begin = beginning(type_of(event), event.connection, event.direction)
    rest = _encode(own_fields(event, payload=payload))
    return f'{begin}{event.frame},"time":{_seconds(event.time_ns)},{rest[1:]}'


def _seconds(time_ns: int) -> str:
    """Return nanoseconds as seconds: clocks and time offsets of captures may lie before 1970."""
    seconds, fraction = divmod(abs(time_ns), SECOND)
    return f"{'-' if time_ns < 0 else ''}{seconds}.{fraction:09d}"


@lru_cache(maxsize=1024)
def beginning(kind: str, connection: ConnectionId, direction: int) -> str:
    """Return a line up to the number of the frame."""
    source, target = connection.endpoints[direction], connection.endpoints[1 - direction]
    return (
        f'{{"type":"{kind}","connection":{connection.number},"src":{_encode(source)},'
        f'"dst":{_encode(target)},"frame":'
    )


def control_keys(octets: bytes) -> str:
    """Return the keys that the two control octets fill, each with a comma."""
    header = parse_ddp(octets.ljust(UNTAGGED_LENGTH, b"\0"))
    control = parse_control(header.rsvdulp)
    return (
        f'"tagged":{_BOOLEAN[header.tagged]},"last":{_BOOLEAN[header.last]},'
        f'"ddp_version":{header.ddp_version},"rdmap_version":{control.rdmap_version},'
        f'"opcode":{control.opcode},"message":{_encode(message_name(control.opcode))},'
    )

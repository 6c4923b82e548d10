# SPDX-License-Identifier: GPL-2.0-or-later
"""Records as text: one JSON object a line, what ``json.loads`` makes of it is the record.

The ordinary FPDU is written elsewhere (:mod:`~scapy_mpa.records.page`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from scapy_mpa.records.record import Record, RecordedEvent, record_of
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH, parse_ddp
from scapy_mpa.wire.rdmap import parse_control
from scapy_mpa.wire.rdmap_names import message_name

__all__ = ["beginning", "control_keys", "json_line", "json_of"]

_BOOLEAN: Final = {True: "true", False: "false"}


def json_line(event: RecordedEvent, clock: Clock, *, payload: bool = False) -> str:
    """Return the record of ``event`` as one line of JSON in ASCII, without the line's end.

    :param clock: of the capture.
    :param payload: see :func:`~scapy_mpa.records.record.record_of`.
    """
    return json_of(record_of(event, clock, payload=payload))


def json_of(value: Record | str) -> str:
    """Return a record, or a text, as JSON in ASCII."""
    return _encoder()(value)


@lru_cache(maxsize=1)
def _encoder() -> Callable[[Any], str]:
    # Not all who import this module write JSON, and a command is to start soon.
    import json

    return json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def beginning(kind: str, connection: ConnectionId, direction: int) -> str:
    """Return a line up to what says when it was found."""
    source, target = connection.endpoints[direction], connection.endpoints[1 - direction]
    return (
        f'{{"type":"{kind}","connection":{connection.number},"src":{json_of(source)},'
        f'"dst":{json_of(target)},'
    )


def control_keys(octets: bytes) -> str:
    """Return the keys that the two control octets fill, each with a comma."""
    header = parse_ddp(octets.ljust(UNTAGGED_LENGTH, b"\0"))
    control = parse_control(header.rsvdulp)
    return (
        f'"tagged":{_BOOLEAN[header.tagged]},"last":{_BOOLEAN[header.last]},'
        f'"ddp_version":{header.ddp_version},"rdmap_version":{control.rdmap_version},'
        f'"opcode":{control.opcode},"message":{json_of(message_name(control.opcode))},'
    )

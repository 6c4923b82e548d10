# SPDX-License-Identifier: GPL-2.0-or-later
"""What a record says of the error that a Terminate reports (RFC 5040 4.8)."""

from __future__ import annotations

from scapy_mpa.records.ddp import copied_header
from scapy_mpa.stream.events import DDPCarrier
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.rdmap import READ_REQUEST_LENGTH, parse_read_request
from scapy_mpa.wire.terminate import is_terminate, parse_terminate

__all__ = ["terminate_field"]


def terminate_field(carrier: DDPCarrier) -> dict[str, object] | None:
    """Return the value of the key ``terminate``, None of any other message."""
    ulpdu = carrier.ulpdu
    if len(ulpdu) < UNTAGGED_LENGTH or not is_terminate(ulpdu):
        return None
    by_responder = carrier.connection.initiator == 1 - carrier.direction
    try:
        found = parse_terminate(ulpdu[UNTAGGED_LENGTH:], by_responder=by_responder)
    except RemoteProtocolError:
        return None
    request = found.rdmap_header or b""
    is_whole = len(request) == READ_REQUEST_LENGTH
    return {
        "layer": found.layer,
        "etype": found.etype,
        "code": found.error_code,
        "text": found.text,
        "mirrored": found.mirrored,
        "ddp_segment_length": found.ddp_segment_length,
        "ddp_header": None if found.ddp_header is None else copied_header(found.ddp_header),
        "read_request": parse_read_request(request)._asdict() if is_whole else None,
    }

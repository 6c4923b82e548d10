# SPDX-License-Identifier: GPL-2.0-or-later
"""Terminates: who ends the connection, why, and which FPDU was at fault."""

from __future__ import annotations

from scapy_mpa.stream.events import Closer
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.fpdu import HEADER_LENGTH
from scapy_mpa.wire.terminate import Terminate, parse_terminate


def closer_of(
    half: HalfConnection, ulpdu: bytes, frame: int, *, by_responder: bool
) -> Closer | None:
    """Return who ends a connection with a Terminate, and why; None if the Terminate is malformed.

    :param half: the direction that carries the Terminate.
    :param ulpdu: the ULPDU of the Terminate.
    :param frame: the last frame that brought it.
    """
    try:
        found = parse_terminate(ulpdu[UNTAGGED_LENGTH:], by_responder=by_responder)
    except RemoteProtocolError:
        return None
    text = found.text
    if found.complaint:
        text += f", of the {found.complaint}{_place_of(found, half)}"
    return Closer(half.direction, frame, text)


def _place_of(terminate: Terminate, half: HalfConnection) -> str:
    """Return the place of the FPDU that a Terminate complains of; empty if it is unknown.

    It says if the Terminate quotes another DDP header than was sent.  If several FPDUs have that
    header, it is the last one that the sender of the Terminate had acknowledged.
    """
    peer = half.peer
    recent, acknowledged = half.owner.shared.recent, peer.acknowledged
    header = terminate.ddp_header or b""
    request = terminate.rdmap_header if terminate.problem is None else None
    # siw writes the size of a Read Request over its MSN, so compare the RDMAP header alone, too.
    copied = [(header + (request or b""), 0, ""), (request, len(header), " (not as sent)")]
    for octets, before, remark in copied:
        if not octets:
            continue
        known = recent.place_of(peer.key, peer.islands, octets, acknowledged)
        if known is not None:
            place, frame = known
            seq = sequence_number(place - before - HEADER_LENGTH)
            return f"{remark}, seq {seq} in frame {frame}"
    return ""

# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP segments (RFC 5041 4), with the RDMAP control octet in them (RFC 5040 4.1).

The payload is an RDMAP message, chosen by ``opcode``; with an unknown opcode it is ``Raw``.  In a
crafted segment, ``opcode`` and ``qn`` follow from the payload:

>>> from scapy_mpa.layers import DDPUntagged, RDMAPReadRequest
>>> segment = DDPUntagged() / RDMAPReadRequest()
>>> segment.opcode, segment.qn
(1, 1)
"""

from __future__ import annotations

from typing import Any

from scapy.config import conf
from scapy.fields import IntField, XIntField, XLongField
from scapy.packet import Packet

from scapy_mpa.layers.base import _Layer
from scapy_mpa.layers.fields import BitEnumField, BitField
from scapy_mpa.wire.ddp import TAGGED, TAGGED_LENGTH, UNTAGGED_LENGTH
from scapy_mpa.wire.rdmap_names import MESSAGE_NAMES, Opcode

__all__ = ["DDPTagged", "DDPUntagged", "_Carrier", "segment_layer"]


def _control(tagged: int, opcode: Opcode) -> list[Any]:
    """Return the fields of the first two octets."""
    names = {int(key): name for key, name in MESSAGE_NAMES.items()}
    return [
        BitField("tagged", tagged, 1),
        BitField("last", 1, 1),
        BitField("reserved", 0, 4),
        BitField("ddp_version", 1, 2),
        BitField("rdmap_version", 1, 2),
        BitField("rdmap_reserved", 0, 2),
        BitEnumField("opcode", int(opcode), 4, names),
    ]


class _Segment(_Layer):
    """The base class of tagged and untagged segments."""

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        chosen: type[Packet] = super().guess_payload_class(payload)
        if issubclass(chosen, _Layer) and len(payload) < chosen.shortest:
            chosen = conf.raw_layer
        return chosen

    def do_dissect_payload(self, s: bytes) -> None:
        if s or self.stop_dissection_after:
            super().do_dissect_payload(s)
            return
        # Scapy makes no layer of an empty payload, but a Write or Send may have length zero.
        message = self.guess_payload_class(s)
        if issubclass(message, _Layer):
            self.add_payload(message(_internal=1, _underlayer=self))

    def answers(self, other: Packet) -> bool:
        return isinstance(other, _Segment) and bool(self.payload.answers(other.payload))

    def describe(self) -> str:
        return super().describe() + (" L" if self.last == 1 else "")


class DDPTagged(_Segment):
    """A DDP segment for a Tagged Buffer (RFC 5041 4.2), 14 octets before the payload.

    ==============  ===========================================================
    tagged          T, 1 bit: 1
    last            L, 1 bit
    reserved        Rsvd, 4 bits
    ddp_version     DV, 2 bits
    rdmap_version   RV, 2 bits
    rdmap_reserved  Rsv, 2 bits
    opcode          4 bits, set by the payload
    stag            32 bits
    to              TO, 64 bits
    ==============  ===========================================================

    ``rdmap_version``, ``rdmap_reserved`` and ``opcode`` are fields of RDMAP, in DDP's RsvdULP.

    :raises RemoteProtocolError: read from fewer than 14 octets.
    """

    name = "DDP Tagged"
    shortest = TAGGED_LENGTH
    identity = "stag=%stag% to=%to%"
    fields_desc = [*_control(1, Opcode.WRITE), XIntField("stag", 0), XLongField("to", 0)]


class DDPUntagged(_Segment):
    """A DDP segment for an Untagged Buffer (RFC 5041 4.3), 18 octets before the payload.

    ===============  ==========================================================
    tagged           T, 1 bit: 0
    last             L, 1 bit
    reserved         Rsvd, 4 bits
    ddp_version      DV, 2 bits
    rdmap_version    RV, 2 bits
    rdmap_reserved   Rsv, 2 bits
    opcode           4 bits, set by the payload
    invalidate_stag  32 bits of RsvdULP: Invalidate STag of the Sends with
                     Invalidate, zero in all other messages (RFC 5040 4.1)
    qn               QN, 32 bits, set by the payload
    msn              MSN, 32 bits, from 1
    mo               MO, 32 bits, octets
    ===============  ==========================================================

    :raises RemoteProtocolError: read from fewer than 18 octets.
    """

    name = "DDP Untagged"
    shortest = UNTAGGED_LENGTH
    identity = "qn=%qn% msn=%msn% mo=%mo%"
    fields_desc = [
        *_control(0, Opcode.SEND),
        XIntField("invalidate_stag", 0),
        IntField("qn", 0),
        IntField("msn", 1),
        IntField("mo", 0),
    ]


def segment_layer(octets: bytes) -> type[_Segment]:
    """Return the layer of the DDP segment that begins with ``octets``."""
    return DDPTagged if octets >= TAGGED else DDPUntagged


class _Carrier(_Layer):
    """A layer that carries a DDP segment; a segment too short for its header is ``Raw``."""

    def default_payload_class(self, payload: bytes) -> type[Packet]:
        segment = segment_layer(payload)
        chosen: type[Packet] = segment if len(payload) >= segment.shortest else conf.raw_layer
        return chosen

    def answers(self, other: Packet) -> bool:
        return isinstance(other, type(self)) and bool(self.payload.answers(other.payload))

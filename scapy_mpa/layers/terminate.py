# SPDX-License-Identifier: GPL-2.0-or-later
"""The Terminate message (RFC 5040 4.8), also as Linux' siw writes it.

siw sends the first four octets mirrored (see :mod:`scapy_mpa.wire.terminate`).  The octets decide
between the two layouts; ``show()`` prints the decision and its reason.

>>> from scapy_mpa.layers import RDMAPTerminate
>>> RDMAPTerminate(bytes.fromhex("12020000")).mirrored
False
>>> RDMAPTerminate(bytes.fromhex("21020000")).evidence
'only mirrored do the octets give a defined error'
"""

from __future__ import annotations

from typing import Any

from scapy.fields import (
    BitEnumField,
    BitField,
    BitMultiEnumField,
    Field,
    MultiEnumField,
    ShortField,
)
from scapy.packet import Packet
from scapy.volatile import VolatileValue

from scapy_mpa.layers.base import _Layer
from scapy_mpa.layers.ddp import segment_layer
from scapy_mpa.layers.fields import CopiedHeaderField, NoteField, OffWire, WhenSet
from scapy_mpa.layers.rdmap import RDMAPReadRequest
from scapy_mpa.wire.rdmap import TERMINATE_CONTROL_LENGTH
from scapy_mpa.wire.rdmap_names import MESSAGE_NAMES, Opcode
from scapy_mpa.wire.terminate import (
    ERROR_TYPES,
    LAYERS,
    build_terminate,
    parse_terminate,
    terminate_text,
)

_ETYPE_NAMES: dict[int, dict[int, str]] = {}
for (_layer, _etype), _error_type in ERROR_TYPES.items():
    _ETYPE_NAMES.setdefault(_layer, {})[_etype] = _error_type.name

_CODE_NAMES = {
    _layer << 4 | _etype: dict(_error_type.codes)
    for (_layer, _etype), _error_type in ERROR_TYPES.items()
}


def _etype_by(pkt: RDMAPTerminate) -> Any:
    """Return the key for the name of an EType: the Layer."""
    fuzzed = _volatile(pkt.layer, pkt.etype)
    return pkt.layer if fuzzed is None else fuzzed


def _code_by(pkt: RDMAPTerminate) -> Any:
    """Return the key for the name of an Error Code: the first octet (RFC 5040 figure 8)."""
    fuzzed = _volatile(pkt.layer, pkt.etype, pkt.error_code)
    return pkt.layer << 4 | pkt.etype if fuzzed is None else fuzzed


def _volatile(*values: Any) -> VolatileValue | None:
    """Return the first value that ``fuzz()`` has set, if any; such values have no names."""
    return next((value for value in values if isinstance(value, VolatileValue)), None)


def _header(octets: bytes | None, layer: type[_Layer]) -> Packet | bytes | None:
    """Return a copied header as a packet, or as octets if it was cut short."""
    if octets is None or len(octets) < layer.shortest:
        return octets
    # The header only: no message follows it, not even one of length zero.
    return layer(octets, stop_dissection_after=layer)


class RDMAPTerminate(_Layer):
    """Terminate (RFC 5040 4.8).

    ==================  =======================================================
    layer               4 bits: RDMA, DDP, LLP
    etype               4 bits, named by ``layer``
    error_code          8 bits, named by both
    m                   1 bit: ``ddp_segment_length`` is valid
    d                   1 bit: ``ddp_header`` is present
    r                   1 bit: ``rdmap_header`` is present
    reserved            13 bits
    ddp_segment_length  16 bits, octets; None: absent, or with ``ddp_header``
                        computed as the length of the copied headers
    ddp_header          DDPTagged, DDPUntagged or octets, None if absent
    rdmap_header        RDMAPReadRequest or octets, None if absent
    mirrored            not on the wire: False for RFC 5040's layout, True for
                        siw's; None: False when built
    evidence            not on the wire: the reason for the layout
    problem             not on the wire: the missing part of the headers that
                        ``m``, ``d`` and ``r`` announce
    ==================  =======================================================

    If ``m``, ``d`` or ``r`` is None, it is computed.  A copied header that is cut short stays
    octets; octets after the headers are payload.  ``RDMAPTerminate(octets, mirrored=True)``
    overrides the decision by the octets.

    :raises RemoteProtocolError: read from fewer than 4 octets.
    :raises LocalProtocolError: when built: a number does not fit its field.
    """

    name = MESSAGE_NAMES[Opcode.TERMINATE]
    shortest = TERMINATE_CONTROL_LENGTH
    reads_with = ("mirrored",)
    fields_desc = [
        BitEnumField("layer", 0, 4, dict(LAYERS)),
        BitMultiEnumField("etype", 0, 4, _ETYPE_NAMES, _etype_by),
        MultiEnumField("error_code", 0, _CODE_NAMES, _code_by, "B"),
        BitField("m", None, 1),
        BitField("d", None, 1),
        BitField("r", None, 1),
        BitField("reserved", 0, 13),
        WhenSet(ShortField("ddp_segment_length", None)),
        WhenSet(CopiedHeaderField("ddp_header", None)),
        WhenSet(CopiedHeaderField("rdmap_header", None)),
        OffWire(Field("mirrored", None)),
        OffWire(NoteField("evidence", None)),
        OffWire(NoteField("problem", None)),
    ]

    def describe(self) -> str:
        error = terminate_text(int(self.layer), int(self.etype), int(self.error_code))
        # In a summary, a slash separates layers.
        return f"{self.name} {error.replace(' / ', ': ')}"

    def self_build(self) -> bytes:
        given = {field.name: getattr(self, field.name) for field in self.fields_desc}
        for name in ("evidence", "problem"):
            del given[name]
        ddp_header, rdmap_header = (
            None if given[name] is None else bytes(given[name])
            for name in ("ddp_header", "rdmap_header")
        )
        if given["ddp_segment_length"] is None and ddp_header is not None:
            given["ddp_segment_length"] = len(ddp_header) + len(rdmap_header or b"")
        given |= {"ddp_header": ddp_header, "rdmap_header": rdmap_header}
        return build_terminate(**given | {"mirrored": bool(self.mirrored)})

    def do_dissect(self, s: bytes) -> bytes:
        found = parse_terminate(s, *self._read_with)
        read = found._asdict() | {
            "ddp_header": _header(found.ddp_header, segment_layer(found.ddp_header or b"")),
            "rdmap_header": _header(found.rdmap_header, RDMAPReadRequest),
        }
        for field in self.fields_desc:
            value = read[field.name]
            if value is not None:
                is_bit = isinstance(field, BitField)
                self.fields[field.name] = field.any2i(self, int(value) if is_bit else value)
        self.explicit = 1
        return found.trailing

# SPDX-License-Identifier: GPL-2.0-or-later
"""MPA startup frames: Request, Reply (RFC 5044 7.1.1, RFC 6581 9), Rtr (the proposal of 2007).

>>> from scapy_mpa.layers import MPARequest
>>> MPARequest(bytes(MPARequest(revision=2, s=1, ird=8, ord=4, b=1, private_data=b"hello"))).ird
8

Revision 129 is that of Alibaba's erdma, whose frames have an ``extension``.

iWARP has no assigned port.  If you know the port, bind it; :class:`MPA` distinguishes startup
frames and FPDUs (without Markers)::

    bind_layers(TCP, MPA, dport=4791)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scapy.config import conf
from scapy.fields import ByteField, ConditionalField, ShortField, StrLenField
from scapy.fields import Field as ScapyField
from scapy.packet import Packet

from scapy_mpa.layers.enhanced import ENHANCED_FIELDS, EnhancedField, _ConnectionSetup
from scapy_mpa.layers.fields import BitField, DialectField, KeyField, NoteField, OffWire
from scapy_mpa.layers.fpdu import FPDU
from scapy_mpa.layers.private_data import PrivateDataField
from scapy_mpa.wire.dialect import LARGEST_PD_LENGTH, TRAITS, Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.fpdu import HEADER_LENGTH, fpdu_layout
from scapy_mpa.wire.startup import (
    ENHANCED_LENGTH,
    KEY_LENGTH,
    KEYS,
    RTR_KEYS,
    STARTUP_HEADER_LENGTH,
    StartupKind,
    parse_startup,
)

_LARGEST_NUMBER = 0xFFFF
_ERDMA = TRAITS[Dialect.ERDMA].revision
_EXTENSION_LENGTH = TRAITS[Dialect.ERDMA].extension_length


def _has_extension(pkt: _Startup) -> bool:
    return bool(pkt.revision == _ERDMA or pkt.fields.get("extension"))


def _private_data_length(pkt: _Startup) -> int:
    length: int = pkt.pd_length
    return length - ENHANCED_LENGTH if pkt.has_enhanced() else length


class SField(BitField):
    """S; None: whether there are enhanced data."""

    def i2h(self, pkt: Any, x: Any) -> Any:
        return int(pkt.has_enhanced()) if x is None and pkt is not None else x

    def i2m(self, pkt: Any, x: Any) -> Any:
        return super().i2m(pkt, self.i2h(pkt, x))


class _Startup(_ConnectionSetup):
    """The base class of startup frames."""

    shortest = STARTUP_HEADER_LENGTH
    identity = "rev=%revision% M=%markers% C=%crc% R=%rejected% S=%s%"
    fields_desc = [
        KeyField("key", bytes(KEY_LENGTH), KEY_LENGTH),
        BitField("markers", 0, 1),
        BitField("crc", 1, 1),
        BitField("rejected", 0, 1),
        SField("s", None, 1),
        BitField("reserved", 0, 4),
        ByteField("revision", 1),
        ShortField("pd_length", None),
        EnhancedField(ScapyField("enhanced", None)),
        OffWire(DialectField("dialect", None)),
        ConditionalField(
            StrLenField(
                "extension",
                bytes(_EXTENSION_LENGTH),
                length_from=lambda pkt: _EXTENSION_LENGTH,
                max_length=_EXTENSION_LENGTH,
            ),
            _has_extension,
        ),
        *ENHANCED_FIELDS,
        PrivateDataField("private_data", b"", _private_data_length, max_length=LARGEST_PD_LENGTH),
        OffWire(NoteField("provenance", None)),
    ]

    def init_fields(self, *args: Any, **options: Any) -> None:
        super().init_fields(*args, **options)
        self.packetfields = [self.get_field("private_data")]

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        if self.pd_length is None:
            length = len(pkt) - STARTUP_HEADER_LENGTH
            if _has_extension(self):
                length -= len(self.extension)
            if length > _LARGEST_NUMBER:
                raise LocalProtocolError(f"{length} octets do not fit PD_Length (RFC 5044 7.1.1)")
            at = STARTUP_HEADER_LENGTH - 2
            pkt = pkt[:at] + length.to_bytes(2, "big") + pkt[STARTUP_HEADER_LENGTH:]
        return pkt + pay

    def announces_enhanced(self) -> bool:
        return bool(self.revision == 2 and self.getfieldval("s") == 1)

    def room(self, octets: bytes) -> int:
        return min(len(octets), int(self.pd_length))


class MPARequest(_Startup):
    """MPA Request Frame, sent by the Initiator (RFC 5044 7.1.1).

    ============  =============================================================
    key           16 octets
    markers       M, 1 bit: the sender wants Markers in what it receives
    crc           C, 1 bit
    rejected      R, 1 bit: in a Reply, the connection is rejected
    s             S, 1 bit: with revision 2, enhanced data come first; None:
                  whether there are enhanced data
    reserved      Res, 4 bits
    revision      Rev, 8 bits
    pd_length     PD_Length, octets of everything after it, 16 bits
    enhanced      not on the wire: whether there are enhanced data; None: yes
                  if ``revision`` is 2 and ``s`` is set, or if the packet has
                  one of their fields
    dialect       not on the wire: name of the dialect that defines the control
                  flags; None: RFC 6581
    extension     8 octets that PD_Length does not count, with revision 129
                  (erdma) or if given
    a, b, c, d    control flags, 1 bit each (RFC 6581 9.2)
    ird, ord      RDMA Read Queue Depths, 14 bits each, from 0
    private_data  the rest, up to PD_Length: octets, or a layer (see
                  :mod:`scapy_mpa.layers.private_data`)
    provenance    not on the wire: where the frame was found, any object
    ============  =============================================================

    ``a`` to ``ord`` exist only in frames with enhanced data.  Octets after Private Data are
    payload.

    :raises RemoteProtocolError: read from fewer than 20 octets.
    :raises LocalProtocolError: when built: the Private Data exceed 65535 octets, or a number does
        not fit a field of less than 8 bits, IRD or ORD.
    """

    name = "MPA Request"
    key = KEYS[StartupKind.REQUEST]


class MPAReply(_Startup):
    """MPA Reply Frame, sent by the Responder (RFC 5044 7.1.1), with the fields of MPARequest."""

    name = "MPA Reply"
    key = KEYS[StartupKind.REPLY]

    def answers(self, other: Packet) -> bool:
        return isinstance(other, MPARequest)


class MPARtr(_Startup):
    """Rtr Frame, sent by the Initiator after the Reply (rtr-frame-proposal-2007).

    Its fields are those of MPARequest; ``s`` is 0, and ``crc`` is that of the Reply.  The proposal
    spells the Key in two ways; the other way is ``MPARtr(key=b"MPA ID RtR Frame")``.
    """

    name = "MPA Rtr"
    key = KEYS[StartupKind.RTR]

    def answers(self, other: Packet) -> bool:
        return isinstance(other, MPAReply)


class MPA(Packet):
    """Dissects octets as a startup frame if they begin with a Key, else as ``FPDU``.

    With it, Scapy's own ``TCPSession`` and ``StreamSocket`` read streams without Markers.
    """

    name = "MPA"

    @classmethod
    def dispatch_hook(cls, _pkt: bytes = b"", *args: Any, **kargs: Any) -> type[Packet]:
        return _STARTUP_FRAMES.get(bytes(_pkt[:KEY_LENGTH]), FPDU)

    @classmethod
    def tcp_reassemble(
        cls, data: bytes, metadata: Mapping[str, Any], session: Mapping[str, Any]
    ) -> Packet | None:
        """Return the first frame or FPDU of a stream, the rest as ``Padding``; None if it is not
        whole.

        ``TCPSession`` stacks the packets that follow, and in Scapy 2.8 the third one loses its
        place.  So it gets all packets at once.
        """
        length = _length(data)
        if length is None or len(data) < length:
            return None
        packet = cls(data[:length])
        if rest := data[length:]:
            is_stacked = "original" in metadata
            above = cls.tcp_reassemble(rest, metadata, session) if is_stacked else None
            packet.add_payload(conf.padding_layer(rest) if above is None else above)
        return packet


def _length(data: bytes) -> int | None:
    """Return the length of the first frame or FPDU; None if there are too few octets to know."""
    key = data[:KEY_LENGTH]
    if key in _STARTUP_FRAMES:
        return parse_startup(data).length if len(data) >= STARTUP_HEADER_LENGTH else None
    if len(data) < HEADER_LENGTH or any(each.startswith(key) for each in _STARTUP_FRAMES):
        return None
    return fpdu_layout(int.from_bytes(data[:HEADER_LENGTH], "big"), None).length


_STARTUP_FRAMES: dict[bytes, type[Packet]] = {
    KEYS[StartupKind.REQUEST]: MPARequest,
    KEYS[StartupKind.REPLY]: MPAReply,
    **dict.fromkeys(RTR_KEYS, MPARtr),
}

# SPDX-License-Identifier: GPL-2.0-or-later
"""iWARP Framing for TCP: adaption indications and frames (draft-williams-iwarp-ift-01).

>>> from scapy_mpa.layers import DDPUntagged, IFTAdaptionIndication, IFTFrame, RDMAPSend
>>> indication = IFTAdaptionIndication(r=1, hc=1, vtag=0x1234)
>>> IFTAdaptionIndication(bytes(indication)).hc
1
>>> frame = IFTFrame(vtag=0x1234, crcs="h") / DDPUntagged() / RDMAPSend() / b"hello"
>>> IFTFrame(bytes(frame), crcs="h").payload_size
5
"""

from __future__ import annotations

from scapy.fields import Field, ShortField, StrFixedLenField, XIntField, XShortField

from scapy_mpa.layers.base import _Layer
from scapy_mpa.layers.ddp import _Carrier
from scapy_mpa.layers.fields import BitField, CRC32cField, NoteField, OffWire, XBitField
from scapy_mpa.wire.crc import CRC_LENGTH, crc_field, crc_is_good
from scapy_mpa.wire.ddp import ddp_header_length
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.ift_frame import (
    FRAME_HEADER_LENGTH,
    LARGEST_SIZE,
    frame_layout,
    parse_frame_header,
)
from scapy_mpa.wire.ift_indication import FLAGS, INDICATION_LENGTH, MAGIC, RESERVED_LENGTH, VERSION

_SIZE = 2


def _crc_octets(layer: _Layer, name: str, covered: bytes) -> bytes:
    """Return the octets of a CRC field: those of the given value, else the CRC of ``covered``."""
    value = getattr(layer, name)
    return crc_field(covered) if value is None else layer.get_field(name).octets(layer, value)


class IFTAdaptionIndication(_Layer):
    """An adaption indication (draft-williams-iwarp-ift-01 4.1), 64 octets.

    ================  =========================================================
    magic             0x52444450
    version           16 bits
    bc_version        BC version, 16 bits
    ph                1 bit: phase 0 or 1
    r                 1 bit: RDMA mode, else DDP mode
    hc, pc            1 bit each: its sender's frames have header, payload CRCs
    ih, ip            1 bit each: its sender ignores header, payload CRCs
    sp                1 bit: its receiver may place speculatively
    sm, rm            1 bit each: sends, receives periodic markers
    reserved_flags    23 bits
    vtag              VTag of frames that its sender receives, 16 bits
    marker_interval   16 bits
    reserved          44 octets
    crc               CRC32c of the 60 octets before it, least significant
                      octet first
    provenance        not on the wire: where it was found, any object
    ================  =========================================================

    If the CRC is None, it is computed.

    :raises RemoteProtocolError: read from fewer than 64 octets.
    """

    name = "IFT Adaption Indication"
    shortest = INDICATION_LENGTH
    fields_desc = [
        XIntField("magic", MAGIC),
        ShortField("version", VERSION),
        ShortField("bc_version", VERSION),
        *(BitField(name, int(name in ("r", "hc", "pc")), 1) for name in FLAGS),
        XBitField("reserved_flags", 0, 32 - len(FLAGS)),
        XShortField("vtag", 0),
        ShortField("marker_interval", 0),
        StrFixedLenField("reserved", bytes(RESERVED_LENGTH), RESERVED_LENGTH),
        CRC32cField("crc", None),
        OffWire(NoteField("provenance", None)),
    ]

    def crc_verdict(self) -> str:
        """Return ``good`` or ``bad``: whether the CRC is that of the octets before it."""
        return "good" if crc_is_good(self.do_build()[:INDICATION_LENGTH]) else "bad"

    def describe(self) -> str:
        flags = " ".join(name.upper() for name in FLAGS[1:] if getattr(self, name) == 1)
        return f"{self.name} phase {self.ph} {flags} VTag {int(self.vtag):#06x}"

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        return pkt + _crc_octets(self, "crc", pkt) + pay

    def do_dissect(self, s: bytes) -> bytes:
        rest = super().do_dissect(s)
        self.fields["crc"] = self.get_field("crc").any2i(self, rest[:CRC_LENGTH])
        # Not kept: it lacks the CRC.
        self.raw_packet_cache = None
        return rest[CRC_LENGTH:]

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        return b"", s


class IFTFrame(_Carrier):
    """A frame (draft-williams-iwarp-ift-01 5.1); its payload is a DDP segment.

    ============  =============================================================
    header_size   octets of the DDP header, 16 bits
    payload_size  octets of the DDP payload, 16 bits
    vtag          the VTag that the receiver announced, 16 bits
    header_crc    CRC32c of everything before it; it is between DDP header and
                  DDP payload
    payload_crc   CRC32c of the DDP payload, after it
    crcs          not on the wire: the CRCs of the frame: ``h``, ``p``, ``hp``
                  or empty; None: both
    provenance    not on the wire: where the frame was found, any object
    ============  =============================================================

    A field that is None is computed.  A given value is sent unchanged, right or wrong; the header
    CRC is where the DDP header ends by ``header_size``.  A dissected frame has all values given, so
    it is rebuilt unchanged; after a change, call ``packet[IFTFrame].recompute()``.

    The CRCs of frames were negotiated, and octets must be read with them: ``IFTFrame(octets,
    crcs="h")``.  Octets after the frame, in a stream the next one, become ``Padding``.  The RDMAP
    fields of a segment are valid in RDMA mode only; in DDP mode these octets are the ULP's.

    :raises RemoteProtocolError: read from fewer than 6 octets.
    :raises LocalProtocolError: when built: the payload does not fit payload_size, or ``crcs`` is
        something else.
    """

    name = "IFT Frame"
    shortest = FRAME_HEADER_LENGTH
    reads_with = ("crcs",)
    fields_desc = [
        ShortField("header_size", None),
        ShortField("payload_size", None),
        XShortField("vtag", 0),
        CRC32cField("header_crc", None),
        CRC32cField("payload_crc", None),
        OffWire(Field("crcs", None)),
        OffWire(NoteField("provenance", None)),
    ]

    def recompute(self) -> None:
        """Delete sizes and CRCs, so that they are computed when built."""
        for name in ("header_size", "payload_size", "header_crc", "payload_crc"):
            self.delfieldval(name)

    def crc_verdicts(self) -> tuple[str, str]:
        """Return the verdicts on header CRC and payload CRC: ``good``, ``bad``, ``off`` if there is
        none, ``unknown`` if it is not whole."""
        octets, crcs = self.do_build(), _which_crcs(self.crcs)
        header = parse_frame_header(octets)
        layout = frame_layout(header, header_crc="h" in crcs, payload_crc="p" in crcs)
        return (
            self._verdict("header_crc", octets[: layout.payload]),
            self._verdict("payload_crc", octets[layout.payload : layout.length]),
        )

    def _verdict(self, name: str, octets: bytes) -> str:
        if name[0] not in _which_crcs(self.crcs):
            return "off"
        if not isinstance(getattr(self, name), int):
            return "unknown"
        return "good" if crc_is_good(octets) else "bad"

    def describe(self) -> str:
        if self.header_size is None or self.payload_size is None:
            return str(self.name)
        header, payload = self.crc_verdicts()
        return (
            f"{self.name} {self.header_size} and {self.payload_size} octets, VTag "
            f"{self.vtag:#06x}, header CRC {header}, payload CRC {payload}"
        )

    # Building

    def _header_size(self, octets: bytes) -> int:
        """Return the octets of the DDP header."""
        if self.header_size is not None:
            return int(self.header_size)
        return min(ddp_header_length(octets), len(octets))

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        size = self._header_size(pay)
        ddp_header, payload = pay[:size], pay[size:]
        if self.header_size is None:
            pkt = size.to_bytes(_SIZE, "big") + pkt[_SIZE:]
        if self.payload_size is None:
            if len(payload) > LARGEST_SIZE:
                raise LocalProtocolError(
                    f"{len(payload)} octets do not fit payload_size (draft-williams-iwarp-ift-01 "
                    "5.1)"
                )
            pkt = pkt[:_SIZE] + len(payload).to_bytes(_SIZE, "big") + pkt[2 * _SIZE :]
        head = pkt + ddp_header
        header_crc = self._crc("h", "header_crc", head)
        return head + header_crc + payload + self._crc("p", "payload_crc", payload)

    def _crc(self, which: str, name: str, covered: bytes) -> bytes:
        if which not in _which_crcs(self.crcs):
            return b""
        return _crc_octets(self, name, covered)

    # Dissecting

    def do_dissect(self, s: bytes) -> bytes:
        if len(s) < self.shortest:
            return super().do_dissect(s)
        header = parse_frame_header(s)
        (given,) = self._read_with
        crcs = _which_crcs(given)
        layout = frame_layout(header, header_crc="h" in crcs, payload_crc="p" in crcs)
        field = self.get_field("header_crc")
        self.fields.update(header._asdict())
        if "h" in crcs:
            self.fields["header_crc"] = field.any2i(self, s[layout.header_end : layout.payload])
        if "p" in crcs:
            self.fields["payload_crc"] = field.any2i(self, s[layout.payload_end : layout.length])
        self.fields["crcs"] = crcs
        # Not kept: it has the header only, so changes of later fields would have no effect.
        self.raw_packet_cache = None
        self.explicit = 1
        segment = (
            s[FRAME_HEADER_LENGTH : layout.header_end] + s[layout.payload : layout.payload_end]
        )
        return segment + s[layout.length :]

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        end = (self.header_size or 0) + (self.payload_size or 0)
        return s[:end], s[end:]


def _which_crcs(crcs: str | None) -> str:
    """Return which CRCs a frame has, from its field ``crcs``."""
    wanted = "hp" if crcs is None else crcs
    if wanted not in ("", "h", "p", "hp"):
        raise LocalProtocolError(f"crcs is {crcs!r}, and not one of '', 'h', 'p', 'hp'")
    return wanted

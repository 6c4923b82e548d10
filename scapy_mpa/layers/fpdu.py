# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs and their Markers (RFC 5044 4).

>>> from scapy_mpa.layers import FPDU, DDPUntagged, RDMAPSend
>>> octets = bytes(FPDU(phase=0) / DDPUntagged() / RDMAPSend() / bytes(24))
>>> octets[-4:].hex(" ")  # RFC 5044 figure 5
'52 23 99 83'

In a stream with Markers, an FPDU needs its *phase*: the offset of its first octet in the Full
Operation Phase of its direction, modulo 512.  At offset 70,000 that is
``FPDU(phase=70_000 % 512)``.

>>> FPDU(bytes(FPDU(phase=508) / b"abcdef"), phase=508).markers
[<MPAMarker  reserved=0 fpduptr=4 |>]
"""

from __future__ import annotations

from scapy.fields import Field
from scapy.packet import Packet

from scapy_mpa.layers.base import _Layer
from scapy_mpa.layers.ddp import _Carrier
from scapy_mpa.layers.fields import (
    CRC32cField,
    CutShortField,
    DialectField,
    MarkersField,
    NoteField,
    OffWire,
    PadField,
)
from scapy_mpa.wire.crc import CRC_LENGTH, crc_field, crc_is_good
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    LARGEST_ULPDU_LENGTH,
    MARKER_LENGTH,
    SOFTUIWARP,
    STANDARD,
    FPDUFormat,
    fpdu_layout,
    insert_markers,
    marker_places,
    strip_markers,
)
from scapy_mpa.wire.shown import counted


class MPAMarker(_Layer):
    """A Marker (RFC 5044 4.2), an element of an FPDU's ``markers``.

    ========  =================================================================
    reserved  16 bits
    fpduptr   16 bits: octets from the ULPDU_Length field; None: computed, if
              the Marker is in an FPDU
    ========  =================================================================
    """

    name = "MPA Marker"
    fields_desc = [CutShortField("reserved", 0), CutShortField("fpduptr", None)]

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        return b"", s


def _format_of(phase: int | None, dialect: str | None) -> FPDUFormat:
    """Return how an FPDU is laid out.  The Markers of SoftUiWARP are not known."""
    return SOFTUIWARP if phase is None and dialect == Dialect.SOFTUIWARP else STANDARD


class FPDU(_Carrier):
    """An FPDU (RFC 5044 4.1); its payload is the ULPDU, a DDP segment.

    ============  =============================================================
    ulpdu_length  octets of the ULPDU, 16 bits
    pad           octets between ULPDU and CRC
    crc           CRC32c of everything before it (RFC 5044 4.4), Markers
                  included.  0x83992352 means the octets 52 23 99 83; both
                  forms are shown.
    phase         not on the wire: offset of the first octet modulo 512, a
                  multiple of 4; None without Markers
    dialect       not on the wire: ``softuiwarp`` if pad and CRC field are
                  those of SoftUiWARP, which has no Markers; None, or any
                  other name: those of RFC 5044
    markers       not a field on the wire: the Markers inside the FPDU, from
                  the first; missing ones are computed, surplus ones left out
    provenance    not on the wire: where the FPDU was found, any object
    ============  =============================================================

    A field that is None is computed.  A given value is sent unchanged, right or wrong: many senders
    write ``crc=0`` with CRCs off.  A dissected FPDU has all values given, so it is rebuilt
    unchanged.  After a change, ``del packet[FPDU].crc`` has the CRC computed anew, and
    ``packet[FPDU].recompute()`` all fields.

    Octets with Markers can only be read with their phase: ``FPDU(octets, phase=0)``.  FPDUs of
    SoftUiWARP need their dialect: ``FPDU(octets, dialect="softuiwarp")``, since an FPDU does not
    show whose pad it has.  An FPDU that was cut is read up to its end; a cut field stays octets.
    Octets after the CRC, in a stream the next FPDU, become ``Padding``.

    :raises LocalProtocolError: when built, or read with a phase: the phase is not a multiple of
        4 below 512, Markers are given without a phase, or the payload exceeds 65535 octets; when
        a dialect is given: no dialect has that name.
    """

    name = "MPA FPDU"
    reads_with = ("phase", "dialect")
    fields_desc = [
        CutShortField("ulpdu_length", None),
        PadField("pad", None),
        CRC32cField("crc", None),
        OffWire(Field("phase", None)),
        OffWire(DialectField("dialect", None)),
        OffWire(MarkersField("markers", None)),
        OffWire(NoteField("provenance", None)),
    ]

    def recompute(self) -> None:
        """Delete length, pad, CRC and Markers, so that they are computed when built."""
        for name in ("ulpdu_length", "pad", "crc", "markers"):
            self.delfieldval(name)

    def crc_verdict(self) -> str:
        """Return ``good`` or ``bad``: whether the CRC is that of the FPDU's octets.

        ``unknown`` if the CRC is not whole, or if Scapy's ``TCPSession`` has put another FPDU on
        this one; ``off`` in the dialect ``softuiwarp``, which has no CRC.  An FPDU does not show
        whether CRCs are off on its connection; ``bad`` means nothing then.
        """
        if isinstance(self.crc, bytes) or FPDU in self.payload:
            return "unknown"
        if _format_of(self.phase, self.dialect) is SOFTUIWARP:
            return "off"
        return "good" if crc_is_good(self.do_build()) else "bad"

    def describe(self) -> str:
        length = self.ulpdu_length
        if length is None:
            length = len(self.payload.do_build())
        parts = [f"{self.name} {counted(length, 'octet') if isinstance(length, int) else length}"]
        form = _format_of(self.phase, self.dialect)
        if form is SOFTUIWARP:
            parts.append(self.dialect)
        is_whole = isinstance(length, int) and not isinstance(self.crc, bytes)
        if is_whole and isinstance(self.pad, bytes) and len(self.pad) != form.pad_length(length):
            parts.append(f"{counted(len(self.pad), 'octet')} of pad")
        if self.markers:
            parts.append(counted(len(self.markers), "Marker"))
        if self.crc is not None:
            is_off = getattr(self.provenance, "crc", None) == "off"
            parts.append(f"CRC {'off' if is_off else self.crc_verdict()}")
        return ", ".join(parts)

    # Building

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        if self.ulpdu_length is None:
            if len(pay) > LARGEST_ULPDU_LENGTH:
                raise LocalProtocolError(
                    f"a ULPDU of {len(pay)} octets does not fit ULPDU_Length (RFC 5044 3)"
                )
            pkt = len(pay).to_bytes(HEADER_LENGTH, "big")
        form = _format_of(self.phase, self.dialect)
        pad = bytes(form.pad_length(len(pay))) if self.pad is None else bytes(self.pad)
        crc = None if self.crc is None else self.get_field("crc").octets(self, self.crc)
        body = self._with_markers(pkt + pay + pad, CRC_LENGTH if crc is None else len(crc))
        if crc is None:
            crc = crc_field(body) if form is STANDARD else bytes(CRC_LENGTH)
        return body + crc

    def _with_markers(self, body: bytes, crc_length: int) -> bytes:
        """Return ``body``, all octets before the CRC, with its Markers."""
        given = self.markers or []
        if self.phase is None:
            if given:
                raise LocalProtocolError("Markers have no place in an FPDU without a phase")
            return body
        # Raises if the phase is out of range.
        fpdu_layout(0, self.phase)
        length = len(body) + crc_length
        places = marker_places(length, self.phase)
        if crc_length < CRC_LENGTH and len(given) > len(places):
            # The FPDU was cut in a Marker, or right after it.
            places = marker_places(length + 1, self.phase)
        computed = insert_markers(b"", places)
        octets = [
            self._marker(marker, computed[MARKER_LENGTH * index :][:MARKER_LENGTH])
            for index, marker in enumerate(given[: len(places)])
        ]
        return insert_markers(body, places, octets)

    @staticmethod
    def _marker(marker: Packet, computed: bytes) -> bytes:
        octets = bytes(marker)
        if isinstance(marker, MPAMarker) and marker.fpduptr is None:
            return octets[:2] + computed[2:]
        return octets

    # Dissecting

    def do_dissect(self, s: bytes) -> bytes:
        phase, dialect = self._read_with
        start = fpdu_layout(0, phase).header
        header = s[start : start + HEADER_LENGTH]
        is_whole = len(header) == HEADER_LENGTH
        ulpdu_length = int.from_bytes(header, "big") if is_whole else 0
        layout = _format_of(phase, dialect).layout(ulpdu_length, phase)
        octets, rest = s[: layout.length], s[layout.length :]
        markers = [at for at in layout.markers if at < len(octets)]
        body = strip_markers(octets, markers)
        pad_at = HEADER_LENGTH + ulpdu_length
        crc_at = pad_at + layout.pad

        self.fields["ulpdu_length"] = ulpdu_length if is_whole else header
        self.fields["pad"] = body[pad_at:crc_at]
        self.fields["crc"] = self.get_field("crc").any2i(self, body[crc_at:])
        if markers:
            self.fields["markers"] = [
                MPAMarker(octets[at : at + MARKER_LENGTH], _internal=1, _parent=self)
                for at in markers
            ]
        # Not kept: it has the header only, so changes of later fields would have no effect.
        self.raw_packet_cache = None
        self.explicit = 1
        return body[HEADER_LENGTH:pad_at] + rest if is_whole else b""

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        length = self.ulpdu_length if isinstance(self.ulpdu_length, int) else 0
        return s[:length], s[length:]

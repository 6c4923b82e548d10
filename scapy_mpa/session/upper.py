# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the FPDU, DDP and RDMAP layers of FPDUs, without dissecting each FPDU.

Nearly all FPDUs of a bulk transfer carry a piece of a Write, a Read Response or a Send, which
have no RDMAP header.  One FPDU of each shape is dissected, and its layers are copied for others.
"""

from __future__ import annotations

import time
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

from scapy.packet import NoPayload, Packet, Raw

from scapy_mpa.layers import FPDU, DDPTagged, DDPUntagged, MPAMarker
from scapy_mpa.layers.recovered import layer_of
from scapy_mpa.session.form import Form, Shapes, bindings_use, put
from scapy_mpa.session.provenance import Provenance, Recovered
from scapy_mpa.stream.events import FPDURecovered
from scapy_mpa.wire.ddp import TAGGED_FIELDS, TAGGED_LENGTH, UNTAGGED_FIELDS, ddp_header_length
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_LENGTH, Layout, fpdu_layout, strip_markers

_MARKER: Final = Struct(">HH")

_NUMBERS: Final = frozenset({"stag", "to", "invalidate_stag", "qn", "msn", "mo"})
"""Fields of a DDP segment that are no part of a shape."""


_Parts: TypeAlias = tuple[bytes, int | None, Layout, bytes, int, int]
"""The parts of an FPDU: octets, phase and layout; octets without Markers; ULPDU_Length; octets of
its DDP header."""


class _Shape(NamedTuple):
    """The forms of the layers of FPDUs with equal control octets."""

    fpdu: Form
    segment: Form
    message: Form
    payload: Form | None


class UpperLayers:
    """Makes packets of recovered FPDUs."""

    def __init__(self) -> None:
        self._shapes = Shapes()
        # The bindings of the layers below a message.  Scapy replaces a list to change it.
        self._bound: tuple[object, ...] = ()
        self._marker = Form(MPAMarker(bytes(MARKER_LENGTH), _internal=1))

    def of(self, event: FPDURecovered) -> FPDU:
        """Return the packet of an FPDU, with its provenance."""
        ulpdu_length, octets, phase = event.ulpdu_length, event.octets, event.phase
        layout = fpdu_layout(ulpdu_length, phase)
        body = strip_markers(octets, layout.markers) if layout.markers else octets
        control = body[HEADER_LENGTH : HEADER_LENGTH + 2]
        header = ddp_header_length(control)
        if (
            ulpdu_length < header
            or len(octets) != layout.length
            or event.dialect is not None  # FPDUs of SoftUiWARP are rare.
        ):
            plain: FPDU = dissected(event)
            return plain
        bound = FPDU.payload_guess, DDPTagged.payload_guess, DDPUntagged.payload_guess
        if bound != self._bound:
            self._bound = bound
            self._shapes.clear()
        key = control, ulpdu_length > header, phase is None
        parts = octets, phase, layout, body, ulpdu_length, header
        shape = self._shapes.get(key)
        if shape is not None:
            fpdu = self._make(shape, parts, _as_note(None, Provenance.of(event)))
            if fpdu is not None:
                return fpdu
        fpdu = dissected(event)
        if key not in self._shapes:
            note = fpdu.fields["provenance"]
            shape = _shape_of(fpdu)
            made = None if shape is None else self._make(shape, parts, note)
            self._shapes.learn(key, fpdu, shape, made)
        return fpdu

    def _make(self, shape: _Shape, parts: _Parts, note: Any) -> FPDU | None:
        """Return a packet of a shape; None if a user has bound a layer to its message."""
        octets, phase, layout, body, ulpdu_length, header = parts
        pad_at = HEADER_LENGTH + ulpdu_length
        crc_at = pad_at + layout.pad
        ulpdu = body[HEADER_LENGTH:pad_at]
        data = ulpdu[header:]
        fields: dict[str, Any] = {
            "ulpdu_length": ulpdu_length,
            "pad": body[pad_at:crc_at],
            "crc": int.from_bytes(body[crc_at:], "little"),
        }
        fpdu = shape.fpdu.make(octets, fields, None)
        put(fpdu, "time", time.time())
        if phase is not None:
            put(fpdu, "_read_with", (phase, None))
            if layout.markers:
                fields["markers"] = [
                    self._make_marker(octets[at : at + MARKER_LENGTH], fpdu)
                    for at in layout.markers
                ]
            fields["phase"] = phase
        fields["provenance"] = note

        fields = shape.segment.fields()
        if header == TAGGED_LENGTH:
            fields["stag"], fields["to"] = TAGGED_FIELDS.unpack_from(ulpdu)
        else:
            (fields["invalidate_stag"], fields["qn"], fields["msn"], fields["mo"]) = (
                UNTAGGED_FIELDS.unpack_from(ulpdu)
            )
        segment = shape.segment.make(ulpdu, fields, ulpdu[:header], fpdu)

        if shape.payload is None:
            shape.message.make(data, {}, None, segment)
            return fpdu
        message = shape.message.make(data, {}, b"", segment)
        if message.guess_payload_class(data) is not Raw:
            return None
        shape.payload.make(data, {"load": data}, data, message)
        return fpdu

    def _make_marker(self, octets: bytes, fpdu: FPDU) -> Packet:
        reserved, fpduptr = _MARKER.unpack(octets)
        marker = self._marker.make(octets, {"reserved": reserved, "fpduptr": fpduptr}, octets)
        put(marker, "parent", fpdu)
        return marker


_as_note: Final = FPDU().get_field("provenance").fld.any2i


def _shape_of(fpdu: FPDU) -> _Shape | None:
    """Return the shape of a packet; None if its layers cannot be copied."""
    segment = fpdu.payload
    message = segment.payload
    payload = message.payload
    is_ordinary = (
        type(segment) in (DDPTagged, DDPUntagged)
        and not bindings_use(FPDU, fpdu.fields)
        and not bindings_use(type(segment), _NUMBERS)
        and not isinstance(message, NoPayload)
        and not message.fields_desc
        and type(payload) in (Raw, NoPayload)
        and isinstance(payload.payload, NoPayload)
    )
    if not is_ordinary:
        return None
    try:
        return _Shape(
            Form(fpdu, without=("markers", "provenance")),
            Form(segment),
            Form(message),
            None if isinstance(payload, NoPayload) else Form(payload),
        )
    except ValueError:
        # A layer holds a value that copies must not share, so Scapy dissects each FPDU.
        return None


def dissected(event: Recovered) -> Any:
    """Return the layer of an event, dissected by Scapy, with its provenance."""
    layer = layer_of(event)
    layer.provenance = Provenance.of(event)
    return layer

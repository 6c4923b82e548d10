# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the FPDU, DDP and RDMAP layers of FPDUs, without dissecting each FPDU.

Nearly all FPDUs of a bulk transfer carry a piece of a Write, a Read Response or a Send, which
have no RDMAP header.  One FPDU of each shape is dissected, and its layers are copied for others.
"""

from __future__ import annotations

import time
from functools import partial
from struct import Struct
from typing import Any, Final, TypeAlias

from scapy.packet import NoPayload, Raw

from scapy_mpa.layers import FPDU, DDPTagged, DDPUntagged, MPAMarker
from scapy_mpa.layers.recovered import layer_of
from scapy_mpa.session.form import Form, Numbers, Shapes, bindings_use, put
from scapy_mpa.session.provenance import Provenance, Recovered
from scapy_mpa.stream.events import FPDURecovered
from scapy_mpa.wire.ddp import TAGGED_FIELDS, UNTAGGED_FIELDS, ddp_header_length
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_LENGTH, fpdu_layout, strip_markers

_MARKER: Final = Numbers(Struct(">HH"), ("reserved", "fpduptr"))
_NUMBERS: Final = {
    DDPTagged: Numbers(TAGGED_FIELDS, ("stag", "to")),
    DDPUntagged: Numbers(UNTAGGED_FIELDS, ("invalidate_stag", "qn", "msn", "mo")),
}
"""Fields of a DDP segment that are no part of a shape."""

_Shape: TypeAlias = list[Form]
"""The forms of FPDU, DDP segment, RDMAP message and payload, if any, of FPDUs with equal control
octets."""


class UpperLayers:
    """Makes packets of recovered FPDUs."""

    def __init__(self) -> None:
        self._shapes = Shapes()
        # The bindings of the layers below a message.  Scapy replaces a list to change it.
        self._bound: tuple[object, ...] = ()
        self._marker = Form(MPAMarker(bytes(MARKER_LENGTH), _internal=1), _MARKER)

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
        key = control, ulpdu_length > header, phase is None, not layout.markers
        shape = self._shapes.get(key)
        if shape is not None:
            fpdu = self._make(shape, event, body, _as_note(None, Provenance.of(event)))
            if fpdu is not None:
                return fpdu
        fpdu = dissected(event)
        if key not in self._shapes:
            note = fpdu.fields["provenance"]
            make = partial(self._make, event=event, body=body, note=note)
            self._shapes.learn(key, fpdu, _shape_of, make)
        return fpdu

    def _make(self, shape: _Shape, event: FPDURecovered, body: bytes, note: Any) -> FPDU | None:
        """Return a packet of a shape; None if a user has bound a layer to its message.

        :param body: the octets of the FPDU without Markers.
        """
        ulpdu_length, octets, phase = event.ulpdu_length, event.octets, event.phase
        layout = fpdu_layout(ulpdu_length, phase)
        pad_at = HEADER_LENGTH + ulpdu_length
        crc_at = pad_at + layout.pad
        ulpdu = body[HEADER_LENGTH:pad_at]
        header = ddp_header_length(ulpdu)
        data = ulpdu[header:]
        of_fpdu, of_segment, of_message, *of_payload = shape
        fpdu = of_fpdu.make(
            octets,
            b"",
            ulpdu_length=ulpdu_length,
            pad=body[pad_at:crc_at],
            crc=int.from_bytes(body[crc_at:], "little"),
            provenance=note,
        )
        put(fpdu, "time", time.time())
        if phase is not None:
            put(fpdu, "_read_with", (phase, None))
            fpdu.fields["phase"] = phase
        if layout.markers:
            places = (octets[at : at + MARKER_LENGTH] for at in layout.markers)
            fpdu.fields["markers"] = [self._marker.make(each, each) for each in places]
            for marker in fpdu.fields["markers"]:
                put(marker, "parent", fpdu)
        segment = of_segment.make(ulpdu, ulpdu[:header], fpdu)
        message = of_message.make(data, b"", segment)
        for form in of_payload:
            if message.guess_payload_class(data) is not Raw:
                return None
            form.make(data, data, message, load=data)
        return fpdu


_as_note: Final = FPDU().get_field("provenance").fld.any2i


def _shape_of(fpdu: FPDU) -> _Shape:
    """Return the shape of a packet.

    :raises ValueError: its layers cannot be copied.
    """
    segment = fpdu.payload
    message = segment.payload
    payload = message.payload
    numbers = _NUMBERS.get(type(segment))
    if (
        numbers is None
        or bindings_use(FPDU, fpdu.fields)
        or bindings_use(type(segment), numbers.names)
        or isinstance(message, NoPayload)
        or message.fields_desc
        or type(payload) not in (Raw, NoPayload)
        or not isinstance(payload.payload, NoPayload)
    ):
        raise ValueError("its layers are not ordinary")
    forms = [Form(fpdu, without=("markers", "provenance")), Form(segment, numbers), Form(message)]
    return forms if isinstance(payload, NoPayload) else [*forms, Form(payload)]


def dissected(event: Recovered) -> Any:
    """Return the layer of an event, dissected by Scapy, with its provenance."""
    layer = layer_of(event)
    layer.provenance = Provenance.of(event)
    return layer

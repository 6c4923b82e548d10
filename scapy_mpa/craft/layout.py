# SPDX-License-Identifier: GPL-2.0-or-later
"""Places the items of a script in the streams of both directions, and makes their octets.

Markers are counted from the end of the side's last startup frame, where its Full Operation Phase
begins.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scapy_mpa.craft.assemble import IDLE_CRC, assemble
from scapy_mpa.craft.enhanced import enhanced_octets
from scapy_mpa.craft.given import number
from scapy_mpa.craft.ift_assemble import assemble_frame
from scapy_mpa.craft.options import INITIATOR, RESPONDER, Options
from scapy_mpa.craft.script import (
    FPDUItem,
    FrameItem,
    IndicationItem,
    Item,
    OctetsItem,
    StartupItem,
)
from scapy_mpa.wire.dialect import Dialect, extension_length
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.fpdu import (
    MARKER_INTERVAL,
    OSC,
    OSC_WITHOUT_CRCS,
    SOFTUIWARP,
    STANDARD,
    FPDUFormat,
    Layout,
    build_fpdu,
)
from scapy_mpa.wire.ift_indication import build_indication
from scapy_mpa.wire.shown import quoted
from scapy_mpa.wire.startup import StartupFrame, StartupKind, build_startup


class Placed(NamedTuple):
    """One item of a script with its place."""

    number: int
    """The index of the item in the script."""
    item: Item
    start: int
    """Octets that its side sends before it, without the SYN."""
    octets: bytes
    """Its octets in the TCP stream."""
    offset: int | None = None
    """Offset of its first octet in the Full Operation Phase, or after the adaption indication; None
    in streaming mode."""
    phase: int | None = None
    """Of an FPDU: the count of its first octet modulo 512, as Markers are counted; None without
    Markers."""

    @property
    def end(self) -> int:
        """Offset of its end: ``start`` and its octets."""
        return self.start + len(self.octets)


def lay_out(script: Iterable[Item], options: Options) -> list[Placed]:
    """Return the items of a script in their places.

    :raises LocalProtocolError: an item cannot be expressed on the wire; the message says which.
    """
    placed: list[Placed] = []
    sent = [0, 0]
    origins: list[int | None] = [None, None]
    marked = options.has_markers(INITIATOR), options.has_markers(RESPONDER)
    skipped = [0, 0]
    is_rejected = False
    for index, item in enumerate(script):
        side = getattr(item, "side", INITIATOR)
        offset = phase = None
        octets = b""
        try:
            number("side", side, INITIATOR, RESPONDER)
            start, origin = sent[side], origins[side]
            if isinstance(item, FPDUItem):
                # Without a startup frame, the phase begins with the first octet.
                offset = start - (origin or 0)
                phase = (offset - skipped[side]) % MARKER_INTERVAL if marked[side] else None
                octets = _octets_of(item, phase, options)
                skipped[side] += format_of(phase, options).uncounted
            elif isinstance(item, StartupItem):
                octets = build_startup(startup_frame(item, options), key=item.key)
                is_rejected = item.rejected
            elif isinstance(item, FrameItem):
                offset = start - (origin or 0)
                octets = assemble_frame(item, options.announced)
            elif isinstance(item, IndicationItem):
                octets = build_indication(item.indication)
            elif isinstance(item, OctetsItem):
                octets = item.octets
                offset = None if origin is None or is_rejected else start - origin
            elif not isinstance(item, Item):
                raise LocalProtocolError("TCP has no such item")
        except LocalProtocolError as error:
            raise LocalProtocolError(
                f"item {index} of the script, {quoted(item, 200)}: {error}"
            ) from error
        placed.append(Placed(index, item, start, octets, offset, phase))
        sent[side] = start + len(octets)
        if isinstance(item, StartupItem | IndicationItem):
            origins[side] = sent[side]
            skipped[side] = 0
    return placed


def layout_of(item: FPDUItem, phase: int | None, options: Options) -> Layout:
    """Return where the parts of an FPDU are that overrides nothing."""
    return format_of(phase, options).layout(len(item.ulpdu), phase)


def format_of(phase: int | None, options: Options) -> FPDUFormat:
    """Return how an FPDU is laid out."""
    if options.dialect is Dialect.OSC:
        return OSC if options.has_crcs else OSC_WITHOUT_CRCS
    # It is not known where SoftUiWARP has Markers.
    is_softuiwarp = options.dialect is Dialect.SOFTUIWARP and phase is None
    return SOFTUIWARP if is_softuiwarp else STANDARD


def _octets_of(item: FPDUItem, phase: int | None, options: Options) -> bytes:
    """Return the octets of an FPDU, by a faster way if it conforms to RFC 5044."""
    is_off_grid = (phase or 0) & 3
    if item.overrides is None and not is_off_grid and format_of(phase, options) is STANDARD:
        return build_fpdu(item.ulpdu, phase, crc=None if options.has_crcs else IDLE_CRC)
    return assemble(item, phase, crc=options.has_crcs, form=format_of(phase, options))


def startup_frame(item: StartupItem, options: Options) -> StartupFrame:
    """Return a startup frame with its computed fields.

    :raises LocalProtocolError: a number does not fit its field.
    """
    enhanced = enhanced_octets(item.control_flags, item.ird, item.ord)
    data = enhanced + item.private_data
    # An Rtr Frame has the C of the Reply (rtr-frame-proposal-2007 2).
    crc_side = RESPONDER if item.kind is StartupKind.RTR else item.side
    revision = options.revision_of(item.side) if item.revision is None else item.revision
    extension = item.extension
    return StartupFrame(
        kind=item.kind,
        markers=options.markers[item.side] if item.markers is None else item.markers,
        crc=options.crc[crc_side] if item.crc is None else item.crc,
        rejected=item.rejected,
        s_bit=bool(enhanced) if item.s_bit is None else item.s_bit,
        reserved=item.reserved,
        revision=revision,
        pd_length=len(data) if item.pd_length is None else item.pd_length,
        data=data,
        extension=bytes(extension_length(revision)) if extension is None else extension,
    )

# SPDX-License-Identifier: GPL-2.0-or-later
"""From a script to the octets of both directions: where each item lies, and what it looks like.

Markers are counted from the end of the side's last startup frame, which is where its Full Operation
Phase begins.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from scapy_mpa.craft.assemble import (
    IDLE_CRC,
    OSC,
    OSC_WITHOUT_CRCS,
    SOFTUIWARP,
    STANDARD,
    Assembled,
    Manner,
    assemble,
)
from scapy_mpa.craft.enhanced import enhanced_octets
from scapy_mpa.craft.given import number
from scapy_mpa.craft.ift_assemble import AssembledFrame, assemble_frame
from scapy_mpa.craft.options import INITIATOR, RESPONDER, Options
from scapy_mpa.craft.script import (
    FPDUItem,
    FrameItem,
    IndicationItem,
    Item,
    OctetsItem,
    StartupItem,
)
from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.dialect import Dialect, extension_length
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, build_fpdu
from scapy_mpa.wire.ift_indication import build_indication
from scapy_mpa.wire.shown import quoted
from scapy_mpa.wire.startup import StartupFrame, StartupKind, build_startup

Detail: TypeAlias = Assembled | AssembledFrame | StartupFrame | None
"""What is in an item that has octets."""


class Placed(NamedTuple):
    """One item of a script with its place."""

    number: int
    """Of the item: its index in the script."""
    item: Item
    start: int
    """Octets that its side sends before it, the SYN not counted."""
    octets: bytes
    """What it puts into the TCP stream."""
    offset: int | None = None
    """Of its first octet in the Full Operation Phase, or after the adaption indication; None
    before."""
    phase: int | None = None
    """Of an FPDU: which octet its first one is to the count of Markers, modulo 512; None without
    Markers."""

    @property
    def end(self) -> int:
        """Where it ends: ``start`` and its octets."""
        return self.start + len(self.octets)


def lay_out(script: Iterable[Item], options: Options) -> list[Placed]:
    """Return the items of a script in their places.

    :raises LocalProtocolError: an item cannot be expressed on the wire; the message says which.
    """
    placed: list[Placed] = []
    sent = [0, 0]
    origins: list[int | None] = [None, None]
    marked = options.has_markers(INITIATOR), options.has_markers(RESPONDER)
    # In osc CRC fields do not count where Markers are counted.
    skips = CRC_LENGTH if options.dialect is Dialect.OSC and options.has_crcs else 0
    skipped = [0, 0]
    for index, item in enumerate(script):
        side = getattr(item, "side", INITIATOR)
        offset = phase = None
        octets = b""
        try:
            number("side", side, INITIATOR, RESPONDER)
            start, origin = sent[side], origins[side]
            if isinstance(item, FPDUItem):
                # Where no startup frame was, the phase begins with the octets.
                offset = start - (origin or 0)
                phase = (offset - skipped[side]) % MARKER_INTERVAL if marked[side] else None
                octets = _octets_of(item, phase, options)
                skipped[side] += skips
            elif isinstance(item, StartupItem):
                octets = build_startup(_startup_frame(item, options), key=item.key)
            elif isinstance(item, FrameItem):
                offset = start - (origin or 0)
                octets = assemble_frame(item, options.announced).octets
            elif isinstance(item, IndicationItem):
                octets = build_indication(item.indication)
            elif isinstance(item, OctetsItem):
                octets = item.octets
                offset = None if origin is None else start - origin
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


def detail_of(placed: Placed, options: Options) -> Detail:
    """Return what is in an FPDU, a frame or a startup frame; None: it is another item."""
    item = placed.item
    if isinstance(item, FPDUItem):
        return _assemble(item, placed.phase, options)
    if isinstance(item, FrameItem):
        return assemble_frame(item, options.announced)
    return _startup_frame(item, options) if isinstance(item, StartupItem) else None


def manner_of(phase: int | None, options: Options) -> Manner:
    """Return how an FPDU is laid out."""
    if options.dialect is Dialect.OSC:
        return OSC if options.has_crcs else OSC_WITHOUT_CRCS
    # Of SoftUiWARP's Markers nothing is known.
    is_softuiwarp = options.dialect is Dialect.SOFTUIWARP and phase is None
    return SOFTUIWARP if is_softuiwarp else STANDARD


def _octets_of(item: FPDUItem, phase: int | None, options: Options) -> bytes:
    """Return the octets of an FPDU: quickly, if it is as RFC 5044 has it and on the grid."""
    is_off_grid = (phase or 0) & 3
    if item.overrides is None and not is_off_grid and manner_of(phase, options) is STANDARD:
        return build_fpdu(item.ulpdu, phase, crc=None if options.has_crcs else IDLE_CRC)
    return _assemble(item, phase, options).octets


def _assemble(item: FPDUItem, phase: int | None, options: Options) -> Assembled:
    return assemble(item, phase, crc=options.has_crcs, manner=manner_of(phase, options))


def _startup_frame(item: StartupItem, options: Options) -> StartupFrame:
    """Return a startup frame with all that is computed in its place.

    :raises LocalProtocolError: a number does not fit its field.
    """
    enhanced = enhanced_octets(item.control_flags, item.ird, item.ord)
    data = enhanced + item.private_data
    # That of an Rtr Frame follows the Reply's (rtr-frame-proposal-2007 2).
    says_crc = RESPONDER if item.kind is StartupKind.RTR else item.side
    revision = options.revision_of(item.side) if item.revision is None else item.revision
    extension = item.extension
    return StartupFrame(
        kind=item.kind,
        markers=options.markers[item.side] if item.markers is None else item.markers,
        crc=options.crc[says_crc] if item.crc is None else item.crc,
        rejected=item.rejected,
        s_bit=bool(enhanced) if item.s_bit is None else item.s_bit,
        reserved=item.reserved,
        revision=revision,
        pd_length=len(data) if item.pd_length is None else item.pd_length,
        data=data,
        extension=bytes(extension_length(revision)) if extension is None else extension,
    )

# SPDX-License-Identifier: GPL-2.0-or-later
"""From a script to the octets of both directions: where each item lies, and what it looks like.

Markers are counted from the end of the side's last startup frame, which is where its Full Operation
Phase begins.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from scapy_mpa.craft.assemble import Assembled, assemble
from scapy_mpa.craft.options import Options
from scapy_mpa.craft.script import FPDUItem, Item, OctetsItem, StartupItem
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.fpdu import MARKER_INTERVAL
from scapy_mpa.wire.startup import StartupFrame, build_enhanced, build_startup

__all__ = ["Placed", "lay_out"]

Detail: TypeAlias = Assembled | StartupFrame | None


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
    """Of its first octet in the Full Operation Phase; None before."""
    detail: Detail = None
    """More about an FPDU or a startup frame."""

    @property
    def end(self) -> int:
        """Where it ends: ``start`` and its octets."""
        return self.start + len(self.octets)


def lay_out(script: Iterable[Item], options: Options) -> list[Placed]:
    """Return the items of a script in their places.

    :raises LocalProtocolError: an item cannot be expressed on the wire; the message says which.
    """
    placed = []
    sent = [0, 0]
    origins: list[int | None] = [None, None]
    for number, item in enumerate(script):
        try:
            if isinstance(item, FPDUItem):
                side = item.side
                start = sent[side]
                origin = origins[side]
                offset = start if origin is None else start - origin
                phase = offset % MARKER_INTERVAL if options.markers[1 - side] else None
                fpdu = assemble(item, phase, crc=options.has_crcs)
                sent[side] = start + len(fpdu.octets)
                placed.append(Placed(number, item, start, fpdu.octets, offset, fpdu))
            elif isinstance(item, StartupItem):
                side = item.side
                start = sent[side]
                startup = startup_frame(item, options)
                octets = build_startup(startup, key=item.key)
                sent[side] = origins[side] = start + len(octets)
                placed.append(Placed(number, item, start, octets, None, startup))
            elif isinstance(item, OctetsItem):
                side = item.side
                start = sent[side]
                origin = origins[side]
                sent[side] = start + len(item.octets)
                offset_or_none = None if origin is None else start - origin
                placed.append(Placed(number, item, start, item.octets, offset_or_none))
            else:
                side = getattr(item, "side", 0)
                placed.append(Placed(number, item, sent[side], b""))
        except LocalProtocolError as error:
            raise LocalProtocolError(f"item {number} of the script, {item!r}: {error}") from error
    return placed


def startup_frame(item: StartupItem, options: Options) -> StartupFrame:
    """Return a startup frame with all that is computed in its place.

    :raises LocalProtocolError: a number does not fit its field.
    """
    enhanced = b""
    if not (item.control_flags is None and item.ird is None and item.ord is None):
        enhanced = build_enhanced(item.control_flags or "", item.ird or 0, item.ord or 0)
    data = enhanced + item.private_data
    return StartupFrame(
        kind=item.kind,
        markers=options.markers[item.side] if item.markers is None else item.markers,
        crc=options.crc[item.side] if item.crc is None else item.crc,
        rejected=item.rejected,
        s_bit=bool(enhanced) if item.s_bit is None else item.s_bit,
        reserved=item.reserved,
        revision=options.revision if item.revision is None else item.revision,
        pd_length=len(data) if item.pd_length is None else item.pd_length,
        data=data,
    )

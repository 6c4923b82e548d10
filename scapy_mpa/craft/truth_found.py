# SPDX-License-Identifier: GPL-2.0-or-later
"""The items of a script that conform and were captured whole: only these have records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scapy_mpa.craft.captured import captured_items, captured_streams
from scapy_mpa.craft.layout import Placed, startup_frame
from scapy_mpa.craft.options import INITIATOR, Options
from scapy_mpa.craft.script import FPDUItem, OctetsItem, StartupItem
from scapy_mpa.craft.truth_setting import Setting
from scapy_mpa.stream.events.carrier import LocatedBy
from scapy_mpa.wire.dialect import extension_length
from scapy_mpa.wire.rdmap import plausible
from scapy_mpa.wire.startup import KIND_OF_KEY, StartupKind


class Found(NamedTuple):
    """An item that conforms and was captured whole."""

    placed: Placed
    frames: tuple[int, ...]
    """The frames with its octets, in the order of the stream."""
    place: int
    """Number of the segment with which it is found: never before both startup frames."""
    located_by: LocatedBy = "start"
    """How an FPDU is located."""

    @property
    def side(self) -> int:
        """The side that sends it."""
        side: int = getattr(self.placed.item, "side", INITIATOR)
        return side


def found_in(placed: Iterable[Placed], setting: Setting) -> tuple[list[Found], Setting]:
    """Return the items that conform and were captured whole, in the order of the script.

    The setting is returned, too.  It is exact only if these are all items.
    """
    pieces = captured_items(placed, captured_streams(setting.segments, setting.isns))
    right = [each for each in pieces if each.is_whole and _conforms(each.placed, setting.options)]
    found = []
    located_by: list[LocatedBy] = ["start", "start"]
    full_at = 0
    for each in right:
        item = each.placed.item
        place = max(*each.frames, full_at)
        if isinstance(item, FPDUItem):
            found.append(Found(each.placed, each.frames, place, located_by[item.side]))
            located_by[item.side] = "length"
            continue
        found.append(Found(each.placed, each.frames, place))
        if isinstance(item, StartupItem):
            located_by[item.side] = "start"
            full_at = place if item.kind is StartupKind.REPLY else full_at
    is_exact = setting.is_exact and len(right) == len(pieces)
    return found, setting._replace(is_exact=is_exact)


def _conforms(placed: Placed, options: Options) -> bool:
    """Return whether nothing is wrong with an item, and it stands where it may."""
    item = placed.item
    if isinstance(item, FPDUItem):
        # Without a CRC, only a plausible header is evidence for an FPDU.
        is_evident = options.has_crcs or plausible(item.ulpdu, len(item.ulpdu))
        return item.overrides is None and not (placed.phase or 0) & 3 and is_evident
    if isinstance(item, StartupItem):
        startup = startup_frame(item, options)
        return (
            (item.key is None or KIND_OF_KEY.get(item.key) is item.kind)
            and startup.pd_length == len(startup.data)
            and len(startup.extension) == extension_length(startup.revision)
            and not startup.problems()
        )
    return isinstance(item, OctetsItem) and placed.offset is None

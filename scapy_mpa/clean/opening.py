# SPDX-License-Identifier: GPL-2.0-or-later
"""The startup of one connection: which frames were captured, which are written, and what is known.

Tools want a Request and a Reply before FPDUs.  One that was not captured is made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from scapy_mpa.clean.half import WrittenHalf
from scapy_mpa.clean.readable import known_revision
from scapy_mpa.clean.slot import Item
from scapy_mpa.stream.events import FPDURecovered
from scapy_mpa.wire.startup import StartupFrame, StartupKind

NEEDED: Final = frozenset({StartupKind.REQUEST, StartupKind.REPLY})
"""What must stand before FPDUs."""

_STARTUP_FRAMES: Final = 16
"""Startup frames of a direction whose places are remembered."""

_DDP_VERSION: Final = 0x03
"""Where in its first octet a DDP segment has DV (RFC 5041 4.1)."""

_start_of: Final = attrgetter("start")


@dataclass(slots=True, eq=False)
class Opening:
    """The startup of one connection."""

    _flow: bytes
    """Of direction 0."""
    _halves: tuple[WrittenHalf, WrittenHalf]
    """Both directions, by number."""
    written: set[StartupKind] = field(default_factory=set)
    """The kinds of startup frames that were written, captured or supplied, since the last
    rejection."""
    supplied: set[StartupKind] = field(default_factory=set)
    """Those that were made up, since the last rejection."""
    _rejections: int = 0
    """How many Replies were found that reject."""
    _crc: bool = True
    _oldest_version: bool = False

    # -- what was captured ---------------------------------------------------------------------

    def expect(self, item: Item) -> None:
        """Take note of a startup frame that was captured."""
        startup = item.startup
        if startup and startup.kind in NEEDED and not self.has_fpdus:
            self._crc = startup.crc
        startups = self._halves[item.direction].startups
        startups.append(item)
        del startups[:-_STARTUP_FRAMES]
        item.attempt = self._rejections
        self._rejections += bool(startup and startup.rejects)

    def expect_fpdus(self, direction: int, start: int, begin: int, event: FPDURecovered) -> None:
        """Take note of an FPDU.

        :param start: its position.
        :param begin: position of what follows the last startup frame of its direction, 0 if none
            was captured.
        """
        half = self._halves[direction]
        if half.fpdus_from is None:
            half.fpdus_from = begin
            self._crc = event.crc != "off"
            # That version goes with revision 0 (RFC 5044 C.1).
            self._oldest_version = any(not each & _DDP_VERSION for each in event.ulpdu[:1])
        if half.lowest is None or start < half.lowest:
            half.lowest = start

    @property
    def is_mpa(self) -> bool:
        """Whether the connection carries MPA."""
        return self.has_fpdus or self.has_startup

    @property
    def has_fpdus(self) -> bool:
        """Whether an FPDU is known."""
        return any(half.lowest is not None for half in self._halves)

    @property
    def is_accepted(self) -> bool:
        """Whether the startup frames lead to the Full Operation Phase."""
        if not self.is_mpa:
            return False
        if self.has_fpdus or any(self._of_kind(StartupKind.RTR)):
            return True
        replies = [startup for _, startup in self._of_kind(StartupKind.REPLY)]
        return not replies[-1].rejected if replies else StartupKind.REPLY in self.written

    @property
    def has_startup(self) -> bool:
        """Whether a startup frame was captured."""
        return any(half.startups for half in self._halves)

    @property
    def is_whole(self) -> bool:
        """Whether a Request and a Reply were captured, and the last of both belong together."""
        last = {startup.kind: item.attempt for item, startup in self._of_kind(*NEEDED)}
        return last.keys() == NEEDED and len(set(last.values())) == 1

    def unwritten(self, kind: StartupKind, before: Item) -> list[Item]:
        """Return the captured startup frames that must be written before an item."""
        found = [
            each
            for each, _ in self._of_kind(kind)
            if not each.is_written and (before.startup is None or each.attempt <= before.attempt)
        ]
        return sorted(found, key=_start_of)

    def _of_kind(self, *kinds: StartupKind) -> Iterator[tuple[Item, StartupFrame]]:
        """Yield captured startup frames, of all kinds if none is named, in the order in which they
        were found."""
        for half in self._halves:
            for each in half.startups:
                if each.startup and each.startup.kind in (kinds or StartupKind):
                    yield each, each.startup

    # -- what is written -----------------------------------------------------------------------

    def write(self, startup: StartupFrame) -> None:
        """Take note of a captured startup frame that is written."""
        self.written.add(startup.kind)
        if startup.rejects:
            # What follows is another startup.
            self.supplied.clear()
            self.written.clear()

    def supply(self, kind: StartupKind) -> None:
        """Take note of a startup frame that is written and was made up."""
        self.written.add(kind)
        self.supplied.add(kind)

    @property
    def initiator(self) -> int:
        """The direction in which the Initiator sends, as far as one can tell."""
        for item, startup in self._of_kind():
            return 1 - item.direction if startup.kind is StartupKind.REPLY else item.direction
        syns = [half.has_syn for half in self._halves]
        if any(syns):
            # Direction 0 is that of the first frame.
            return syns.index(True)
        ports = self._flow[-4:-2], self._flow[-2:]
        return 0 if ports[0] >= ports[1] else 1

    def made_up(self, kind: StartupKind) -> StartupFrame:
        """Return a startup frame as it must have been, as far as one can tell."""
        revision = 0 if self._oldest_version else 1
        for _, startup in self._of_kind():
            revision = known_revision(startup.revision)
        return StartupFrame(
            kind=kind,
            markers=False,
            crc=self._crc,
            rejected=False,
            s_bit=False,
            reserved=0,
            revision=revision,
            pd_length=0,
            data=b"",
        )

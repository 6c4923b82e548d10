# SPDX-License-Identifier: GPL-2.0-or-later
"""The startup of one connection: which startup frames were captured, and which were written.

Other tools need a Request and a Reply before FPDUs.  One that was not captured is made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from scapy_mpa.clean.half import WrittenHalf
from scapy_mpa.clean.readable import readable_revision
from scapy_mpa.clean.slot import Item
from scapy_mpa.stream.events import FPDURecovered
from scapy_mpa.wire.startup import StartupFrame, StartupKind

NEEDED: Final = frozenset({StartupKind.REQUEST, StartupKind.REPLY})
"""The startup frames that must be written before FPDUs."""

_STARTUP_FRAMES: Final = 16
"""Startup frames of a direction that are remembered, at most."""

_start_of: Final = attrgetter("start")


@dataclass(slots=True, eq=False)
class Opening:
    """The startup of one connection."""

    _flow: bytes
    """The flow of direction 0."""
    _halves: tuple[WrittenHalf, WrittenHalf]
    """Both directions, by number."""
    written: set[StartupKind] = field(default_factory=set)
    """The kinds of startup frames that were written since the last rejection, captured ones and
    made-up ones."""
    supplied: set[StartupKind] = field(default_factory=set)
    """The kinds of startup frames that were made up since the last rejection."""
    _rejections: int = 0
    """How many rejecting Replies were captured."""
    _crc: bool = True

    # -- what was captured ---------------------------------------------------------------------

    def add(self, item: Item) -> None:
        """Take a captured startup frame."""
        startup = item.startup
        if startup and startup.kind in NEEDED and not self.has_fpdus:
            self._crc = startup.crc
        startups = self._halves[item.direction].startups
        startups.append(item)
        del startups[:-_STARTUP_FRAMES]
        item.attempt = self._rejections
        self._rejections += bool(startup and startup.rejects)

    def add_fpdu(self, direction: int, start: int, begin: int, event: FPDURecovered) -> None:
        """Take an FPDU.

        :param start: its position.
        :param begin: position after the last startup frame of its direction, 0 if none was
            captured.
        """
        half = self._halves[direction]
        if half.fpdus_from is None:
            half.fpdus_from = begin
            self._crc = event.crc != "off"
        if half.first_fpdu is None or start < half.first_fpdu:
            half.first_fpdu = start

    @property
    def is_mpa(self) -> bool:
        """Whether the connection carries MPA."""
        return self.has_fpdus or any(half.startups for half in self._halves)

    @property
    def has_fpdus(self) -> bool:
        """Whether an FPDU was found."""
        return any(half.first_fpdu is not None for half in self._halves)

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
    def is_whole(self) -> bool:
        """Whether a Request and a Reply were captured, and the last ones are of one attempt."""
        last = {startup.kind: item.attempt for item, startup in self._of_kind(*NEEDED)}
        return last.keys() == NEEDED and len(set(last.values())) == 1

    def unwritten(self, kind: StartupKind, before: Item) -> list[Item]:
        """Return the captured startup frames of a kind that must be written before an item."""
        found = [
            each
            for each, _ in self._of_kind(kind)
            if not each.is_written and (before.startup is None or each.attempt <= before.attempt)
        ]
        return sorted(found, key=_start_of)

    def _of_kind(self, *kinds: StartupKind) -> Iterator[tuple[Item, StartupFrame]]:
        """Yield the captured startup frames of some kinds, or of all kinds if none is given.

        Those of direction 0 come first, each direction in the order in which they were found.
        """
        for half in self._halves:
            for each in half.startups:
                if each.startup and each.startup.kind in (kinds or StartupKind):
                    yield each, each.startup

    # -- what is written -----------------------------------------------------------------------

    def note_written(self, startup: StartupFrame) -> None:
        """Take note that a captured startup frame is written."""
        self.written.add(startup.kind)
        if startup.rejects:
            # Another startup may follow.
            self.supplied.clear()
            self.written.clear()

    def note_supplied(self, kind: StartupKind) -> None:
        """Take note that a made-up startup frame is written."""
        self.written.add(kind)
        self.supplied.add(kind)

    @property
    def initiator(self) -> int:
        """The direction in which the Initiator sends.

        Startup frames show it, else a SYN.  Without both, the side with the higher port counts as
        the Initiator.
        """
        for item, startup in self._of_kind():
            return 1 - item.direction if startup.kind is StartupKind.REPLY else item.direction
        syns = [half.has_syn for half in self._halves]
        if any(syns):
            # Direction 0 is that of the first frame.
            return syns.index(True)
        ports = self._flow[-4:-2], self._flow[-2:]
        return 0 if ports[0] >= ports[1] else 1

    def made_up(self, kind: StartupKind) -> StartupFrame:
        """Return a startup frame in place of one that was not captured.

        C and the revision are those that the captured frames imply.
        """
        revision = 1
        for _, startup in self._of_kind():
            revision = readable_revision(startup.revision)
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

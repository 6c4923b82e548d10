# SPDX-License-Identifier: GPL-2.0-or-later
"""What reads the octets of a half connection: streaming mode at first, then framing."""

from __future__ import annotations

from typing import Protocol

from scapy_mpa.stream.octets.island import Island


class Reader(Protocol):
    """Makes of islands what can be made of them."""

    def advance(self, island: Island) -> None:
        """See what can be made of an island that has grown."""

    def finish(self, island: Island) -> None:
        """See what can be made of an island to whose end nothing will be added."""

    def give_up(self, island: Island) -> int:
        """See what can be made of an island that is let go of, though more may come.

        Return where the octets begin that might have been of use then.
        """


class FrameReader(Reader, Protocol):
    """Reads the frames of another framing than MPA's."""

    @property
    def markers(self) -> bool:
        """Whether there are periodic markers."""

    @property
    def crcs(self) -> str:
        """Which CRCs frames have: ``h``, ``p``, both or none."""

# SPDX-License-Identifier: GPL-2.0-or-later
"""The readers of a half connection: streaming mode at first, then framing."""

from __future__ import annotations

from typing import Protocol

from scapy_mpa.stream.octets.island import Island


class Reader(Protocol):
    """Reads the octets of islands."""

    def advance(self, island: Island) -> None:
        """Read on in an island that has grown."""

    def finish(self, island: Island) -> None:
        """Read an island that will not grow at its end."""

    def give_up(self, island: Island) -> int:
        """Read an island that is let go of, though more may come.

        Return the position of the first octet that might have been useful then.
        """


class FrameReader(Reader, Protocol):
    """Reads the frames of a framing other than MPA."""

    @property
    def markers(self) -> bool:
        """Whether there are periodic markers."""

    @property
    def crcs(self) -> str:
        """Which CRCs frames have: ``h``, ``p``, both or none."""

# SPDX-License-Identifier: GPL-2.0-or-later
"""Framings over TCP other than MPA, as the stream core sees them.

They are passed to :class:`~scapy_mpa.stream.flows.Flows`.
"""

from typing import NamedTuple, Protocol, TypeVar

from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.dialect import Dialect

_Half = TypeVar("_Half", contravariant=True)


class Beginning(NamedTuple):
    """The beginning of a connection that speaks another framing."""

    name: str
    length: int
    """Its length in octets."""
    clause: str
    """The clause that says that it must be whole."""


class OtherFraming(Protocol):
    """State of a connection that speaks another framing."""

    @property
    def dialect(self) -> Dialect:
        """The dialect of this framing."""

    @property
    def initiator(self) -> int | None:
        """The direction of the side that began it; None if that is not known."""

    def conclude(self) -> None:
        """Report what its beginning lacks: nothing more will come."""


class OtherFramings(Protocol[_Half]):
    """Finds connections that speak another framing."""

    def look(self, half: _Half, island: Island, position: int) -> None:
        """Look for the beginning of another framing in octets of streaming mode.

        If it is found, the reader of that framing reads the octets after it.

        :param position: where to begin to look.
        """

    def begins(self, island: Island, position: int) -> Beginning | None:
        """Return the beginning that octets at a position seem to belong to; None if none."""

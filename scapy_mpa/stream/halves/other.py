# SPDX-License-Identifier: GPL-2.0-or-later
"""Other framings than MPA's over TCP, as the stream core sees them.

Who makes :class:`~scapy_mpa.stream.flows.Flows` says which there are.
"""

from typing import NamedTuple, Protocol, TypeVar

from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.dialect import Dialect

_Half = TypeVar("_Half", contravariant=True)


class Beginning(NamedTuple):
    """What a connection begins with that speaks another framing."""

    name: str
    length: int
    """Octets of it."""
    clause: str
    """What says that it must be whole."""


class OtherFraming(Protocol):
    """What is known of a connection that may speak another framing."""

    @property
    def dialect(self) -> Dialect:
        """What is spoken then."""

    @property
    def is_begun(self) -> bool:
        """Whether it was reported that the connection speaks it."""

    @property
    def initiator(self) -> int | None:
        """The direction of who began it, None if that is not known."""

    def conclude(self, how: str | None) -> None:
        """Report what its beginning lacks, now that nothing more will come.

        :param how: how the connection ended; None if that was not captured.
        """


class OtherFramings(Protocol[_Half]):
    """Finds connections that speak another framing."""

    def look(self, half: _Half, island: Island, position: int) -> None:
        """Look for what one begins with in streaming mode octets; have frames read after it.

        :param position: from where on.
        """

    def begins(self, island: Island, position: int) -> Beginning | None:
        """Return what octets at a position seem to be the first ones of, None if nothing."""

# SPDX-License-Identifier: GPL-2.0-or-later
"""How FPDUs are written that have nearly everything in common: as functions, or as patterns."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from scapy_mpa.stream.events import ConnectionId, CrcVerdict, Event, LocatedBy

__all__ = ["FPDUKind", "Patterns", "Templates", "WriteTagged", "WriteUntagged"]


class FPDUKind(NamedTuple):
    """What many FPDUs have in common, of whichever direction they are."""

    control: bytes
    """The DDP and the RDMAP control octet."""
    markers: int
    crc: CrcVerdict
    located_by: LocatedBy
    out_of_order: bool


WriteTagged: TypeAlias = Callable[[str, int, int, int, int | None, int, str | int, int, int], str]
"""Label, frame, time in ns since the epoch, not before it, seq, offset, ULPDU_Length, frames joined
by commas, STag, TO."""

WriteUntagged: TypeAlias = Callable[
    [str, int, int, int, int | None, int, str | int, int, int, int, int], str
]
"""Label, frame, time in ns since the epoch, not before it, seq, offset, ULPDU_Length, frames joined
by commas, the 32-bit word of RsvdULP, QN, MSN, MO."""


class Templates(Protocol):
    """Who writes events, each by a function of its kind."""

    def line(self, event: Event) -> str:
        """Return the line of any event."""

    def label(self, connection: ConnectionId, direction: int) -> str:
        """Return what stands for a direction."""

    def tagged(self, kind: FPDUKind) -> WriteTagged | None:
        """Return what writes Tagged FPDUs of a kind, None if each must be seen as a whole."""

    def untagged(self, kind: FPDUKind) -> WriteUntagged | None:
        """Return what writes Untagged FPDUs of a kind, None if each must be seen as a whole."""


@runtime_checkable
class Patterns(Protocol):
    """Who writes events, FPDUs by patterns for ``%``.

    What fills a pattern is, for a Tagged FPDU: frame, seconds since the first frame, label, STag,
    TO, octets behind the DDP header, seq; for an Untagged one QN, MSN and MO in the place of STag
    and TO.  It takes less to fill a pattern of what is usual: an STag of eight digits, which need
    not be made as wide; or QN and MO 0, which are not filled in.
    """

    head: str
    """How all patterns begin: with what is the same for all FPDUs that a frame completes, which
    is frame, seconds and label."""
    width: int
    """Octets of a label, which only grow: lines are aligned from the widest so far on."""

    def line(self, event: Event) -> str:
        """Return the line of any event."""

    def label(self, connection: ConnectionId, direction: int) -> str:
        """Return what stands for a direction."""

    def pattern(
        self,
        control: bytes,
        crc: CrcVerdict,
        located_by: LocatedBy,
        *,
        out_of_order: bool,
        length: int | None = None,
        is_usual: bool = False,
    ) -> str | None:
        """Return the pattern for a kind of FPDU, None if each must be seen as a whole.

        :param control: the DDP and the RDMAP control octet.
        :param length: octets behind the DDP header, if they are to stand in the pattern and not
            among what fills it.
        :param is_usual: whether it is only to be filled with what is usual.
        """

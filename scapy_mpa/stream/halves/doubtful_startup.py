# SPDX-License-Identifier: GPL-2.0-or-later
"""What seems to be a startup frame, in the midst of octets that may be anything.

What stands around it is held against it, in its own direction: who answers it is the peer's to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.fpdus.heads import may_be_fpdu
from scapy_mpa.stream.inference.surroundings import (
    fpdu_begins,
    fpdus_before,
    is_in_payload,
    is_marker,
)
from scapy_mpa.stream.octets.scan import FoundStartup, may_be_payload, may_be_rtr
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.wire.rdmap import BOUNDS
from scapy_mpa.wire.startup import KEY_LENGTH, RTR_KEYS, STARTUP_HEADER_LENGTH, StartupKind

if TYPE_CHECKING:
    from scapy_mpa.stream.halves.half import HalfConnection
    from scapy_mpa.stream.octets.island import Island

__all__ = ["DoubtfulStartup", "awaits_startup", "is_refuted"]

_FEW_OCTETS: Final = 4
"""Octets of a segment from which on it is no chance, at the end, that a startup frame begins and
ends where segments do."""

_CONTROL: Final = slice(2, 4)
_BEHIND_MARKER: Final = slice(6, 8)
"""Control octets of an FPDU, where it begins, and where a Marker precedes it."""


class DoubtfulStartup:
    """A startup frame, or part of something else.

    :param half: the direction that it seems to be of.
    :param found: the frame.
    :param frames: numbers of the captured frames that brought it.
    :param is_alone: whether it begins and ends where segments do.
    """

    __slots__ = ("_half", "_is_alone", "found", "frames")

    def __init__(
        self,
        half: HalfConnection,
        found: FoundStartup,
        frames: tuple[int, ...],
        *,
        is_alone: bool = False,
    ) -> None:
        self._half = half
        self._is_alone = is_alone
        self.found = found
        self.frames = frames

    def is_followed_by_fpdus(self, *, final: bool) -> bool:
        """Tell whether FPDUs follow it, and none stand before it.

        :param final: nothing more will be captured: a hole may follow what stands alone.
        """
        found, purse = self.found, self._half.purse
        islands = self._half.islands.items
        island = self._half.islands.at(found.end - 1)
        return (
            island is not None
            and (final or not (awaits_startup(self._half) or may_be_payload(found)))
            and (fpdu_begins(island, found.end, purse) or (final and self._may_continue(island)))
            and not is_marker(island, found, purse)
            and not fpdus_before(islands, found.position, purse)
            and not is_in_payload(islands, island, found.position, found.end)
        )

    def precedes_fpdus(self, *, final: bool) -> bool:
        """Tell whether it stands alone before FPDUs that were found.

        :param final: nothing more will be captured.
        """
        return (final or not awaits_startup(self._half)) and self.is_followed_by_fpdus(final=True)

    def _may_continue(self, island: Island) -> bool:
        """Tell whether it stands alone, and all that is held behind it may be of an FPDU."""
        is_held = island.held <= self.found.position
        return is_held and self.stands_alone() and not is_refuted(self._half, island, self.found)

    def stands_alone(self) -> bool:
        """Tell whether it fills its segments, even small ones, or lies between what holes leave: of
        its Request before an Rtr Frame, and of an FPDU."""
        found = self.found
        island = self._half.islands.at(found.position)
        if island is None:
            return self._is_alone
        if self._is_alone:
            return not (may_be_payload(found) and is_refuted(self._half, island, found))
        if may_be_payload(found) or island.start != island.held:
            return False
        most = STARTUP_HEADER_LENGTH if found.startup.kind is StartupKind.RTR else 0
        is_apart = found.position - island.start <= most
        is_apart |= island.fills_segments(found.position, found.end, _FEW_OCTETS)
        return is_apart and not is_refuted(self._half, island, found)

    def awaits_reply(self, received: int | None) -> bool:
        """Tell whether it is a Request, and the last that was sent then.

        :param received: sequence number of what the sender of a Reply had received; None if that
            is not known.  One that had less of it answers another.
        """
        found = self.found
        if found.startup.kind is not StartupKind.REQUEST:
            return False
        had = found.end if received is None else unwrap(received, found.end)
        is_last = found.end == self._half.high or (received is not None and had == found.end)
        return is_last and had >= found.end


def awaits_startup(half: HalfConnection) -> bool:
    """Tell whether a startup frame may yet be captured that lies in a hole."""
    return half.begin is not None and half.islands.behind_open_hole() is not None


def is_refuted(half: HalfConnection, island: Island, found: FoundStartup) -> bool:
    """Tell whether what directly follows a delayed startup frame shows that it is none.

    Nothing but FPDUs does (RFC 5044 7.1.2 rules 3, 4), unless the connection is rejected, or an Rtr
    Frame comes before them (rtr-frame-proposal-2007 2).  A capture of iWARP that is sent as a file
    holds startup frames, too, and then the next record.
    """
    if found.startup.rejects:
        return False
    is_request = found.startup.kind is StartupKind.REQUEST
    behind = found.behind
    if behind and behind[_CONTROL] not in BOUNDS and behind[_BEHIND_MARKER] not in BOUNDS:
        # No FPDU: of many startup frames that is told at one glance.
        is_followed = is_request and behind[:KEY_LENGTH] in RTR_KEYS
    else:
        is_followed = _may_be_followed(island, found)
    is_answered = is_request and half.owner.is_answered(half, found)
    return not (is_followed or is_answered)


def _may_be_followed(island: Island, found: FoundStartup) -> bool:
    """Tell whether an FPDU may follow a startup frame, or the Rtr Frame of a Request."""
    return (
        island.start > found.end
        or may_be_fpdu(island, found.end)
        or (found.startup.kind is StartupKind.REQUEST and may_be_rtr(island, found.end))
    )

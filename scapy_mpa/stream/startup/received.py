# SPDX-License-Identifier: GPL-2.0-or-later
"""What who sent a startup frame had received: its segment acknowledges it (RFC 5044 7.1.2 rule 3).

That is kept of frames that may be some, since many are judged only when more was captured; and so
is which of them were passed on, or are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scapy_mpa.stream.octets.scan import FoundStartup

__all__ = ["Received"]

_REMEMBERED: Final = 128
"""Of how many frames that may be some it is kept: the first ones, which may be judged only at the
end, and the last ones, more than may wait for their turn."""

_FIRST: Final = 32
"""How many of these are the first ones."""

_REFUSED: Final = 32
"""Of how many that are none it is kept."""

_TOLD: Final = 128
"""Of how many frames it is kept that they were passed on: more than may wait for their turn."""


class _Told:
    """A frame that was passed on.

    There is mostly one to a connection until its startup is over, where a tuple of tuples would be
    two objects, and such as are put aside (:class:`~scapy_mpa.stream.startup.steps.Origins`).

    :param before: the one that was passed on before it.
    """

    __slots__ = ("before", "direction", "position")

    def __init__(self, direction: int, position: int, before: _Told | None) -> None:
        self.direction = direction
        self.position = position
        self.before = before


class Received:
    """What the two sides had received, as long as a startup may not be over."""

    __slots__ = ("_frames", "_had", "_none", "_told", "rejected", "replied_to", "request")

    def __init__(self) -> None:
        self._frames: tuple[tuple[int, int], ...] = ()
        """Direction and position of each.  Of very many in turn each is looked for here."""
        self._had: tuple[int, ...] = ()
        """What had been received then by who sent it, as a sequence number."""
        self.replied_to: int | None = None
        """Sequence number of what the Responder had when it sent a Reply that was captured before
        its Request; None if that is not known."""
        self.request: FoundStartup | None = None
        """The last Request, if it may be another one than the Responder has answered."""
        self._told: _Told | None = None
        self._none: tuple[tuple[int, int], ...] = ()
        self.rejected: tuple[int, int] | None = None
        """By direction, where the startup frames end of a connection that was rejected, if FPDUs
        show that another startup followed."""

    def tell(self, direction: int, position: int) -> bool:
        """Keep that a frame is passed on; tell whether that is news."""
        if self._is_told(direction, position):
            return False
        self._told = _Told(direction, position, self._told)
        return True

    def _is_told(self, direction: int, position: int) -> bool:
        each = self._told
        while each is not None:
            if (each.direction, each.position) == (direction, position):
                return True
            each = each.before
        return False

    def forget(self) -> tuple[int, int]:
        """Forget that the oldest frame was passed on, if too many were.

        Return by direction where the oldest one begins that is left, 0 if none was forgotten: what
        lies before it must not be looked at again, or it would be passed on again.
        """
        oldest = [0, 0]
        before, each = None, self._told
        for _ in range(_TOLD):
            if each is None:
                return 0, 0
            oldest[each.direction] = each.position
            before, each = each, each.before
        if before is not None:
            before.before = None
        return (0, 0) if each is None else (oldest[0], oldest[1])

    def refuse(self, direction: int, position: int) -> None:
        """Keep that what seems to be a frame is none, where it stands."""
        if len(self._none) < _REFUSED:
            self._none = (*self._none, (direction, position))

    def is_unknown(self, direction: int, position: int) -> bool:
        """Tell whether what seems to be a frame was neither passed on, nor is none."""
        return (direction, position) not in self._none and not self._is_told(direction, position)

    def remember(self, direction: int, position: int, received: int) -> None:
        """Keep what had been received by who sent what may be a startup frame.

        What waits behind a hole is judged by it, up to 64 segments later: so it is kept of those
        that come last, however many were told before them.

        :param position: where that begins.
        :param received: as a sequence number; what was kept first of a frame stays.
        """
        frame = direction, position
        if frame in self._frames:
            return
        frames, had = self._frames, self._had
        if len(frames) == _REMEMBERED:
            frames = frames[:_FIRST] + frames[_FIRST + 1 :]
            had = had[:_FIRST] + had[_FIRST + 1 :]
        self._frames, self._had = (*frames, frame), (*had, received)

    def before(self, direction: int, position: int) -> int | None:
        """Return what was kept of a frame, None if nothing was."""
        frame = direction, position
        return self._had[self._frames.index(frame)] if frame in self._frames else None

    def is_acknowledged(self, direction: int, end: int) -> bool:
        """Tell whether a frame acknowledges all up to ``end`` of the other direction, no more.

        :param direction: of that frame.
        :param end: as a sequence number.
        """
        return any(
            by == direction and had == end
            for (by, _), had in zip(self._frames, self._had, strict=True)
        )

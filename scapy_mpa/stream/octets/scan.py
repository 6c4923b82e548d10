# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds startup frames in streaming mode octets (RFC 5044 7.1.2, 7.1.3).

A Request comes first, after octets of the ULP (delayed startup), or again after a rejection.  A Key
alone is no proof: a copy of an RFC, sent over TCP, contains it, too.  So only at the very beginning
of a direction may a frame have errors.  Elsewhere a receiver must be able to accept it.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from scapy_mpa.stream.limits import READ_AT_A_TIME
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.startup import (
    KEY_LENGTH,
    KEYS,
    KIND_OF_KEY,
    RTR_KEYS,
    STARTUP_HEADER_LENGTH,
    StartupFrame,
    StartupKind,
    parse_startup,
)

KEY_PREFIX: Final = b"MPA ID R"
LEAST_OF_KEY: Final = 12
"""Correct octets of the first 16 on a connection that show an intended Key."""


class FoundStartup(NamedTuple):
    """A startup frame in an island."""

    position: int
    octets: bytes
    """The captured octets of the frame."""
    startup: StartupFrame
    end: int
    """Position after its Private Data."""
    is_cut: bool
    """Whether the snap length cut off Private Data."""

    @property
    def lacking(self) -> int:
        """Octets of its Private Data that no captured segment carries."""
        return 0 if self.is_cut else self.end - self.position - len(self.octets)


def find_startups(
    island: Island, begin: int | None, *, final: bool = False
) -> Iterator[FoundStartup]:
    """Yield the startup frames at or after ``island.scan``, and move ``island.scan`` to each.

    The caller moves ``island.scan`` past each frame, or into it.

    :param begin: where the half connection begins, if that is known.
    :param final: the island will not grow: yield a frame even if it lacks Private Data.
    """
    is_done = False
    while not is_done:
        is_done = True
        for start, end in _pieces(island.to_scan()):
            # A frame may begin in this piece and end after it.
            octets = island.read(start, min(end + STARTUP_HEADER_LENGTH, island.end))
            at = octets.find(KEY_PREFIX)
            while 0 <= at < end - start:
                position = start + at
                if position + STARTUP_HEADER_LENGTH > island.end:
                    island.scan = position
                    return
                found = _found(island, position)
                if found is None or (position != begin and found.startup.problems()):
                    at = octets.find(KEY_PREFIX, at + 1)
                    continue
                island.scan = position
                if found.end > island.end and not final:
                    # Wait for its Private Data.
                    island.need = found.end
                    return
                yield found
                if not position < island.scan < end:
                    is_done = False
                    break
                at = octets.find(KEY_PREFIX, island.scan - start)
            if not is_done:
                # The caller has moved island.scan out of this piece.
                break
    island.scan = max(island.scan, island.end - len(KEY_PREFIX) + 1)
    island.scanned = None


def _pieces(stretches: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield stretches in pieces, so that a frame in the first piece costs little."""
    for start, end in stretches:
        for begin in range(start, end, READ_AT_A_TIME):
            yield begin, min(begin + READ_AT_A_TIME, end)


def _found(island: Island, position: int) -> FoundStartup | None:
    """Return the startup frame at a position, None if no whole header was captured there.

    Private Data may be incomplete.
    """
    header_end = position + STARTUP_HEADER_LENGTH
    if header_end > island.end:
        return None
    octets = island.read(position, header_end)
    if octets[:KEY_LENGTH] not in KIND_OF_KEY or not island.is_captured(position, header_end):
        return None
    startup = parse_startup(octets)
    frame_end = position + startup.length
    limit = min(frame_end, island.end)
    upto = island.captured_until(position, limit) if island.absent else limit
    if upto > header_end:
        octets = island.read(position, upto)
        startup = parse_startup(octets)
    return FoundStartup(position, octets, startup, frame_end, upto < limit)


def _found_if_held(island: Island, position: int) -> FoundStartup | None:
    """Return the startup frame at a position, None also if its octets were released.

    Released octets were FPDUs.
    """
    return _found(island, position) if island.holds(position) else None


def startup_at(island: Island, position: int) -> FoundStartup | None:
    """Return the startup frame at a position if it is whole and a receiver may accept it."""
    found = _found_if_held(island, position)
    if found is None or found.end > island.end or found.startup.problems():
        return None
    return found


def startup_reach(island: Island, position: int) -> int:
    """Return where a startup frame ends, or its header if the header is incomplete.

    Return 0 if no startup frame begins there, or if its octets were released.
    """
    end = min(position + STARTUP_HEADER_LENGTH, island.end)
    is_readable = island.holds(position) and island.is_captured(position, end)
    head = island.read(position, end) if is_readable else b""
    if not head or not any(key.startswith(head[:KEY_LENGTH]) for key in KIND_OF_KEY):
        return 0
    if len(head) < STARTUP_HEADER_LENGTH:
        return position + STARTUP_HEADER_LENGTH
    startup = parse_startup(head)
    return 0 if startup.problems() else position + startup.length


def has_key(island: Island, position: int, kind: StartupKind) -> bool:
    """True if the Key of a kind of startup frame is at a position."""
    end = position + KEY_LENGTH
    return island.holds(position, end) and island.read(position, end) == KEYS[kind]


def may_be_rtr(island: Island, position: int) -> bool:
    """True if the captured octets at a position are, or begin, the Key of an Rtr Frame."""
    end = min(position + KEY_LENGTH, island.end)
    head = island.read(position, island.captured_until(position, end))
    return any(key.startswith(head) for key in RTR_KEYS)


def rtr_at(island: Island, position: int, *, final: bool) -> FoundStartup | bool | None:
    """Return the Rtr Frame at a position, False if there is none, None if more octets are needed.

    :param final: the island will not grow: return a frame even if it lacks Private Data.
    """
    if not may_be_rtr(island, position):
        return False
    found = _found(island, position)
    return None if found is None or (found.end > island.end and not final) else found


def refused_at(island: Island, position: int, *, holds_fpdus: bool) -> list[str]:
    """Return the reasons why a receiver must not accept the startup frame at a position.

    Empty if it may accept the frame, or if no whole header is there.

    :param holds_fpdus: whether the octets after the header contain FPDUs.
    """
    found = _found_if_held(island, position)
    if found is None:
        return []
    startup = found.startup
    problems = startup.problems()
    if not problems and holds_fpdus and found.end > island.end:
        kind = startup.kind.value.capitalize()
        problems.append(
            f"PD_Length {startup.pd_length} of the {kind} claims FPDUs, and octets that never came "
            "(RFC 5044 7.1.2 rule 9)"
        )
    return problems


def undecided_from(island: Island) -> int:
    """Return where an incomplete startup frame may begin, else the end of the island.

    The position is at or after ``island.scan``.
    """
    begin = max(island.start, island.scan)
    octets = island.read(begin, island.end) if begin < island.end else b""
    at = octets.find(KEY_PREFIX)
    if at >= 0:
        return begin + at
    parts = range(len(KEY_PREFIX) - 1, 0, -1)
    part = next((length for length in parts if octets.endswith(KEY_PREFIX[:length])), 0)
    return island.end - part


def begins_like_key(octets: bytes) -> bool:
    """True if a Key may begin with these octets, even if they are few; False if there are none."""
    return bool(octets) and KEY_PREFIX.startswith(octets[: len(KEY_PREFIX)])


def almost_key(octets: bytes) -> bool:
    """True if 16 octets are not a Key but nearly one."""
    if octets in KIND_OF_KEY:
        return False
    return any(
        sum(got == right for got, right in zip(octets, key, strict=False)) >= LEAST_OF_KEY
        for key in KIND_OF_KEY
    )

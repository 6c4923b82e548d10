# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames in streaming mode octets (RFC 5044 7.1.2, 7.1.3).

A Request comes first, after octets of the ULP (delayed startup), or again after a rejection.  A Key
alone is no proof: it stands in the RFCs, which travel over TCP, too.  So after the very beginning
of a direction, the frame must be one that a receiver may accept.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from scapy_mpa.stream.limits import READ_AT_A_TIME, READ_FIRST
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
"""Octets that, right and first thing on a connection, show that a Key was meant."""


class FoundStartup(NamedTuple):
    """A startup frame in an island."""

    position: int
    octets: bytes
    """As far as they were captured."""
    startup: StartupFrame
    end: int
    """Position after its Private Data."""
    is_cut: bool
    """Whether the snap length cut off Private Data."""

    @property
    def lacking(self) -> int:
        """Octets of its Private Data that are in no segment that was captured."""
        return 0 if self.is_cut else self.end - self.position - len(self.octets)


def find_startups(
    island: Island, begin: int | None, *, final: bool = False
) -> Iterator[FoundStartup]:
    """Yield the startup frames at or after ``island.scan``, which moves along.

    Whoever takes them moves it on, past each of them or into it.

    :param begin: where the half connection begins, if that is known.
    :param final: nothing will be added to the island: a frame that lacks Private Data is
        yielded as it is.
    """
    is_done = False
    while not is_done:
        is_done = True
        for start, end in _pieces(island.to_scan()):
            # What begins before the end of a piece may end after it.
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
                    # Nothing can be said before its Private Data are there.
                    island.need = found.end
                    return
                yield found
                if not position < island.scan < end:
                    is_done = False
                    break
                at = octets.find(KEY_PREFIX, island.scan - start)
            if not is_done:
                # It goes on elsewhere.
                break
    island.scan = max(island.scan, island.end - len(KEY_PREFIX) + 1)
    island.scanned = None


def _pieces(stretches: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield stretches in pieces: whoever finds something in the first reads no others."""
    for start, end in stretches:
        size = READ_FIRST
        while start < end:
            yield start, min(start + size, end)
            start += size
            size = READ_AT_A_TIME


def _found(island: Island, position: int) -> FoundStartup | None:
    """Return the startup frame at a position, as far as it was captured; None if there is none
    whose header was."""
    header_end = position + STARTUP_HEADER_LENGTH
    if header_end > island.end:
        return None
    octets = island.read(position, header_end)
    if octets[:KEY_LENGTH] not in KIND_OF_KEY or not island.is_captured(position, header_end):
        return None
    startup = parse_startup(octets)
    frame_end = position + startup.length
    there = min(frame_end, island.end)
    upto = island.captured_until(position, there) if island.absent else there
    if upto > header_end:
        octets = island.read(position, upto)
        startup = parse_startup(octets)
    return FoundStartup(position, octets, startup, frame_end, upto < there)


def _held(island: Island, position: int) -> FoundStartup | None:
    """Return the same where octets may have been released: these were FPDUs."""
    return _found(island, position) if island.holds(position) else None


def startup_at(island: Island, position: int) -> FoundStartup | None:
    """Return the whole startup frame that a receiver may accept at a position."""
    found = _held(island, position)
    if found is None or found.end > island.end or found.startup.problems():
        return None
    return found


def startup_reach(island: Island, position: int) -> int:
    """Return up to where a startup frame reaches that begins at a position, as far as its first
    octets tell; 0 if none begins there, or if they were released."""
    end = min(position + STARTUP_HEADER_LENGTH, island.end)
    is_there = island.holds(position) and island.is_captured(position, end)
    head = island.read(position, end) if is_there else b""
    if not head or not any(key.startswith(head[:KEY_LENGTH]) for key in KIND_OF_KEY):
        return 0
    if len(head) < STARTUP_HEADER_LENGTH:
        return position + STARTUP_HEADER_LENGTH
    startup = parse_startup(head)
    return 0 if startup.problems() else position + startup.length


def has_key(island: Island, position: int, kind: StartupKind) -> bool:
    """Tell whether the Key of a kind of startup frame stands at a position."""
    end = position + KEY_LENGTH
    return island.holds(position, end) and island.read(position, end) == KEYS[kind]


def may_be_rtr(island: Island, position: int) -> bool:
    """Tell whether the Key of an Rtr Frame stands at a position, as far as it was captured."""
    end = min(position + KEY_LENGTH, island.end)
    head = island.read(position, island.captured_until(position, end))
    one, other = RTR_KEYS
    return one.startswith(head) or other.startswith(head)


def rtr_at(island: Island, position: int, *, final: bool) -> FoundStartup | bool | None:
    """Return the Rtr Frame at a position, False if there is none, None if more octets would tell.

    :param final: nothing will be added to the island: a frame that lacks Private Data is returned
        as it is.
    """
    if not may_be_rtr(island, position):
        return False
    found = _found(island, position)
    return None if found is None or (found.end > island.end and not final) else found


def refused_at(island: Island, position: int, *, holds_fpdus: bool) -> list[str]:
    """Say why a receiver must not accept the startup frame at a position; empty if it may, or if
    there is none whose header is whole.

    :param holds_fpdus: whether FPDUs are among the octets after the header.
    """
    found = _held(island, position)
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
    """Return from where on octets may be those of a startup frame that is not whole, else the end.

    Octets before ``island.scan`` are not.
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
    """Tell whether a Key may begin with octets, as far as they go; False if there are none."""
    return bool(octets) and KEY_PREFIX.startswith(octets[: len(KEY_PREFIX)])


def almost_key(octets: bytes) -> bool:
    """Tell whether 16 octets were meant to be a Key but are none."""
    if octets in KIND_OF_KEY:
        return False
    return any(
        sum(one == other for one, other in zip(octets, key, strict=False)) >= LEAST_OF_KEY
        for key in KIND_OF_KEY
    )

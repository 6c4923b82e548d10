# SPDX-License-Identifier: GPL-2.0-or-later
"""Values that a caller gives, held to what they may be.

Each is looked at where it is given.  Else the first code that uses it would report what is wrong,
in its own terms.
"""

from __future__ import annotations

from typing import Final, SupportsBytes, SupportsFloat, TypeGuard

from scapy_mpa.capture.write_pcapng import LATEST_SECOND
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted

LATEST: Final = LATEST_SECOND
"""Seconds since the epoch that timestamps of pcapng files can tell."""


def number(name: str, value: object, low: int, high: int, *, least: str = "") -> None:
    """Find out whether a value is a whole number within bounds.

    :param name: what it is called.
    :param least: what is said of ``low``.
    :raises LocalProtocolError: it is none.
    """
    # Nearly all are right, and every verb asks.
    if _is_whole(value) and low <= value <= high:
        return
    bounds = f"{least or low} to {high}"
    if not low <= whole(name, value, f"in {bounds}") <= high:
        raise LocalProtocolError(f"{name} {quoted(value)} is not in {bounds}")


def whole(name: str, value: object, wanted: str) -> int:
    """Return a value that is a whole number.

    :param name: what it is called.
    :param wanted: which numbers it may be.
    :raises LocalProtocolError: it is none.
    """
    if not _is_whole(value):
        raise LocalProtocolError(f"{name} {quoted(value)} is no whole number; give one {wanted}")
    return value


def _is_whole(value: object) -> TypeGuard[int]:
    """Tell whether a value is a whole number, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def share(name: str, value: object) -> None:
    """Find out whether a value is a share, 0 to 1.

    :param name: what it is called.
    :raises LocalProtocolError: it is none.
    """
    # Not a number is in no bounds.
    if not 0 <= _real(value) <= 1:
        raise LocalProtocolError(f"{name} is a share from 0 to 1, not {quoted(value)}")


def nanoseconds(name: str, value: object, most: int) -> int:
    """Return seconds as whole microseconds, which any capture file holds, in nanoseconds.

    :param name: what they are called.
    :param most: how many there may be.
    :raises LocalProtocolError: the value is no number of seconds from 0 on.
    """
    seconds = _real(value)
    if not 0 <= seconds <= most:
        raise LocalProtocolError(f"{name} is 0 to {most} seconds, not {quoted(value)}")
    return round(seconds * 1_000_000) * 1_000


def _real(value: object) -> float:
    """Return the number that a value is, not a number if it is none."""
    if isinstance(value, SupportsFloat):
        try:
            return float(value)
        except (ArithmeticError, TypeError, ValueError):
            # An integer that is too large, or a decimal number that signals.
            pass
    return float("nan")


def as_octets(name: str, value: object) -> bytes:
    """Return octets that are given as such, or as what becomes octets, such as a layer.

    :param name: what they are called.
    :raises LocalProtocolError: they are none.
    """
    if type(value) is bytes:
        return value
    # A number would become so many zeros.
    if isinstance(value, bytearray | memoryview | SupportsBytes):
        return bytes(value)
    raise LocalProtocolError(
        f"{name} {quoted(value)} is neither octets nor a layer; give bytes, such as b'hello'"
    )


def flag(name: str, value: object) -> bool:
    """Return a flag.

    :param name: what it is called.
    :raises LocalProtocolError: it is none.
    """
    if not isinstance(value, bool):
        raise LocalProtocolError(f"{name} {quoted(value)} is neither True nor False")
    return value


def pair(name: str, value: object) -> tuple[bool, bool]:
    """Return a flag of Initiator and Responder, which may be given for both at once.

    :param name: what it is called.
    :raises LocalProtocolError: it is neither a bool nor a tuple of two.
    """
    match value:
        case bool():
            return value, value
        case (bool() as initiator, bool() as responder) if isinstance(value, tuple):
            return initiator, responder
    raise LocalProtocolError(
        f"{name} {quoted(value)} is neither True nor False; give one of them, or a tuple of two: "
        "Initiator, Responder"
    )

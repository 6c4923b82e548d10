# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the values that a caller gives.

Each value is checked where it is given.  So the error names the argument, not the code that would
use it first.
"""

from __future__ import annotations

from typing import Final, SupportsBytes, SupportsFloat

from scapy_mpa.capture.write_pcapng import LATEST_SECOND
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted

LATEST: Final = LATEST_SECOND
"""The latest time that a pcapng file can hold, in seconds since the epoch."""


_WHOLES: Final = {
    "ulpdu": ("payload", "FPDU", "IFTFrame", "DDPSegmentChunk"),
    **dict.fromkeys(
        ("private_data", "reply_private_data", "rtr_private_data"),
        ("private_data", "MPARequest", "MPAReply", "MPARtr", "DDPStreamSessionControl"),
    ),
}
"""By the name of a value: the field of layers that it is, and the names of these layers."""


def number(name: str, value: int, low: int, high: int, *, least: str = "") -> None:
    """Check that a value is in the range from ``low`` to ``high``.

    :param name: the name of the value, for the error.
    :param least: how the error names ``low``.
    :raises LocalProtocolError: it is not.
    :raises TypeError: it is no whole number.
    """
    if not isinstance(value, int):
        raise TypeError(f"{name} is a whole number, not {quoted(value)}")
    if not low <= value <= high:
        raise LocalProtocolError(f"{name} {quoted(value)} is not in {least or low} to {high}")


def share(name: str, value: float) -> None:
    """Check that a value is a share, 0 to 1.

    :param name: the name of the value, for the error.
    :raises LocalProtocolError: it is not.
    :raises TypeError: it is no number.
    """
    _check(name, value, 1, "a share from 0 to 1")


def nanoseconds(name: str, seconds: float, most: int) -> int:
    """Return seconds in nanoseconds, rounded to microseconds, which any capture file can hold.

    :param name: the name of the value, for the error.
    :param most: the largest number of seconds.
    :raises LocalProtocolError: the value is not from 0 to ``most``.
    :raises TypeError: it is no number.
    """
    _check(name, seconds, most, f"0 to {most} seconds")
    return round(seconds * 1_000_000) * 1_000


def _check(name: str, value: float, most: int, wanted: str) -> None:
    """Check that a value is a number from 0 to ``most``."""
    text = f"{name} is {wanted}, not {quoted(value)}"
    if not isinstance(value, SupportsFloat):
        raise TypeError(text)
    # NaN fails every comparison.
    if not 0 <= value <= most:
        raise LocalProtocolError(text)


def as_octets(name: str, value: object) -> bytes:
    """Return a value as octets: octets, or an object that becomes octets, such as a layer.

    :param name: the name of the value, for the error.
    :raises LocalProtocolError: it cannot become octets, or it is a packet with a layer that the
        value is only a part of.
    """
    if type(value) is bytes:
        return value
    if hasattr(value, "haslayer"):
        part, *wholes = _WHOLES.get(name, ("",))
        for layer in filter(value.haslayer, wholes):
            raise LocalProtocolError(f"{name} is not a whole {layer}; give packet[{layer}].{part}")
    # bytes() would make n zeros of a number n.
    if isinstance(value, bytearray | memoryview | SupportsBytes):
        return bytes(value)
    raise LocalProtocolError(
        f"{name} {quoted(value)} is neither octets nor a layer; give bytes, such as b'hello'"
    )


def flag(name: str, value: object) -> bool:
    """Return a flag.

    :param name: the name of the value, for the error.
    :raises LocalProtocolError: it is no bool.
    """
    if not isinstance(value, bool):
        raise LocalProtocolError(f"{name} {quoted(value)} is neither True nor False")
    return value


def pair(name: str, value: object) -> tuple[bool, bool]:
    """Return a flag of Initiator and of Responder; one bool stands for both.

    :param name: the name of the value, for the error.
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

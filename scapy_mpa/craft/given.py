# SPDX-License-Identifier: GPL-2.0-or-later
"""Values that a caller gives, held to what they may be."""

from __future__ import annotations

from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted

__all__ = ["number", "pair"]


def number(name: str, value: object, low: int, high: int, *, least: str = "") -> None:
    """Find out whether a value is a whole number within bounds.

    :param name: what it is called.
    :param least: what is said of ``low``.
    :raises LocalProtocolError: it is none.
    """
    bounds = f"{least or low} to {high}"
    if not isinstance(value, int):
        raise LocalProtocolError(f"{name} {quoted(value)} is no whole number; give one in {bounds}")
    if not low <= value <= high:
        raise LocalProtocolError(f"{name} {quoted(value)} is not in {bounds}")


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

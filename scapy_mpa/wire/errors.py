# SPDX-License-Identifier: GPL-2.0-or-later
"""The family of exceptions that say what is wrong with what was given.

All derive from :class:`MPAError`.  So ``except MPAError`` is enough for a caller who only wants to
know that the input was at fault.  The two protocol errors say whose fault it was: what we were
asked for (:class:`LocalProtocolError`) or what a peer sent (:class:`RemoteProtocolError`).

Outside of it are ``OSError`` where a file cannot be read or written, ``ValueError`` of
:class:`~scapy_mpa.stream.limits.Limits`, ``TypeError`` where an argument is not of the kind that is
asked for, and what rooms raise and catch themselves.
"""

from __future__ import annotations

import enum
from typing import Final


class ErrorCode(enum.IntEnum):
    """What MPA tells its consumer went wrong (RFC 5044 section 8, RFC 6581 section 8)."""

    CONNECTION_LOST = 1
    CRC_MISMATCH = 2
    MARKER_MISMATCH = 3
    INVALID_STARTUP_FRAME = 4
    LOCAL_CATASTROPHIC = 5
    INSUFFICIENT_IRD = 6
    NO_MATCHING_RTR = 7

    @property
    def text(self) -> str:
        """The code with its name, such as ``MPA error 2, CRC``."""
        return f"MPA error {int(self)}, {_NAMES[self]}"


_NAMES: Final = {
    ErrorCode.CONNECTION_LOST: "connection lost",
    ErrorCode.CRC_MISMATCH: "CRC",
    ErrorCode.MARKER_MISMATCH: "Marker",
    ErrorCode.INVALID_STARTUP_FRAME: "startup frame",
    ErrorCode.LOCAL_CATASTROPHIC: "local catastrophic",
    ErrorCode.INSUFFICIENT_IRD: "insufficient IRD",
    ErrorCode.NO_MATCHING_RTR: "no matching RTR",
}


class MPAError(Exception):
    """Root of this family."""


class ProtocolError(MPAError):
    """A rule of the protocol is broken.

    :param text: what is wrong, in one line.
    :param code: the code RFC 5044 section 8 or RFC 6581 section 8 gives it, if any.
    """

    def __init__(self, text: str, code: ErrorCode | None = None) -> None:
        super().__init__(text)
        self.code = code


class LocalProtocolError(ProtocolError):
    """What we were asked for cannot be had.

    It cannot be expressed on the wire, or a conforming peer must not send it, or there is no such
    dialect, preset or connection.
    """


class RemoteProtocolError(ProtocolError):
    """What a peer sent cannot be understood."""


class CaptureError(MPAError):
    """A capture cannot be read, or not further: says which file, where and what to do."""


class CaptureNotFoundError(CaptureError, FileNotFoundError):
    """There is no file of this name."""

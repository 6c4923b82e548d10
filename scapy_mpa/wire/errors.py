# SPDX-License-Identifier: GPL-2.0-or-later
"""The exceptions for faults in the input.

All derive from :class:`MPAError`, so ``except MPAError`` catches every fault in the input.  The two
protocol errors show whose fault it is: the caller's (:class:`LocalProtocolError`) or the peer's
(:class:`RemoteProtocolError`).

Other exceptions are ``OSError`` if a file cannot be read or written, ``TypeError`` if an argument
is of a wrong kind, and ``ValueError`` of :class:`~scapy_mpa.stream.limits.Limits`.  Some rooms have
exceptions that they raise and catch themselves.
"""

from __future__ import annotations

import enum
from typing import Final


class ErrorCode(enum.IntEnum):
    """The errors that MPA reports to its consumer (RFC 5044 section 8, RFC 6581 section 8)."""

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
    """The base class of these exceptions."""


class ProtocolError(MPAError):
    """A rule of the protocol is broken; its text says in one line what is wrong."""


class LocalProtocolError(ProtocolError):
    """The caller asked for something impossible.

    It cannot be expressed on the wire, or a conforming peer must not send it, or there is no such
    dialect, preset or connection.
    """


class RemoteProtocolError(ProtocolError):
    """Octets of a peer cannot be parsed."""


class CaptureError(MPAError):
    """A capture cannot be read to its end; the text has the file, the place and advice."""


class CaptureNotFoundError(CaptureError, FileNotFoundError):
    """There is no file of this name."""

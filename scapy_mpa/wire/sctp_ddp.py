# SPDX-License-Identifier: GPL-2.0-or-later
"""The user messages of DDP over SCTP (RFC 5043 5.2, RFC 6581 7).

::

    DDP Segment Chunk (PPID 16)           DDP Stream Session Control (PPID 17)
    DDP-SSN      2 octets                 DDP-SSN          2 octets
    DDP segment                           Function Code    2 octets
                                          Private Data     up to 512 octets

The Private Data of the enhanced messages, function codes 5 to 7, begin with 4 octets of enhanced
data, as in MPA startup frames (RFC 6581 9).
"""

import enum
from struct import Struct
from typing import Final, NamedTuple

from scapy_mpa.wire.dialect import LARGEST_PD_LENGTH
from scapy_mpa.wire.fields import packed, unpacked
from scapy_mpa.wire.startup import ENHANCED_LENGTH, StartupFrame, StartupKind

SEGMENT_PPID: Final = 16
"""Payload Protocol Identifier of a DDP Segment Chunk (RFC 5043 5.2)."""
SESSION_CONTROL_PPID: Final = 17
"""Payload Protocol Identifier of a DDP Stream Session Control message (RFC 5043 5.2)."""

DDP_SSN_LENGTH: Final = 2
SESSION_CONTROL_LENGTH: Final = 4
"""Octets of a session control message before its Private Data."""
LARGEST_PRIVATE_DATA: Final = LARGEST_PD_LENGTH
"""Octets of Private Data, enhanced data included, as over MPA (RFC 5043 5.2.3, RFC 6581 7)."""

_SSN: Final = Struct(">H")
_CONTROL: Final = Struct(">HH")


class FunctionCode(enum.IntEnum):
    """The purpose of a session control message (RFC 5043 5.2.3, RFC 6581 7)."""

    INITIATE = 1
    ACCEPT = 2
    REJECT = 3
    TERMINATE = 4
    ENHANCED_INITIATE = 5
    ENHANCED_ACCEPT = 6
    ENHANCED_REJECT = 7


FUNCTION_NAMES: Final[dict[int, str]] = {
    code: code.name.replace("_", " ").title() for code in FunctionCode
}
"""The names, without "DDP Stream Session", with which all of them begin."""

ENHANCED_FUNCTIONS: Final = (
    FunctionCode.ENHANCED_INITIATE,
    FunctionCode.ENHANCED_ACCEPT,
    FunctionCode.ENHANCED_REJECT,
)
"""A tuple, since Scapy compares unhashable values with them: of ``fuzz()``, lists of values."""


INITIATES: Final = frozenset({FunctionCode.INITIATE, FunctionCode.ENHANCED_INITIATE})
ACCEPTS: Final = frozenset({FunctionCode.ACCEPT, FunctionCode.ENHANCED_ACCEPT})
REJECTS: Final = frozenset({FunctionCode.REJECT, FunctionCode.ENHANCED_REJECT})
ANSWERS: Final = ACCEPTS | REJECTS


def function_name(code: int) -> str:
    """Return the name of a function code, such as ``Enhanced Accept``."""
    return FUNCTION_NAMES.get(code) or f"function code {code}"


class SessionControl(NamedTuple):
    """One DDP Stream Session Control message (RFC 5043 5.2.3)."""

    ddp_ssn: int
    """DDP-SSN, 16 bits."""
    function_code: int
    """16 bits."""
    data: bytes = b""
    """The captured octets of the whole Private Data field, enhanced data included."""

    @property
    def function(self) -> str:
        """The name of the function code."""
        return function_name(self.function_code)

    @property
    def enhanced(self) -> bool:
        """Whether enhanced data are present (RFC 6581 7, 9)."""
        return self.function_code in ENHANCED_FUNCTIONS and len(self.data) >= ENHANCED_LENGTH

    @property
    def startup(self) -> StartupFrame:
        """The equivalent MPA startup frame (RFC 6581 7), with its enhanced data."""
        enhanced = self.enhanced
        kind = StartupKind.REPLY if self.function_code in ANSWERS else StartupKind.REQUEST
        rejected = self.function_code in REJECTS
        revision = 2 if enhanced else 1
        return StartupFrame(kind, False, False, rejected, enhanced, 0, revision, 0, self.data)


def parse_session_control(octets: bytes) -> SessionControl:
    """Read a session control message (RFC 5043 5.2.3).

    :raises RemoteProtocolError: fewer than 4 octets.
    """
    ddp_ssn, function_code = unpacked(_CONTROL, "a session control message", octets)
    return SessionControl(ddp_ssn, function_code, bytes(octets[SESSION_CONTROL_LENGTH:]))


def build_session_control(control: SessionControl) -> bytes:
    """Return the octets of a session control message, right or wrong (RFC 5043 5.2.3).

    :raises LocalProtocolError: a number does not fit its 16 bits.
    """
    fields = {"ddp_ssn": control.ddp_ssn, "function_code": control.function_code}
    return packed(_CONTROL, "RFC 5043 5.2.3", **fields) + control.data


def parse_segment(octets: bytes) -> tuple[int, bytes]:
    """Return the DDP-SSN and the DDP segment of a DDP Segment Chunk (RFC 5043 5.2.2).

    :raises RemoteProtocolError: fewer than 2 octets.
    """
    (ddp_ssn,) = unpacked(_SSN, "a DDP Segment Chunk", octets)
    return ddp_ssn, bytes(octets[DDP_SSN_LENGTH:])


def build_segment(ddp_ssn: int, segment: bytes) -> bytes:
    """Return the user data of a DDP Segment Chunk (RFC 5043 5.2.2).

    :param ddp_ssn: 16 bits.
    :param segment: DDP header and payload, or anything else.
    :raises LocalProtocolError: the DDP-SSN does not fit its 16 bits.
    """
    return packed(_SSN, "RFC 5043 5.2.1", ddp_ssn=ddp_ssn) + segment

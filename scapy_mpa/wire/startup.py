# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames: MPA Request and Reply (RFC 5044 7.1.1), enhanced data (RFC 6581 9), Rtr Frame.

::

    Key                16 octets
    M C R S Res         1 octet, from the most significant bit: 1, 1, 1, 1 and 4 bits
    Rev                 1 octet
    PD_Length           2 octets
    Private Data        PD_Length octets

With revision 129, Alibaba's erdma, an extension of 8 octets precedes Private Data; PD_Length does
not count it.

With revision 2 and S set, the Private Data begin with 4 octets of enhanced data: control
flags A and B, 14 bits of IRD, control flags C and D, 14 bits of ORD (RFC 6581 9).

The Rtr frame proposal of 2007 has a third frame, which the Initiator sends after the Reply if S is
set in Request and Reply.  The text of the proposal and its octets spell the Key differently.
"""

import enum
from operator import index
from struct import Struct
from typing import Final, NamedTuple, SupportsIndex

from scapy_mpa.wire.control_flags import meaning_of
from scapy_mpa.wire.dialect import BY_REVISION, Dialect, extension_length, largest_pd_length
from scapy_mpa.wire.errors import LocalProtocolError, RemoteProtocolError
from scapy_mpa.wire.fields import packed, unpacked
from scapy_mpa.wire.shown import quoted


class StartupKind(str, enum.Enum):
    """The kind of a startup frame."""

    REQUEST = "request"
    REPLY = "reply"
    RTR = "rtr"
    """Only in the Rtr frame proposal of 2007."""


KEYS: Final[dict[StartupKind, bytes]] = {
    StartupKind.REQUEST: b"MPA ID Req Frame",
    StartupKind.REPLY: b"MPA ID Rep Frame",
    StartupKind.RTR: b"MPA ID Rtr Frame",
}
"""The Key of each kind, when built."""
RTR_KEYS: Final = (KEYS[StartupKind.RTR], b"MPA ID RtR Frame")
"""Both spellings of the Rtr Frame's Key: in the proposal's text, and in its octets."""
KIND_OF_KEY: Final[dict[bytes, StartupKind]] = {
    **{key: kind for kind, key in KEYS.items()},
    **dict.fromkeys(RTR_KEYS, StartupKind.RTR),
}
"""The kind of each Key that is recognised."""

KEY_LENGTH: Final = 16
STARTUP_HEADER_LENGTH: Final = 20
ENHANCED_LENGTH: Final = 4

_HEADER: Final = Struct(">16sBBH")
_ENHANCED: Final = Struct(">HH")
_M, _C, _R, _S, _RES = 0x80, 0x40, 0x20, 0x10, 0x0F
_DEPTH: Final = 0x3FFF
_CONTROL_FLAGS: Final = {"A": (0, 0x8000), "B": (0, 0x4000), "C": (1, 0x8000), "D": (1, 0x4000)}
"""By letter: index of the word, and bit."""
_PROPOSAL: Final = "rtr-frame-proposal-2007"


class StartupFrame(NamedTuple):
    """One startup frame as it was sent."""

    kind: StartupKind
    markers: bool
    """M: the sender wants Markers in what it *receives* (RFC 5044 7.1.1)."""
    crc: bool
    """C: the sender wants CRCs in both directions."""
    rejected: bool
    """R: in a Reply, the connection is rejected."""
    s_bit: bool
    """S: reserved in RFC 5044.  With revision 2, Private Data begin with enhanced data (RFC 6581
    6).  In the proposal of 2007, a Request with S announces an Rtr Frame, and a Reply with S asks
    for one."""
    reserved: int
    """The four reserved bits."""
    revision: int
    """Rev, 0 to 255."""
    pd_length: int
    """PD_Length, in octets, enhanced data included."""
    data: bytes
    """The whole Private Data field, enhanced data included."""
    extension: bytes = b""
    """8 octets before Private Data in frames of revision 129; ``pd_length`` does not count them."""

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of the frame; None if it is not known.

        S in a Request or Reply of revision 1 proves nothing: Linux siw echoes it in its Reply
        without a meaning.  Only the Rtr Frame itself shows the proposal of 2007.
        """
        if self.kind is StartupKind.RTR:
            return Dialect.RTR_PROPOSAL_2007
        return BY_REVISION.get(self.revision)

    @property
    def length(self) -> int:
        """Octets of the frame on the wire."""
        return STARTUP_HEADER_LENGTH + extension_length(self.revision) + self.pd_length

    @property
    def rejects(self) -> bool:
        """Whether it is a Reply with R; in a Request R is not checked (RFC 5044 7.1.1)."""
        return self.rejected and self.kind is StartupKind.REPLY

    @property
    def enhanced(self) -> bool:
        """Whether enhanced data are present, and captured (RFC 6581 6 and 9)."""
        return self.revision == 2 and self.s_bit and len(self.data) >= ENHANCED_LENGTH

    @property
    def lacks_enhanced(self) -> bool:
        """Whether enhanced data are present, and were not captured."""
        return (
            self.revision == 2 and self.s_bit and len(self.data) < ENHANCED_LENGTH <= self.pd_length
        )

    @property
    def private_data(self) -> bytes:
        """The octets of the ULP: the Private Data field after any enhanced data."""
        return self.data[ENHANCED_LENGTH:] if self.enhanced else self.data

    @property
    def ird(self) -> int | None:
        """Inbound RDMA Read Queue Depth, 0 to 0x3FFF, or None without enhanced data."""
        return self._words[0] & _DEPTH if self.enhanced else None

    @property
    def ord(self) -> int | None:
        """Outbound RDMA Read Queue Depth, 0 to 0x3FFF, or None without enhanced data."""
        return self._words[1] & _DEPTH if self.enhanced else None

    @property
    def control_flags(self) -> str | None:
        """The letters of the control flags that are set, such as ``"ACD"`` (RFC 6581 9.2)."""
        if not self.enhanced:
            return None
        words = self._words
        return "".join(letter for letter, (at, bit) in _CONTROL_FLAGS.items() if words[at] & bit)

    @property
    def _words(self) -> tuple[int, ...]:
        return _ENHANCED.unpack_from(self.data)

    def problems(self, dialect: Dialect | None = None) -> list[str]:
        """Return why a receiver must not accept this frame; empty if it may (RFC 5044 7.1.2).

        :param dialect: which of the dialects with enhanced data it has; None: that of RFC 6581.
        """
        found = []
        largest = largest_pd_length(self.revision)
        if self.pd_length > largest:
            found.append(
                f"PD_Length {self.pd_length} exceeds {largest} (RFC 5044 7.1.1, 7.1.2 rule 9)"
            )
        if self.kind is StartupKind.RTR:
            if self.revision != 1:
                found.append(f"revision {self.revision} of an Rtr Frame is not 1 ({_PROPOSAL} 1)")
            return found
        if self.revision > 2 and self.dialect is Dialect.ERDMA:
            found += [
                f"{name} is set, which erdma does not accept (erdma startup)"
                for name, is_set in (("M", self.markers), ("C", self.crc))
                if is_set
            ]
        elif self.revision > 2:
            found.append(f"revision {self.revision} is not one of 0, 1, 2 (RFC 5044 7.1.1)")
        if self.revision == 2 and self.s_bit and self.pd_length < ENHANCED_LENGTH:
            found.append(
                f"S is set but PD_Length {self.pd_length} leaves no room for 4 octets "
                f"({meaning_of(dialect).document} 6)"
            )
        return found


def parse_startup(octets: bytes) -> StartupFrame:
    """Read a startup frame from the beginning of ``octets`` (RFC 5044 7.1.1).

    If there are fewer octets than PD_Length says, ``data`` or ``extension`` is shorter.

    :raises RemoteProtocolError: fewer than 20 octets, or no Key.
    """
    key, flags, revision, pd_length = unpacked(_HEADER, "a startup frame", octets)
    if key not in KIND_OF_KEY:
        raise RemoteProtocolError("no startup frame: the Key is that of none")
    kind = KIND_OF_KEY[key]
    begin = STARTUP_HEADER_LENGTH + extension_length(revision)
    return StartupFrame(
        kind=kind,
        markers=bool(flags & _M),
        crc=bool(flags & _C),
        rejected=bool(flags & _R),
        s_bit=bool(flags & _S),
        reserved=flags & _RES,
        revision=revision,
        pd_length=pd_length,
        data=bytes(octets[begin : begin + pd_length]),
        extension=bytes(octets[STARTUP_HEADER_LENGTH:begin]),
    )


def build_startup(startup: StartupFrame, *, key: bytes | None = None) -> bytes:
    """Return the octets of a startup frame, right or wrong (RFC 5044 7.1.1).

    :param startup: is written unchanged, PD_Length and extension too.
    :param key: overrides the Key of its kind.
    :raises LocalProtocolError: a number does not fit its field, or ``key`` has not 16 octets.
    """
    if key is None:
        key = KEYS[startup.kind]
    if len(key) != KEY_LENGTH:
        raise LocalProtocolError(f"a Key has {KEY_LENGTH} octets, {len(key)} are given")
    if not 0 <= startup.reserved <= _RES:
        raise LocalProtocolError(f"reserved bits {startup.reserved} do not fit their 4 bits")
    flags = startup.reserved
    for is_set, bit in zip(startup[1:5], (_M, _C, _R, _S), strict=True):
        flags |= bit if is_set else 0
    numbers = {"flags": flags, "revision": startup.revision, "pd_length": startup.pd_length}
    header = packed(_HEADER, "RFC 5044 7.1.1", key=key, **numbers)
    return header + startup.extension + startup.data


def build_enhanced(control_flags: str, ird: int, ord: int) -> bytes:
    """Return the 4 octets of enhanced data (RFC 6581 9).

    :param control_flags: letters out of ``ABCD``.
    :param ird: 0 to 0x3FFF.
    :param ord: 0 to 0x3FFF.
    :raises LocalProtocolError: a number does not fit its 14 bits, or a letter is no flag's.
    :raises TypeError: IRD or ORD is no whole number.
    """
    if not (isinstance(ird, SupportsIndex) and isinstance(ord, SupportsIndex)):
        raise TypeError(f"IRD and ORD are whole numbers, not {quoted(ird)} and {quoted(ord)}")
    if not (0 <= ird <= _DEPTH and 0 <= ord <= _DEPTH) or set(control_flags) - {*_CONTROL_FLAGS}:
        raise LocalProtocolError(
            f"control flags {quoted(control_flags)}, IRD {quoted(ird)}, ORD {quoted(ord)}: letters "
            "out of ABCD and numbers up to 0x3FFF are wanted (RFC 6581 9)"
        )
    words = [ird, ord]
    for letter in control_flags:
        at, bit = _CONTROL_FLAGS[letter]
        words[at] |= bit
    return _ENHANCED.pack(*map(index, words))

# SPDX-License-Identifier: GPL-2.0-or-later
"""The meanings of the four control flags of enhanced data, which differ in two documents.

RFC 6581 9 moved the flags of draft-ietf-storm-mpa-peer-connect-01 8 by one, and nothing on the wire
shows which document a peer follows:

====  =======================  =====================
flag  RFC 6581                 the draft
====  =======================  =====================
A     peer-to-peer connection  RTR by zero-length Send
B     RTR by zero-length Send  RTR by zero-length Write
C     RTR by zero-length Write RTR by zero-length Read
D     RTR by zero-length Read  reserved
====  =======================  =====================
"""

import enum
from typing import Final, NamedTuple

from scapy_mpa.wire.dialect import Dialect


class RTR(str, enum.Enum):
    """The zero-length message that is a Ready to Receive indication (RFC 6581 9.2)."""

    SEND = "send"
    WRITE = "write"
    READ = "read"


class Meaning(NamedTuple):
    """The meaning of the control flags in one document."""

    peer_to_peer: str | None
    """The letter of the flag for peer-to-peer; None: the document has no such flag."""
    rtr: dict[str, RTR]
    """The RTR indication that each letter means."""
    document: str
    section: str
    """The section that gives the flags their meaning."""

    @property
    def clause(self) -> str:
        """The document and the section."""
        return f"{self.document} {self.section}"

    def options(self, control_flags: str) -> tuple[RTR, ...]:
        """Return the RTR indications that flags mean, always in the same order."""
        return tuple(kind for letter, kind in self.rtr.items() if letter in control_flags)

    def is_peer_to_peer(self, control_flags: str) -> bool:
        """Return whether the flag for peer-to-peer is among these."""
        return self.peer_to_peer is not None and self.peer_to_peer in control_flags

    def fault(self, control_flags: str, frame: str) -> str | None:
        """Return what is wrong with flags by themselves, None if nothing is.

        :param frame: the name of the message that they are in.
        """
        if self.peer_to_peer is None:
            is_reserved = set(control_flags) - {*self.rtr}
            return f"control flag D of the {frame} is reserved" if is_reserved else None
        if not control_flags or self.peer_to_peer in control_flags:
            return None
        return f"control flags {control_flags} of the {frame} are set, and A is not"

    def words(self, control_flags: str) -> list[str]:
        """Return the meaning of each flag, such as ``["peer-to-peer", "RTR by Write"]``."""
        words = []
        for letter in control_flags:
            if letter in self.rtr:
                words.append(f"RTR by {self.rtr[letter].value.capitalize()}")
            else:
                words.append("peer-to-peer" if letter == self.peer_to_peer else "reserved")
        return words


_RFC6581: Final = Meaning("A", {"B": RTR.SEND, "C": RTR.WRITE, "D": RTR.READ}, "RFC 6581", "9.2")
_DRAFT: Final = Meaning(
    None, {"A": RTR.SEND, "B": RTR.WRITE, "C": RTR.READ}, Dialect.DRAFT_PEER_CONNECT_01.value, "8"
)


def meaning_of(dialect: Dialect | None) -> Meaning:
    """Return the meaning of the flags in a dialect: that of RFC 6581, unless it is the draft."""
    return _DRAFT if dialect is Dialect.DRAFT_PEER_CONNECT_01 else _RFC6581


def rtr_flags(dialect: Dialect | None, *options: RTR) -> str:
    """Return the letters that ask for RTR indications; in RFC 6581 also that of peer-to-peer."""
    meaning = meaning_of(dialect)
    letters = [letter for letter, kind in meaning.rtr.items() if kind in options]
    return (meaning.peer_to_peer or "") + "".join(letters)

# SPDX-License-Identifier: GPL-2.0-or-later
"""Why a frame is not followed, in the words that are counted and shown."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ENCRYPTED",
    "FRAGMENT",
    "LINK_HEADER",
    "NOT_IP",
    "NOT_TCP",
    "TOO_MANY_HEADERS",
    "NotFollowedError",
    "demand",
]

NOT_IP: Final = "not IP"
NOT_TCP: Final = "not TCP"
FRAGMENT: Final = "IP fragment"
ENCRYPTED: Final = "encrypted (ESP)"
TOO_MANY_HEADERS: Final = "too many extension headers"

LINK_HEADER: Final = "link header"


class NotFollowedError(Exception):
    """A frame has no TCP segment that could be followed. Raised and caught inside this room.

    :param reason: a few words, the same for all frames of a kind.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def demand(octets: bytes, upto: int, end: int, header: str) -> None:
    """Check that the octets before ``upto``, those of a header, are there.

    :param octets: what was captured of the frame.
    :param end: octets that were there on the wire.
    :param header: its name.
    :raises NotFollowedError: the capture cut the header, or it never was whole: "damaged".
    """
    if upto > end:
        raise NotFollowedError(f"{header} damaged")
    if upto > len(octets):
        raise NotFollowedError(f"{header} cut")

# SPDX-License-Identifier: GPL-2.0-or-later
"""Why a frame is not followed, in the words that are counted and shown."""

from __future__ import annotations

from typing import Final

NOT_IP: Final = "not IP"
NOT_TCP: Final = "not TCP"
ENCRYPTED: Final = "encrypted ({})"
TOO_MANY_HEADERS: Final = "too many headers"
LINK_TYPE: Final = "link type {}"


class NotFollowedError(Exception):
    """A frame has no TCP segment that could be followed. Raised and caught inside this room.

    :param reason: a few words, the same for all frames of a kind.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    @property
    def is_unknown(self) -> bool:
        """Whether there is a header that nobody here can read."""
        return self.reason in (NOT_IP, NOT_TCP) or self.reason.startswith(LINK_TYPE.format(""))

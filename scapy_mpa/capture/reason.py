# SPDX-License-Identifier: GPL-2.0-or-later
"""The reasons why a frame is not followed, as they are counted and shown."""

from __future__ import annotations

from typing import Final

NOT_IP: Final = "not IP"
NOT_TCP: Final = "not TCP"
ENCRYPTED: Final = "encrypted ({})"
TOO_MANY_HEADERS: Final = "too many headers"
LINK_TYPE: Final = "link type {}"


class NotFollowedError(Exception):
    """A frame has no TCP segment that can be followed. Raised and caught inside this room.

    Its text is the reason: a few words, the same for all frames of a kind.
    """

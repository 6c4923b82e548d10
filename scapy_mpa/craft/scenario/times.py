# SPDX-License-Identifier: GPL-2.0-or-later
"""When a scenario is later than a capture file can tell."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from scapy_mpa.capture.write_pcap import LATEST_SECOND
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.scenario.values import MOST_PIECES
from scapy_mpa.craft.script import PauseItem
from scapy_mpa.stream.segment import SECOND

__all__ = ["too_late"]

_LATEST_NS: Final = (LATEST_SECOND + 1) * SECOND - 1

_MOST_SEGMENTS: Final = 4 * MOST_PIECES
"""Of any scenario: a few beside each piece of payload, which acknowledge it, open or close."""


def too_late(conversation: Conversation, ends: Sequence[tuple[int, int]]) -> int | None:
    """Return the line after which a conversation is later than a pcap file can tell; None: it
    never is.

    :param ends: of each line with a step, its number, and how long the script is after it.
    """
    options = conversation.options
    script = conversation.script
    paused = sum(item.nanoseconds for item in script if isinstance(item, PauseItem))
    between = max(options.spacing_ns, options.rtt_ns)
    if options.start_ns + paused + _MOST_SEGMENTS * between <= _LATEST_NS:
        # So it is for nearly all, and segments need not be made to know it.
        return None

    def is_late(end: tuple[int, int]) -> bool:
        segments = conversation.with_script(script[: end[1]]).segments()
        return bool(segments) and segments[-1].time_ns > _LATEST_NS

    at = bisect_left(ends, True, key=is_late) if is_late(ends[-1]) else None
    return None if at is None else ends[at][0]

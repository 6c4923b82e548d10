# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of a direction once nothing more will come."""

from __future__ import annotations

from scapy_mpa.stream.events import GapReason
from scapy_mpa.stream.halves import holes
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.streaming import streaming_of

__all__ = ["finish"]


def finish(half: HalfConnection, reason: GapReason) -> None:
    """Take it that nothing more will come: report what can be said now."""
    streaming = streaming_of(half)
    if streaming is not None:
        streaming.look_no_more()
    acks = half.counters.acks
    if acks is not None:
        for hole in acks.behind:
            half.report_gap(*hole, reason)
        acks.behind = []
    end = half.islands.front
    while items := half.islands.items:
        end = items[-1].end
        holes.give_up(half, reason)
    if end is not None:
        _report_missing(half, end, reason)
    half.budget.update(half)


def _report_missing(half: HalfConnection, end: int, reason: GapReason) -> None:
    """Report what the peer or the FIN says was sent behind the last octets.

    :param end: where these end.
    """
    upto = half.fin
    acknowledged = max(half.acknowledged or 0, half.counters.acknowledged_early(end))
    # One octet more than was captured is the acknowledgement of a FIN that was not.
    if upto is None and acknowledged > end + 1:
        upto = acknowledged
    if upto is not None:
        half.report_gap(end, upto, reason)

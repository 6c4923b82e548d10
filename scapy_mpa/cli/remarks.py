# SPDX-License-Identifier: GPL-2.0-or-later
"""Remarks on a capture: frames that were not followed, and results that a limit dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from scapy_mpa.capture.reason import LINK_TYPE, NOT_TCP
from scapy_mpa.wire.shown import counted

if TYPE_CHECKING:
    from scapy_mpa.capture.followed import Followed

_MOST_NAMED: Final = 8
"""Reasons to name in one line, at most.  A hostile file may have any number of link types."""


def remarks(followed: Followed, gaps: int, ended: int) -> Iterator[str]:
    """Yield remarks, with advice.

    :param followed: what was followed of the capture.
    :param gaps: number of gaps because of a limit.
    :param ended: number of connections that ended because of a limit.
    """
    not_followed, unsearched = followed.not_followed, followed.flows.shared.purse.unsearched
    if followed.has_nothing:
        yield nothing_followed(not_followed)
    elif not_followed:
        number = counted(not_followed.total(), "frame")
        yield f"{number} not followed: {_reasons(not_followed)}"
    dropped = [counted(gaps, "gap")] if gaps else []
    if ended:
        dropped.append(f"{counted(ended, 'connection')} ended")
    if dropped:
        yield (
            f"{' and '.join(dropped)} because of a limit; it can be raised by --limit-half, "
            "--limit-total or --limit-connections"
        )
    if unsearched:
        were = (
            "was not searched to its end" if unsearched == 1 else "were not searched to their end"
        )
        yield f"{counted(unsearched, 'direction')} {were} for FPDUs: too many octets look like them"


def nothing_followed(counts: Counter[str]) -> str:
    """Return a text: why no frame of a capture could be followed, and what to do."""
    advice = "capture where TCP can be seen, with whole headers"
    if all(reason.startswith(LINK_TYPE.format("")) for reason in counts):
        advice = "if you know what it is, name it with --link-type N=LINK; or capture on Ethernet"
    elif NOT_TCP in counts:
        advice += ", or name the UDP port of VXLAN with --vxlan-port N"
    number = counted(counts.total(), "frame")
    return f"nothing can be followed in {number}: {_reasons(counts)}; {advice}"


def _reasons(counts: Counter[str]) -> str:
    named = counts.most_common(_MOST_NAMED)
    reasons = ", ".join(f"{count} {reason}" for reason, count in named)
    if len(counts) > len(named):
        others = counts.total() - sum(count for _, count in named)
        reasons += f", {others} for {len(counts) - len(named)} other reasons"
    return reasons

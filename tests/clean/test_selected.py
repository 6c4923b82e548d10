# SPDX-License-Identifier: GPL-2.0-or-later
"""Only selected connections are cleaned; all other frames are left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scapy_mpa.capture import Frame
from scapy_mpa.clean import Cleaner
from scapy_mpa.stream.events import ConnectionId
from tests.captures import PCAPS
from tests.clean.cleaning import clean, frames_of, renumbered
from tests.dialects.test_sctp_associations import words
from tests.truth import pcapfile

OVER_TCP = frames_of(PCAPS / "rping_mpa2_crcon.pcap")
OVER_SCTP = frames_of(PCAPS / "crafted" / "sctp_enhanced.pcap")
NO_DDP = frames_of(pcapfile.pcap(words(16, b"no DDP", b"no DDP")))


def selected(
    frames: list[Frame], selects: Callable[[ConnectionId], bool], **options: Any
) -> tuple[list[Frame], Cleaner]:
    """The frames that are written for the selected connections, and the cleaner."""
    cleaner = Cleaner(selects=selects, **options)
    written = [each for frame in frames for each in cleaner.receive(frame)] + cleaner.finish()
    assert not cleaner._orders and not cleaner._queue.held
    return renumbered(each.frame for each in written), cleaner


@pytest.mark.parametrize(
    ("over_sctp", "dialect"), [(OVER_SCTP, None), (OVER_SCTP, "rfc5043"), (NO_DDP, "rfc5043")]
)
def test_numbers_are_those_of_a_listing(over_sctp: list[Frame], dialect: str | None) -> None:
    """Connections over SCTP have numbers, too, but are left out."""
    frames = renumbered([*over_sctp, *OVER_TCP])
    found, cleaner = selected(frames, lambda identity: identity.number == 1, dialect=dialect)
    assert found == clean(OVER_TCP).frames
    assert cleaner.connections == 2
    assert cleaner.report.not_selected == len(over_sctp)
    assert f"{len(over_sctp)} frames left out: not selected" in cleaner.report.lines()
    found, cleaner = selected(frames, lambda identity: identity.number == 0, dialect=dialect)
    assert found == []
    assert "no MPA found in selected frames, 0 frames copied unchanged" in cleaner.report.lines()

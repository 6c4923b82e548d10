# SPDX-License-Identifier: GPL-2.0-or-later
"""Only selected connections are cleaned; all other frames are left out."""

from __future__ import annotations

import pytest

from scapy_mpa.capture import Frame
from tests.captures import PCAPS
from tests.clean.cleaning import clean, frames_of, renumbered
from tests.dialects.test_sctp_associations import words
from tests.truth import pcapfile

OVER_TCP = frames_of(PCAPS / "rping_mpa2_crcon.pcap")
OVER_SCTP = frames_of(PCAPS / "crafted" / "sctp_enhanced.pcap")
NO_DDP = frames_of(pcapfile.pcap(words(16, b"no DDP", b"no DDP")))


@pytest.mark.parametrize(
    ("over_sctp", "dialect"), [(OVER_SCTP, None), (OVER_SCTP, "rfc5043"), (NO_DDP, "rfc5043")]
)
def test_numbers_are_those_of_a_listing(over_sctp: list[Frame], dialect: str | None) -> None:
    """Connections over SCTP have numbers, too, but are left out."""
    frames = renumbered([*over_sctp, *OVER_TCP])
    cleaned = clean(frames, dialect=dialect, selects=lambda identity: identity.number == 1)
    assert cleaned.frames == clean(OVER_TCP).frames
    assert f"{len(over_sctp)} frames left out: not selected" in cleaned.report.lines()
    cleaned = clean(frames, dialect=dialect, selects=lambda identity: identity.number == 0)
    assert cleaned.frames == []
    assert "no MPA found in selected frames, 0 frames copied unchanged" in cleaned.report.lines()

# SPDX-License-Identifier: GPL-2.0-or-later
"""What is not iWARP is copied frame by frame, as it is, whatever its octets look like."""

from __future__ import annotations

import pytest

from tests.clean.cleaning import clean, frames_of, renumbered
from tests.recovery.test_other_traffic import table_capture
from tests.truth.othertables import TABLES


@pytest.mark.parametrize("situation", ["SYN", "anywhere, with holes"])
@pytest.mark.parametrize("kind", [each for each in TABLES if "tags" in each or "OpenFlow" in each])
def test_tables_are_copied(kind: str, situation: str) -> None:
    """Each frame, in its place, without a comment."""
    frames = frames_of(table_capture(kind, situation, 0))
    cleaned = clean(frames)
    assert cleaned.frames == renumbered(frames)
    assert cleaned.comments == []

# SPDX-License-Identifier: GPL-2.0-or-later
"""When frames were captured: asked for later, and kept for a while only."""

from __future__ import annotations

from scapy_mpa.stream.octets.moments import KEPT_MOMENTS, Moments


def test_a_frame_that_was_noted() -> None:
    """Its time, and none for a frame that was not noted."""
    moments = Moments()
    for frame in (3, 5, 9):
        moments.note(frame, 1000 * frame)
    assert [moments.time_of(frame) for frame in (2, 3, 4, 5, 9, 10)] == [
        None,
        3000,
        None,
        5000,
        9000,
        None,
    ]


def test_the_last_frames_are_kept() -> None:
    """As many as it says at least, and never twice as many."""
    moments = Moments()
    for frame in range(1, 5 * KEPT_MOMENTS):
        moments.note(frame, -frame)
        assert moments.time_of(max(1, frame - KEPT_MOMENTS + 1)) is not None
        assert frame <= 2 * KEPT_MOMENTS or moments.time_of(frame - 2 * KEPT_MOMENTS) is None

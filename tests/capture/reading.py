# SPDX-License-Identifier: GPL-2.0-or-later
"""All frames of a capture file."""

from __future__ import annotations

import io

from scapy_mpa.capture import Frame, open_capture


def read(file: bytes) -> list[Frame]:
    """All frames of a file that has no problem."""
    capture = open_capture(io.BytesIO(file))
    frames = list(capture)
    assert capture.problem is None
    assert capture.frames == len(frames)
    return frames

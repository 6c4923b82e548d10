# SPDX-License-Identifier: GPL-2.0-or-later
"""What the peer has acknowledged while there were holes, and what holes were left after."""

from __future__ import annotations

from collections import deque

from scapy_mpa.stream.limits import LATE_SEGMENTS


class Acknowledgements:
    """Those that came while there was an open hole; made when the first one opens."""

    __slots__ = ("_noted", "passed")

    def __init__(self) -> None:
        # How many segments of the connection had been received, and what was acknowledged then.
        self._noted: deque[tuple[int, int]] | None = None
        self.passed = 0
        """Holes below this position were acknowledged long enough ago to be closed."""

    def note(self, segments: int, acknowledged: int | None) -> None:
        """Take note of what is acknowledged now.

        :param segments: segments of the connection received so far.
        """
        noted = self._noted
        if noted is None:
            noted = self._noted = deque()
        if acknowledged is not None and (not noted or noted[-1][1] != acknowledged):
            noted.append((segments, acknowledged))
        while noted and noted[0][0] + LATE_SEGMENTS <= segments:
            self.passed = noted.popleft()[1]

    def forget(self) -> None:
        """Take it that no hole is open."""
        self._noted = None

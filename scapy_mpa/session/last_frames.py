# SPDX-License-Identifier: GPL-2.0-or-later
"""For each direction the frame that brought octets last.

Its lower layers are those of the next packet, which may come to light much later.  Of its payload
nothing is needed but for what Scapy calls ``original``; that of many directions is let go.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.capture.frame import Frame

_WHOLE_FRAMES: Final = 16 << 20
"""Octets of frames that are kept whole."""

_HEADERS: Final = 512
"""What is kept of others, at most: more than link, network and TCP header take, with room for a
tunnel."""


class LastFrames(dict[bytes, Frame]):
    """Frames by the flow of their direction."""

    def __init__(self) -> None:
        super().__init__()
        self.room = _WHOLE_FRAMES
        """Octets of payload that may still come until :meth:`let_go` is called."""

    def let_go(self, last: bytes) -> None:
        """Cut off payload if all frames together hold too much.

        :param last: the flow of the last frame, which stays whole.
        """
        if sum(len(frame.octets) for frame in self.values()) > _WHOLE_FRAMES:
            for flow, frame in self.items():
                if len(frame.octets) > _HEADERS and flow != last:
                    self[flow] = frame._replace(octets=frame.octets[:_HEADERS])
        # To look at all of them costs each payload octet no more than a little, however many.
        self.room = max(_WHOLE_FRAMES, _HEADERS * len(self))

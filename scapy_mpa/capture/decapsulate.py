# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames without the tags and tunnels around their IP packet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from scapy_mpa.capture.fragments import FRAGMENT_OF, Fragments
from scapy_mpa.capture.frame import ETHERNET, Frame
from scapy_mpa.capture.headers import ETHER_TYPE, FRAGMENT, Headers, Reader
from scapy_mpa.capture.layers import read_headers
from scapy_mpa.capture.reason import NotFollowedError

__all__ = ["Decapsulator"]

_ADDRESSES: Final = 12


class Decapsulator:
    """Takes frames, returns Ethernet frames with the innermost IP packets of these.

    IP packets are put together from their fragments: only a whole one tells what a tunnel carries.

    :param readers: of the headers of frames.
    :param not_followed: counts the frames with fragments, until their packet is whole.
    """

    __slots__ = ("_fragments", "_not_followed", "_readers")

    def __init__(self, readers: Mapping[int, Reader], not_followed: Counter[str]) -> None:
        self._readers = readers
        self._not_followed = not_followed
        self._fragments = Fragments()

    def take(self, frame: Frame) -> Frame | None:
        """Take a frame; return what is to be written for it.

        One that cannot be followed to a TCP segment or an SCTP packet is returned as it is, but
        whole.  None: it has a fragment, and others are missing.
        """
        try:
            while True:
                key, headers = read_headers(*frame[2:5], self._readers)
                if key != FRAGMENT:
                    return _innermost(frame, headers)
                whole = self._fragments.take(frame, headers)
                if whole is None:
                    self._not_followed[FRAGMENT_OF] += 1
                    return None
                frame, pieces = whole
                self._not_followed[FRAGMENT_OF] -= pieces - 1
        except NotFollowedError:
            return frame


def _innermost(frame: Frame, headers: Headers) -> Frame:
    """Return an Ethernet frame with the innermost IP packet of a frame.

    Its addresses are those of the Ethernet header next to the packet, or zeros.
    """
    key, at, _ = headers.packets[-1]
    octets = frame.octets
    addresses = bytes(_ADDRESSES)
    for begin in headers.macs[-1:]:
        addresses = octets[begin : begin + _ADDRESSES]
    head = addresses + (key - ETHER_TYPE).to_bytes(2, "big")
    return frame._replace(
        link_type=ETHERNET,
        octets=head + octets[at : headers.stop],
        original_length=max(0, headers.end - at) + len(head),
    )

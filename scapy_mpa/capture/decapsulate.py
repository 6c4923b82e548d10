# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames without the tags and tunnels around their IP packet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scapy_mpa.capture.frame import ETHERNET, Frame
from scapy_mpa.capture.headers import ETHER_TYPE, FRAGMENT, Reader
from scapy_mpa.capture.layers import READERS, read_headers
from scapy_mpa.capture.reason import NotFollowedError

_ADDRESSES: Final = 12


def decapsulated(frame: Frame, readers: Mapping[int, Reader] = READERS) -> Frame | None:
    """Return an Ethernet frame with the innermost IP packet of a frame.

    Its addresses are those of the Ethernet header next to the packet, or zeros.  A frame in which
    no TCP segment or SCTP packet is found is returned unchanged.  None: the frame holds a fragment,
    and only a whole packet shows what a tunnel carries.

    :param readers: readers of its headers.
    """
    try:
        last, headers = read_headers(*frame[2:5], readers)
    except NotFollowedError:
        return frame
    if last == FRAGMENT:
        return None
    key, at, _ = headers.packets[-1]
    octets = frame.octets
    addresses = bytes(_ADDRESSES)
    for begin in headers.macs[-1:]:
        addresses = octets[begin : begin + _ADDRESSES]
    head = addresses + (key - ETHER_TYPE).to_bytes(2, "big")
    return frame._replace(
        link_type=ETHERNET,
        octets=head + octets[at : headers.captured_end],
        original_length=max(0, headers.end - at) + len(head),
    )

# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the TCP segment, SCTP packet or fragment in a captured frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scapy_mpa.capture.headers import ETHER_TYPE, FRAGMENT, LINK, PPP, SCTP, TCP, Headers, Reader
from scapy_mpa.capture.ip import READERS as IP_READERS
from scapy_mpa.capture.link import READERS as LINK_READERS
from scapy_mpa.capture.reason import LINK_TYPE, NOT_IP, NOT_TCP, TOO_MANY_HEADERS, NotFollowedError
from scapy_mpa.capture.tunnel import READERS as TUNNEL_READERS

READERS: Final[dict[int, Reader]] = {**LINK_READERS, **TUNNEL_READERS, **IP_READERS}
"""The reader of each kind of header."""

_SPACE: Final = (1 << 32) - 1

_MOST: Final = 64
"""Headers of one frame, at most.  Eight tunnels with some four headers each need half as many."""

_ENDS: Final = frozenset({TCP, SCTP, FRAGMENT})
_NOT_IP: Final = frozenset({ETHER_TYPE, PPP})


def read_headers(
    link_type: int, octets: bytes, length: int, readers: Mapping[int, Reader] = READERS
) -> tuple[int, Headers]:
    """Read the headers of a frame up to TCP, SCTP or a fragment.

    :param link_type: LINKTYPE_ value.
    :param octets: the captured octets of the frame.
    :param length: octets of the frame on the wire.
    :return: :data:`TCP`, :data:`SCTP` or :data:`FRAGMENT`, and the headers before it.
    :raises NotFollowedError: the frame has none of these, or a header is not whole.
    """
    headers = Headers(octets, length)
    key = LINK | link_type
    for _ in range(_MOST):
        read = readers.get(key)
        if read is None:
            if key in _ENDS:
                return key, headers
            space = key & ~_SPACE
            if space == LINK:
                raise NotFollowedError(LINK_TYPE.format(key & _SPACE))
            raise NotFollowedError(NOT_IP if space in _NOT_IP else NOT_TCP)
        key = read(headers)
    raise NotFollowedError(TOO_MANY_HEADERS)

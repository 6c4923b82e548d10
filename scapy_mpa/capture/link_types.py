# SPDX-License-Identifier: GPL-2.0-or-later
"""The link types that can be read, their names, and the ``--link-type`` option."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scapy_mpa.capture.headers import ETHER_TYPE, LINK
from scapy_mpa.capture.layers import READERS
from scapy_mpa.wire.errors import LocalProtocolError

LINK_TYPES: Final = frozenset(key - LINK for key in READERS if LINK <= key < ETHER_TYPE)
"""LINKTYPE_ values that can be read."""

NAMES: Final = {
    "null": 0,
    "ethernet": 1,
    "ppp": 9,
    "ppp-hdlc": 50,
    "ppp-ether": 51,
    "raw": 101,
    "loop": 108,
    "linux-sll": 113,
    "ppp-pppd": 166,
    "erf": 197,
    "ipv4": 228,
    "ipv6": 229,
    "nflog": 239,
    "ipoib": 242,
    "linux-sll2": 276,
    **{f"user{number}": 147 + number for number in range(16)},
}
"""LINKTYPE_ values by their names (https://www.tcpdump.org/linktypes.html)."""

_MOST: Final = 0xFFFF
"""The largest LINKTYPE_ value of a file."""


def given_link_types(pairs: Iterable[str]) -> dict[int, int]:
    """Return, by LINKTYPE_ value of a file, the value to use in its place.

    :param pairs: texts such as ``user0=ethernet``.
    :raises LocalProtocolError: a text is no such pair, or its second link type cannot be read.
    """
    given = {}
    for pair in pairs:
        first, equals, second = pair.partition("=")
        if not equals:
            raise LocalProtocolError(f"{pair!r} is no pair such as user0=ethernet or 147=1")
        link_type, to = _link_type(first), _link_type(second)
        if to not in LINK_TYPES:
            raise LocalProtocolError(f"{second!r} is no link type that can be read")
        given[link_type] = to
    return given


def _link_type(text: str) -> int:
    number = NAMES.get(text.lower().replace("_", "-"))
    if number is None and text.isascii() and text.isdigit() and len(text) < 6:
        number = int(text)
    if number is None or number > _MOST:
        raise LocalProtocolError(f"{text!r} is no link type; docs/limits.md lists their names")
    return number

# SPDX-License-Identifier: GPL-2.0-or-later
"""All link types that are read."""

from __future__ import annotations

from typing import Final

from scapy_mpa.capture.headers import ETHER_TYPE, LINK
from scapy_mpa.capture.layers import READERS
from scapy_mpa.capture.seldom import SELDOM

__all__ = ["LINK_TYPES"]

LINK_TYPES: Final = frozenset(key - LINK for key in (*READERS, *SELDOM) if LINK <= key < ETHER_TYPE)
"""LINKTYPE_ values that are read."""

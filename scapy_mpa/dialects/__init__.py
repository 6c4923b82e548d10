# SPDX-License-Identifier: GPL-2.0-or-later
"""Carriers of DDP other than MPA.  The stream core does not know them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_mpa.dialects.ift.indications import Indications

if TYPE_CHECKING:
    from scapy_mpa.stream.halves.half import HalfConnection
    from scapy_mpa.stream.halves.other import OtherFramings

__all__ = ["other_framings"]


def other_framings() -> OtherFramings[HalfConnection]:
    """Return the finder of framings over TCP other than MPA's, for ``Flows``."""
    return Indications()

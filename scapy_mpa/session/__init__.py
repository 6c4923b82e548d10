# SPDX-License-Identifier: GPL-2.0-or-later
"""iWARP streams inside Scapy: :class:`MPASession` for ``sniff()``, and :func:`rdmpa`.

The only room that touches Scapy's session internals.
"""

from __future__ import annotations

from scapy_mpa.session.mpasession import MPASession
from scapy_mpa.session.provenance import Provenance
from scapy_mpa.session.rdmpa import MPAPacketList, rdmpa
from scapy_mpa.stream.limits import Limits

__all__ = ["Limits", "MPAPacketList", "MPASession", "Provenance", "rdmpa"]

# SPDX-License-Identifier: GPL-2.0-or-later
"""One captured frame, of any file format."""

from typing import Final, NamedTuple

ETHERNET: Final = 1
"""LINKTYPE_ value."""

SNAP_LENGTH: Final = 262144
"""Octets of a frame that tcpdump and dumpcap capture by default, at most."""

MAXIMUM_CAPTURED: Final = 1 << 24
"""Captured octets of one frame, at most.  A greater length counts as damage.

tcpdump and dumpcap stop at :data:`SNAP_LENGTH`, segments merged by offload (GRO, BIG TCP) at about
512 KiB. The rest is room for unusual interfaces and writers. A wrong length thus costs 16 MiB of
memory at most, not the 4 GiB that its field allows.
"""


class Frame(NamedTuple):
    """One captured frame, with its Frame Check Sequence if that was captured."""

    number: int
    """From 1, over all interfaces and sections of the file, as other tools count.

    Wireshark also counts blocks of pcapng that have no packet: Custom Blocks, systemd journal
    entries and Sysdig events."""
    time_ns: int
    """Nanoseconds since the epoch; 0 where the file has no time (Simple Packet Block)."""
    link_type: int
    """LINKTYPE_ value of the interface."""
    octets: bytes
    """The captured octets, from the link header on."""
    original_length: int
    """Octets on the wire; more than ``octets`` if the snap length cut the frame."""
    interface: str | None
    """The name of the interface (pcapng ``if_name``), if the file has it."""

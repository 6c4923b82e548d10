# SPDX-License-Identifier: GPL-2.0-or-later
"""One end of the connection of a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from scapy_mpa.craft.given import number
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One end of a TCP connection.

    :raises LocalProtocolError: an address is not valid, or a number does not fit its field.
    """

    address: str
    """IPv4 or IPv6, without a zone: packets cannot carry one."""
    port: int
    """0 to 65535."""
    mac: str | None = None
    """Ethernet address such as ``02:00:00:00:00:01``; None: one is made up."""
    isn: int | None = None
    """Initial sequence number, that of the SYN, 32 bits; None: one is made up."""

    def __post_init__(self) -> None:
        try:
            known = ip_address(self.address)
        except ValueError as error:
            raise LocalProtocolError(
                f"{quoted(self.address)} is no IPv4 or IPv6 address"
            ) from error
        if getattr(known, "scope_id", None) is not None:
            raise LocalProtocolError(
                f"{quoted(self.address)} has a zone, which packets cannot carry; leave out "
                "the part from % on"
            )
        number("port", self.port, 0, 0xFFFF)
        if self.isn is not None:
            number("initial sequence number", self.isn, 0, 0xFFFFFFFF)
        if self.mac is not None:
            mac_octets(self.mac)

    @property
    def octets(self) -> bytes:
        """The address as in an IP header: 4 or 16 octets."""
        return ip_address(self.address).packed

    def __str__(self) -> str:
        """The endpoint as in records: ``10.0.0.1:4000``, ``[fd00::1]:4000``."""
        address = ip_address(self.address)
        return f"[{address}]:{self.port}" if address.version == 6 else f"{address}:{self.port}"


def mac_octets(text: str) -> bytes:
    """Return the 6 octets of an Ethernet address.

    :raises LocalProtocolError: it is not an Ethernet address.
    """
    try:
        octets = bytes.fromhex(text.replace(":", "").replace("-", ""))
    except (AttributeError, TypeError, ValueError):
        octets = b""
    if len(octets) != 6:
        raise LocalProtocolError(f"{quoted(text)} is no Ethernet address such as 02:00:00:00:00:01")
    return octets


USUAL_INITIATOR: Final = Endpoint("10.0.0.1", 40000)
USUAL_RESPONDER: Final = Endpoint("10.0.0.2", 4000)
"""The endpoints of a conversation for which none are given."""

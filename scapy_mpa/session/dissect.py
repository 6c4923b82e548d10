# SPDX-License-Identifier: GPL-2.0-or-later
"""Dissects frames with Scapy, and maps link types to Scapy's layers."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from scapy.config import conf
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet
from scapy.utils import EDecimal

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.link import RAW_IP
from scapy_mpa.capture.link_types import LINK_TYPES
from scapy_mpa.session.form import put
from scapy_mpa.stream.segment import SECOND

LINKTYPE_RAW: Final = 101
"""The value for raw IP that Scapy knows on all systems."""


def dissect(frame: Frame) -> Packet:
    """Return the packet that Scapy makes of a frame, without the time of the frame."""
    packet = packet_of(layer_of_type(frame.link_type), frame.octets)
    packet.wirelen = frame.original_length
    return packet


def set_time(packet: Packet, frame: Frame) -> None:
    """Give a packet the time of a frame, as Scapy's readers do: no float has nanoseconds."""
    put(packet, "time", EDecimal(Decimal(frame.time_ns) / SECOND))


def packet_of(layer: type[Packet], octets: bytes) -> Packet:
    """Return octets as a packet that begins with ``layer``; as raw octets if that fails."""
    try:
        return layer(octets)
    except Exception:
        if conf.debug_dissector:
            raise
        # Scapy does the same with octets that it cannot dissect.
        return conf.raw_layer(octets)


def layer_of_type(link_type: int) -> type[Packet]:
    """Return the first layer of frames of a link type; raw octets if Scapy has none.

    :param link_type: LINKTYPE_ value.
    """
    layers = conf.l2types.num2layer
    if link_type not in layers and link_type in RAW_IP:
        link_type = LINKTYPE_RAW
    layer: type[Packet] = layers.get(link_type, conf.raw_layer)
    return layer


def followed_type(link_type: int, layer: type[Packet]) -> int:
    """Return the LINKTYPE_ value to read the frames of a file with.

    It is that of the file, unless only Scapy knows it: users may bind layers to private link types.

    :param layer: the first layer of the frames in Scapy.
    """
    if link_type not in LINK_TYPES:
        known = link_type_of(layer)
        if known in LINK_TYPES:
            return known
    return link_type


def link_type_of(layer: type[Packet]) -> int:
    """Return the LINKTYPE_ value of frames that begin with ``layer``, -1 if there is none."""
    if issubclass(layer, (IP, IPv6)):
        return LINKTYPE_RAW
    return int(conf.l2types.layer2num.get(layer, -1))


def octets_of(packet: Packet) -> bytes:
    """Return the octets of a packet that was not dissected, none if it cannot be built."""
    try:
        return bytes(packet)
    except Exception:
        # A user's packet may have any fault.  It is passed on; sending it reports the fault.
        return b""

# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the link, network and TCP layers of frames, without dissecting each frame.

The headers of most TCP segments differ in a few numbers only.  So one frame of each shape of
headers is dissected, and its layers are copied for other frames of that shape, with other numbers.
Layers that users bind thus count from the moment when a shape is first seen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from socket import AF_INET6, inet_ntoa
from struct import Struct
from typing import Any, Final, TypeAlias

from scapy.config import conf
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Ether, Loopback
from scapy.packet import Packet
from scapy.pton_ntop import inet_ntop

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.headers import IPV4, IPV6
from scapy_mpa.capture.headers import TCP as TCP_HEADER
from scapy_mpa.capture.layers import read_headers
from scapy_mpa.capture.reason import NotFollowedError
from scapy_mpa.session.form import Form, Numbers, Shapes, bindings_use, put

_LENGTHS: Final = {IPV4: 20, IPV6: 40}
"""Octets of an IP header without options and extension headers."""
_TCP_LENGTH: Final = 20

_LINK_LAYERS: Final = frozenset({Ether, Dot1Q, Dot1AD, CookedLinux, CookedLinuxV2, Loopback})
"""Link layers without a field that depends on the payload."""

_FLOW_LABEL: Final = 0xFFFFF
_ipv6: Final = partial(inet_ntop, AF_INET6)
_NUMBERS: Final = {
    IP: Numbers(
        Struct(">2xHH4xH4s4s"),
        ("len", "id", "chksum", "src", "dst"),
        {"src": inet_ntoa, "dst": inet_ntoa},
    ),
    IPv6: Numbers(
        Struct(">IH2x16s16s"),
        ("fl", "plen", "src", "dst"),
        {"fl": _FLOW_LABEL.__and__, "src": _ipv6, "dst": _ipv6},
    ),
}
"""Fields that are no part of a shape; they must not choose the layer above."""
_TCP: Final = Numbers(
    Struct(">HHII2xHHH"), ("sport", "dport", "seq", "ack", "window", "chksum", "urgptr")
)

_Shape: TypeAlias = list[tuple[Form, int, int]]
"""The forms of the layers of headers that differ in their numbers only, each with its begin and end
in the frame."""
_Places: TypeAlias = tuple[int, int, int]
"""Where the IP header, the TCP header and the payload begin."""
_Rest: TypeAlias = tuple[bytes, int, list[Any]]
"""Octets of the frame, end of the IP packet, TCP options."""


class LowerLayers:
    """Makes packets of frames.

    :param dissect: makes the packet of a frame that is not ordinary, or the first of its shape.
    :param whole: whether ``dissect`` returns packets as captured; then only segments without
        payload are ordinary.  Else it must remove the payload of TCP, lengths and checksums.
    """

    def __init__(self, dissect: Callable[[Frame], Packet], *, whole: bool) -> None:
        self._dissect = dissect
        self._whole = whole
        self._shapes = Shapes()

    def of(self, frame: Frame) -> tuple[Packet, Packet | None]:
        """Return the packet of a frame, and its TCP layer."""
        read = self._read(frame)
        if read is not None:
            key, places, rest = read
            shape = self._shapes.get(key)
            if shape is not None:
                return self._make(shape, *rest)
        packet = self._dissect(frame)
        if read is not None and key not in self._shapes:
            self._shapes.learn(
                key,
                packet,
                lambda sample: _shape_of(sample, frame.octets, places),
                lambda shape: self._make(shape, *rest)[0],
            )
        return packet, packet.getlayer(TCP)

    def _read(self, frame: Frame) -> tuple[object, _Places, _Rest] | None:
        """Return the shape and the contents of a frame's headers; None: they are not ordinary."""
        _, _, link_type, octets, length, _ = frame
        try:
            last, headers = read_headers(link_type, octets, length)
        except NotFollowedError:
            return None
        kind, at, _ = headers.packets[0]
        tcp_at, end = headers.at, headers.end
        options_at = tcp_at + _TCP_LENGTH
        if last != TCP_HEADER or tcp_at != at + _LENGTHS[kind] or options_at > len(octets):
            return None
        payload_at = tcp_at + (octets[tcp_at + 12] >> 4) * 4
        if not options_at <= payload_at <= min(end, len(octets)):
            return None
        if self._whole and payload_at != end:
            return None
        options: list[Any] = []
        if payload_at != options_at:
            try:
                options = _OPTIONS.m2i(None, octets[options_at:payload_at])
            except Exception:
                # Scapy itself dissects such a segment.
                return None
        fixed: tuple[object, ...]
        if kind == IPV4:
            # Version, header length and TOS; flags with offset, TTL and protocol.
            fixed = octets[at : at + 2], octets[at + 6 : at + 10]
        else:
            # Version and traffic class; next header and hop limit.  In Scapy, no TCP follows a
            # length of 0.
            has_length = any(octets[at + 4 : at + 6])
            fixed = octets[at], octets[at + 1] >> 4, octets[at + 6 : at + 8], has_length
        key = link_type, octets[:at], fixed, octets[tcp_at + 12 : tcp_at + 14]
        return key, (at, tcp_at, payload_at), (octets, end, options)

    def _make(
        self, shape: _Shape, octets: bytes, end: int, options: list[Any]
    ) -> tuple[Packet, Packet]:
        layers: list[Packet] = []
        for form, at, upto in shape:
            below = layers[-1] if layers else None
            layers.append(form.make(octets[at:], octets[at:upto], below))
        tcp = layers[-1]
        # Padding after the IP packet is no part of it.
        put(tcp, "original", octets[at:end])
        tcp.fields["options"] = options
        if self._whole:
            if options:
                kept = {**tcp.raw_packet_cache_fields, "options": options.copy()}
                put(tcp, "raw_packet_cache_fields", kept)
            if end < len(octets) and conf.padding:
                tcp.add_payload(conf.padding_layer(octets[end:]))
        return layers[0], tcp


_OPTIONS: Final = next(field for field in TCP.fields_desc if field.name == "options")


def _shape_of(packet: Packet, octets: bytes, places: _Places) -> _Shape:
    """Return the shape of a packet.

    :raises ValueError: its layers cannot be copied.
    """
    layers = [packet]
    while type(layers[-1]) in _LINK_LAYERS:
        layers.append(layers[-1].payload)
    *link, network = layers
    numbers, tcp = _NUMBERS.get(type(network)), network.payload
    if numbers is None or type(tcp) is not TCP or bindings_use(type(network), numbers.names):
        raise ValueError("its layers are not ordinary")
    begins = [*(len(octets) - len(each.original) for each in link), *places]
    forms = [*map(Form, link), Form(network, numbers), Form(tcp, _TCP, without=("options",))]
    return [(form, *place) for form, place in zip(forms, pairwise(begins), strict=True)]

# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the link, network and TCP layers of frames, without dissecting each frame.

The headers of most TCP segments differ in a few numbers only.  So one frame of each shape of
headers is dissected, and its layers are copied for other frames of that shape, with other numbers.
Layers that users bind thus count from the moment when a shape is first seen.
"""

from __future__ import annotations

from collections.abc import Callable
from socket import AF_INET6, inet_ntoa
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

from scapy.config import conf
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Ether, Loopback
from scapy.packet import Packet
from scapy.pton_ntop import inet_ntop

from scapy_mpa.capture.frame import ETHERNET, Frame
from scapy_mpa.capture.headers import IPV4, TCP_PROTOCOL
from scapy_mpa.capture.layers import read_headers
from scapy_mpa.capture.reason import NotFollowedError
from scapy_mpa.session.form import Form, Shapes, bindings_use, put

_IPV4: Final = Struct(">HHHHBBH4s4sHHIIHHHH")
"""Version, header length and TOS; length, ID, flags with offset, TTL, protocol, checksum,
addresses; ports, sequence and acknowledgement number, data offset with flags, window, checksum,
urgent pointer."""
_IPV6: Final = Struct(">IHBB16s16sHHIIHHHH")
"""Version, traffic class, flow label; length, next header, hop limit, addresses; TCP as above."""
_IPV4_TYPE: Final = b"\x08\x00"
_IPV4_AT: Final = 14
_IPV4_START: Final = 0x45
_IPV4_LENGTH: Final = 20
_IPV6_LENGTH: Final = 40
_TCP_LENGTH: Final = 20
_FRAGMENT: Final = 0x3FFF
_FLOW_LABEL: Final = 0xFFFFF

_LINK_LAYERS: Final = frozenset({Ether, Dot1Q, Dot1AD, CookedLinux, CookedLinuxV2, Loopback})
"""Link layers without a field that depends on the payload."""

_NUMBERS: Final = {
    IP: frozenset({"len", "id", "chksum", "src", "dst"}),
    IPv6: frozenset({"fl", "plen", "src", "dst"}),
}
"""Fields that are no part of a shape; they must not choose the layer above."""

_Key: TypeAlias = tuple[Any, ...]


_Headers: TypeAlias = tuple[bytes, int, int, int, int, dict[str, Any], list[int], list[Any]]
"""The headers of one frame: its octets; where in these the IP header, the TCP header and the
payload begin, and where the IP packet ends; fields of IP that are no part of the shape; fields of
TCP; TCP options."""


class _Shape(NamedTuple):
    """The forms of the layers of headers that differ in their numbers only."""

    link: tuple[tuple[Form, int, int], ...]
    """Link layers: form, begin and end in the frame."""
    network: Form
    tcp: Form


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
            key, headers = read
            shape = self._shapes.get(key)
            if shape is not None:
                return self._make(shape, headers)
        packet = self._dissect(frame)
        if read is not None and key not in self._shapes:
            shape = _shape_of(packet, *headers[:2])
            made = None if shape is None else self._make(shape, headers)[0]
            self._shapes.learn(key, packet, shape, made)
        return packet, packet.getlayer(TCP)

    def _read(self, frame: Frame) -> tuple[_Key, _Headers] | None:
        """Return the shape and the contents of a frame's headers; None: they are not ordinary."""
        _, _, link_type, octets, length, _ = frame
        if link_type == ETHERNET and octets[12:14] == _IPV4_TYPE:
            kind, at = IPV4, _IPV4_AT
        else:
            try:
                _, headers = read_headers(link_type, octets, length)
            except NotFollowedError:
                return None
            kind, at, _ = headers.packets[0]
        tcp_at = at + (_IPV4_LENGTH if kind == IPV4 else _IPV6_LENGTH)
        if len(octets) < tcp_at + _TCP_LENGTH:
            return None
        key: _Key
        network: dict[str, Any]
        if kind == IPV4:
            first, length, ident, fragment, ttl, protocol, checksum, source, target, *tcp = (
                _IPV4.unpack_from(octets, at)
            )
            if first >> 8 != _IPV4_START or fragment & _FRAGMENT:
                return None
            end = at + length
            key = link_type, octets[:at], first, fragment, ttl, tcp[4]
            network = {
                "id": ident,
                "src": inet_ntoa(source),
                "dst": inet_ntoa(target),
                "options": [],
            }
            if self._whole:
                network["len"] = length
                network["chksum"] = checksum
        else:
            first, length, protocol, hop_limit, source, target, *tcp = _IPV6.unpack_from(octets, at)
            end = tcp_at + length
            key = link_type, octets[:at], first & ~_FLOW_LABEL, hop_limit, tcp[4]
            network = {
                "fl": first & _FLOW_LABEL,
                "src": inet_ntop(AF_INET6, source),
                "dst": inet_ntop(AF_INET6, target),
            }
            if self._whole:
                network["plen"] = length
        payload_at = tcp_at + (tcp[4] >> 12) * 4
        if (
            protocol != TCP_PROTOCOL
            or not tcp_at + _TCP_LENGTH <= payload_at <= end
            or payload_at > len(octets)
            or (self._whole and payload_at != end)
        ):
            return None
        options: list[Any] = []
        if payload_at != tcp_at + _TCP_LENGTH:
            try:
                options = _OPTIONS.m2i(None, octets[tcp_at + _TCP_LENGTH : payload_at])
            except Exception:
                # Scapy itself dissects such a segment.
                return None
        return key, (octets, at, tcp_at, payload_at, end, network, tcp, options)

    def _make(self, shape: _Shape, headers: _Headers) -> tuple[Packet, Packet]:
        octets, at, tcp_at, payload_at, end, numbers, tcp_numbers, options = headers
        whole = self._whole
        lowest = layer = None
        for form, start, stop in shape.link:
            layer = form.make(octets[start:], form.fields(), octets[start:stop], layer)
            if lowest is None:
                lowest = layer

        fields = shape.network.fields()
        fields.update(numbers)
        cache = octets[at:tcp_at] if whole else None
        layer = shape.network.make(octets[at:], fields, cache, layer)
        if lowest is None:
            lowest = layer

        fields = shape.tcp.fields()
        (
            fields["sport"],
            fields["dport"],
            fields["seq"],
            fields["ack"],
            _,
            fields["window"],
            checksum,
            fields["urgptr"],
        ) = tcp_numbers
        cache = octets[tcp_at:payload_at] if whole else None
        tcp = shape.tcp.make(octets[tcp_at:end], fields, cache, layer)
        fields["options"] = options
        if whole:
            fields["chksum"] = checksum
            if options:
                kept = {**tcp.raw_packet_cache_fields, "options": options.copy()}
                put(tcp, "raw_packet_cache_fields", kept)
            if end < len(octets) and conf.padding:
                tcp.add_payload(conf.padding_layer(octets[end:]))
        return lowest, tcp


_OPTIONS: Final = next(field for field in TCP.fields_desc if field.name == "options")


def _shape_of(packet: Packet, octets: bytes, network_at: int) -> _Shape | None:
    """Return the shape of a packet; None if its layers cannot be copied.

    :param network_at: where its IP header begins in ``octets``.
    """
    link = []
    layer = packet
    while type(layer) in _LINK_LAYERS:
        link.append(layer)
        layer = layer.payload
    network, tcp = layer, layer.payload
    numbers = _NUMBERS.get(type(network))
    if numbers is None or type(tcp) is not TCP or bindings_use(type(network), numbers):
        return None
    starts = [len(octets) - len(each.original) for each in link]
    ends = [*starts[1:], network_at]
    try:
        return _Shape(
            tuple((Form(link[n]), starts[n], ends[n]) for n in range(len(link))),
            Form(network, without=("options",)),
            Form(tcp, without=("options",)),
        )
    except ValueError:
        # A layer holds a value that copies must not share, so Scapy dissects each frame.
        return None

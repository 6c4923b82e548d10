# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets pickled layer by layer.

Scapy pickles the octets of a packet, and dissects them when it is unpickled.  No octet says that
MPA lies above TCP, where Markers are, or where a packet was found.  And what was left to be
computed would then be given.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator
from typing import Any, Final

from scapy.packet import NoPayload, Packet

_put: Final = object.__setattr__
"""Sets an attribute that is known not to be a field."""

_KEPT: Final = (
    "comments",
    "direction",
    "explicit",
    "fields",
    "overloaded_fields",
    "process_information",
    "raw_packet_cache",
    "raw_packet_cache_fields",
    "sent_time",
    "sniffed_on",
    "time",
    "wirelen",
)
"""What a layer is but for its class and the layers around it."""

_State = dict[str, Any]


def pickle_whole(kind: type[Packet]) -> None:
    """Have packets that begin with a layer of Scapy's pickled whole if they hold one of ours.

    All others are pickled as Scapy does it.
    """
    copyreg.pickle(kind, _reduced)


def reduced(packet: Packet) -> tuple[Callable[..., Packet], tuple[Any, ...]]:
    """Return what ``__reduce__`` of our layers returns."""
    return _restored, tuple((type(layer), _state(layer)) for layer in _layers(packet))


def _reduced(packet: Packet) -> Any:
    is_ours = any(
        isinstance(part, Packet) and type(part).__reduce__ is not Packet.__reduce__
        for layer in _layers(packet)
        for part in (layer, *layer.fields.values())
    )
    return reduced(packet) if is_ours else packet.__reduce__()


def _layers(packet: Packet) -> Iterator[Packet]:
    while not isinstance(packet, NoPayload):
        yield packet
        packet = packet.payload


def _state(layer: Packet) -> _State:
    names = {*_KEPT, *type(layer).__all_slots__.difference(Packet.__slots__)}
    return {name: getattr(layer, name) for name in names if hasattr(layer, name)}


def _restored(*layers: tuple[type[Packet], _State]) -> Packet:
    """Put together what was taken apart; it may be pickled again in this process."""
    above: Any = None
    for kind, state in reversed(layers):
        layer = kind()
        for name, value in state.items():
            _put(layer, name, value)
        for value in layer.fields.values():
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, Packet):
                    part.add_parent(layer)
        if above is not None:
            _put(layer, "payload", above)
            _put(above, "underlayer", layer)
        above = layer
        pickle_whole(kind)
    return above

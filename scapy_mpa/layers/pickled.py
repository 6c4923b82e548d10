# SPDX-License-Identifier: GPL-2.0-or-later
"""Pickles packets layer by layer.

Scapy pickles the octets of a packet, and dissects them again.  But octets do not show that MPA is
above TCP, where Markers are, or where a packet was found.  And fields that were to be computed
would have given values.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator
from typing import Any, Final

from scapy.packet import NoPayload, Packet

_put: Final = object.__setattr__
"""Sets an attribute of a packet that is not a field."""

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
"""The attributes that are the state of a layer, besides its class and the layers around it."""

_State = dict[str, Any]


def pickle_whole(kind: type[Packet]) -> None:
    """Have packets that begin with a Scapy layer pickled layer by layer, if they hold one of ours.

    Scapy pickles all other packets as usual.
    """
    copyreg.pickle(kind, _reduced)


def reduced(packet: Packet) -> tuple[Callable[..., Packet], tuple[Any, ...]]:
    """Return the value for ``__reduce__`` of our layers."""
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
    """Return the packet of these layers, which can be pickled again in this process."""
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

# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies a layer that Scapy dissected, with other fields, without dissecting again.

A packet keeps its state in some twenty slots.  ``Packet.__init__`` fills them through several
calls, and dissecting fills some of them again.  That takes ten times as long as to copy them.  So a
layer that differs from an earlier one in its fields only is made by copying.

The module assumes that Scapy replaces the lists and dictionaries of a packet, but never changes
them in place, since Scapy's packets share them.  All other state must be constants.  A layer with
any other state has no form, and Scapy dissects it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from struct import Struct
from types import MappingProxyType, MemberDescriptorType
from typing import Any, Final, NamedTuple

from scapy.fields import FlagValue
from scapy.packet import NoPayload, Packet

put: Final = object.__setattr__
"""Sets an attribute of a packet that is not a field; Packet would look for a field first."""

_SHARED: Final = (
    "default_fields",
    "fieldtype",
    "overload_fields",
    "overloaded_fields",
    "packetfields",
    "raw_packet_cache_fields",
)
"""Attributes that hold lists and dictionaries."""
_OWN: Final = frozenset(
    {"fields", "original", "payload", "post_transforms", "raw_packet_cache", "underlayer"}
)
"""Attributes of which each copy has its own."""
_MOST_SHAPES: Final = 256
"""Shapes that are kept, at most.  A network has a few for each pair of link addresses, and a ULP
has a few; a hostile capture may have more."""
_CONSTANTS: Final = (type(None), int, float, str, bytes)


class Numbers(NamedTuple):
    """Fields that are unpacked from the octets of a header."""

    layout: Struct
    names: tuple[str, ...]
    convert: Mapping[str, Callable[[Any], Any]] = MappingProxyType({})
    """By the name of a field: the function that makes its value of what is unpacked."""


_NO_NUMBERS: Final = Numbers(Struct(""), ())


def _is_constant(value: object) -> bool:
    return isinstance(value, _CONSTANTS) or (type(value) is tuple and all(map(_is_constant, value)))


class Form:
    """Makes copies of a sample layer, with other fields.

    :param sample: a layer of a packet; the layers below and above it do not count.
    :param numbers: fields that are unpacked from each header; the others are those of the sample.
    :param without: fields of the sample that the caller always sets.
    :raises ValueError: the sample holds a value that copies perhaps must not share.
    """

    def __init__(
        self, sample: Packet, numbers: Numbers = _NO_NUMBERS, *, without: Collection[str] = ()
    ) -> None:
        state = _state(sample)
        if not state.keys() >= _OWN:
            raise ValueError(f"{_OWN - state.keys()} are not there")
        self._class = type(sample)
        self._state = [(name, value) for name, value in state.items() if name not in _OWN]
        self._numbers = numbers
        self._has_cache = sample.raw_packet_cache is not None
        self._fields = dict(sample.fields)
        self._copied = {
            name: value.copy()
            for name, value in sample.fields.items()
            if isinstance(value, FlagValue) or (type(value) is list and not value)
        }
        for name in (*self._copied, *(sample.fields.keys() & without)):
            self._fields[name] = None
        rest = [value for name, value in self._state if name not in _SHARED]
        for value in (*self._fields.values(), *rest, *sample.post_transforms):
            if not _is_constant(value):
                raise ValueError(f"it is not known whether {value!r} may be shared")

    def make(
        self, original: bytes, header: bytes, below: Packet | None = None, **given: Any
    ) -> Packet:
        """Return a new layer.

        :param original: the octets from this layer on.
        :param header: the octets of this layer.
        :param below: the layer below, to which this one is added as by ``add_payload``, but without
            ``overload_fields``.
        :param given: fields with other values than the sample's.
        """
        fields = {**self._fields, **given}
        for name, value in self._copied.items():
            # It can be changed in place.
            fields[name] = value.copy()
        layout, names, convert = self._numbers
        for name, value in zip(names, layout.unpack_from(header), strict=True):
            # The sample has no lengths and checksums if they are to be computed.
            if name in fields:
                fields[name] = convert[name](value) if name in convert else value
        layer: Packet = object.__new__(self._class)
        for name, value in self._state:
            put(layer, name, value)
        put(layer, "fields", fields)
        put(layer, "original", original)
        put(layer, "payload", _NOTHING)
        put(layer, "post_transforms", [])
        put(layer, "raw_packet_cache", header if self._has_cache else None)
        put(layer, "underlayer", below)
        if below is not None:
            put(below, "payload", layer)
        return layer


_NOTHING: Final = NoPayload()


class Shapes(dict[Any, Any]):
    """The forms of the layers of packets, by what packets of one shape have in common.

    None: packets of this shape cannot be copied.
    """

    def learn(
        self,
        key: object,
        sample: Packet,
        shape_of: Callable[[Packet], Any],
        make: Callable[[Any], Packet | None],
    ) -> None:
        """Note the shape of a packet that Scapy dissected.

        :param shape_of: returns the forms of its layers, or raises ValueError.
        :param make: makes the same packet from these forms; None if that is not possible.
        """
        if len(self) >= _MOST_SHAPES:
            self.clear()
        try:
            shape = shape_of(sample)
            made = make(shape)
        except ValueError:
            made = None
        # If they differ, this version of Scapy is not as this module assumes.
        self[key] = shape if made is not None and are_alike(sample, made) else None


def stack(lower: Packet, upper: Packet) -> None:
    """Do the same as ``lower.add_payload(upper)``; ``lower`` must not have a payload yet."""
    if upper.overload_fields:
        lower.add_payload(upper)
    else:
        put(lower, "payload", upper)
        put(upper, "underlayer", lower)


def are_alike(first: Packet, second: Packet) -> bool:
    """Return whether two packets are equal, layer by layer, in all attributes that dissecting sets.

    ``time`` is not compared: in inner layers it is the time of day.
    """
    below: tuple[Packet | None, Packet | None] = None, None
    while not isinstance(first, NoPayload):
        if type(first) is not type(second) or _described(first) != _described(second):
            return False
        if first.underlayer is not below[0] or second.underlayer is not below[1]:
            return False
        below = first, second
        first, second = first.payload, second.payload
    return isinstance(second, NoPayload)


def bindings_use(layer: type[Packet], fields: Collection[str]) -> bool:
    """Return whether one of these fields may choose the layer above ``layer``."""
    return any(
        name in values
        for alias in layer.aliastypes
        for values, _ in alias.payload_guess
        for name in fields
    )


def _described(layer: Packet) -> list[Any]:
    state = _state(layer)
    for name in ("parent", "payload", "time", "underlayer"):
        state.pop(name, None)
    types = [type(value) for value in layer.fields.values()]
    return [state, list(layer.fields), types]


def _state(layer: Packet) -> dict[str, Any]:
    """Return the contents of a packet's slots, and of its ``__dict__``.

    An attribute is in ``__dict__`` if a class attribute hides its slot, as with IPv6's name.
    """
    state = dict(vars(layer))
    for base in type(layer).__mro__:
        for name, slot in vars(base).items():
            if isinstance(slot, MemberDescriptorType):
                try:
                    state[name] = slot.__get__(layer)
                except AttributeError:
                    # The slot is empty.
                    continue
    return state

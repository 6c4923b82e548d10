# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies a layer that Scapy dissected, with other fields, without dissecting again.

A packet keeps its state in some twenty slots.  ``Packet.__init__`` fills them through several
calls, and dissecting fills some of them again.  That takes ten times as long as to copy them.  So a
layer that differs from an earlier one in its fields only is made by copying.

The module assumes two things.  The attributes named here are the whole state of a packet.  Lists
and dictionaries in them are replaced, but never changed in place, since Scapy's packets share them.
A layer with any other state has no form, and Scapy dissects it.
"""

from __future__ import annotations

from collections.abc import Collection
from types import MemberDescriptorType
from typing import Any, Final

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
_CONSTANT: Final = (
    "comments",
    "direction",
    "explicit",
    "name",
    "parent",
    "process_information",
    "sent_time",
    "sniffed_on",
    "stop_dissection_after",
    "time",
    "wirelen",
)
_OWN: Final = ("fields", "original", "payload", "post_transforms", "raw_packet_cache", "underlayer")
_MOST_SHAPES: Final = 256
"""Shapes that are kept, at most.  A network has a few for each pair of link addresses, and a ULP
has a few; a hostile capture may have more."""
_CONSTANTS: Final = (type(None), int, float, str, bytes)


def _is_constant(value: object) -> bool:
    return isinstance(value, _CONSTANTS) or (type(value) is tuple and all(map(_is_constant, value)))


class Form:
    """Makes copies of a sample layer, with other fields.

    :param sample: a layer of a packet; the layers below and above it do not count.
    :param without: fields of the sample that the caller always sets.
    :raises ValueError: the sample holds a value that copies perhaps must not share.
    """

    __slots__ = ("_blank", "_class", "_constants", "_fields", "_flags", "_more", "_shared")

    def __init__(self, sample: Packet, *, without: Collection[str] = ()) -> None:
        state = _state(sample)
        known = {*_SHARED, *_CONSTANT, *_OWN}
        if not known <= state.keys():
            raise ValueError(f"{known - state.keys()} are not there")
        self._shared = tuple(state[name] for name in _SHARED)
        self._constants = tuple(state[name] for name in _CONSTANT)
        # Attributes that only this class has.
        self._more = [(name, value) for name, value in state.items() if name not in known]
        self._fields: dict[str, Any] = dict.fromkeys(sample.fields)
        self._flags: list[tuple[str, FlagValue]] = []
        for name, value in sample.fields.items():
            if isinstance(value, FlagValue):
                self._flags.append((name, value.copy()))
            elif name not in without:
                self._fields[name] = value
        for value in (
            *self._constants,
            *self._fields.values(),
            *(value for _, value in self._more),
            *sample.post_transforms,
        ):
            if not _is_constant(value):
                raise ValueError(f"it is not known whether {value!r} may be shared")
        self._class = type(sample)
        # A class with the same layout, without the slow Packet.__setattr__.  ``type`` makes it, so
        # that Scapy does not register it as a layer.
        self._blank = type.__new__(
            type(self._class),
            self._class.__name__,
            (self._class,),
            {"__slots__": (), "__setattr__": put, "__delattr__": object.__delattr__},
        )

    def fields(self) -> dict[str, Any]:
        """Return a copy of the sample's fields, in their order, for one new layer."""
        fields = self._fields.copy()
        for name, flags in self._flags:
            # Flags can be changed in place.  Copied without the slow FlagValue.__setattr__.
            copied = _new(_BlankFlags)
            copied.value = flags.value
            copied.names = flags.names
            copied.multi = flags.multi
            copied.__class__ = FlagValue
            fields[name] = copied
        return fields

    def make(
        self,
        original: bytes,
        fields: dict[str, Any],
        cache: bytes | None,
        below: Packet | None = None,
    ) -> Packet:
        """Return a new layer.

        :param original: the octets from this layer on.
        :param fields: the layer's fields; no other layer may share this dictionary.
        :param cache: the octets of its header, if no field has changed since they were read.
        :param below: the layer below, to which this one is added as by ``add_payload``, but without
            ``overload_fields``.
        """
        layer: Packet = _new(self._blank)
        (
            layer.default_fields,
            layer.fieldtype,
            layer.overload_fields,
            layer.overloaded_fields,
            layer.packetfields,
            layer.raw_packet_cache_fields,
        ) = self._shared
        (
            layer.comments,
            layer.direction,
            layer.explicit,
            layer.name,
            layer.parent,
            layer.process_information,
            layer.sent_time,
            layer.sniffed_on,
            layer.stop_dissection_after,
            layer.time,
            layer.wirelen,
        ) = self._constants
        layer.fields = fields
        layer.original = original
        layer.payload = _NOTHING
        layer.post_transforms = []
        layer.raw_packet_cache = cache
        layer.underlayer = below
        for name, value in self._more:
            put(layer, name, value)
        layer.__class__ = self._class
        if below is not None:
            put(below, "payload", layer)
        return layer


class _BlankFlags(FlagValue):
    """A class with the layout of FlagValue, without its slow __setattr__."""

    __slots__ = ()
    __setattr__ = put
    __delattr__ = object.__delattr__


_NOTHING: Final = NoPayload()
_new: Final = object.__new__


class Shapes(dict[Any, Any]):
    """The forms of the layers of packets, by what packets of one shape have in common.

    None: packets of this shape cannot be copied.
    """

    def learn(self, key: object, sample: Packet, shape: Any, made: Packet | None) -> None:
        """Note the shape of a packet that Scapy dissected.

        :param shape: the forms of its layers, None if they cannot be copied.
        :param made: the same packet, made from these forms; None if that is not possible.
        """
        if len(self) >= _MOST_SHAPES:
            self.clear()
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

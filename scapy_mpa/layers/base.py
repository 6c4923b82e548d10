# SPDX-License-Identifier: GPL-2.0-or-later
"""The base class of all layers."""

from __future__ import annotations

from typing import Any, ClassVar

from scapy.packet import Packet

from scapy_mpa.layers.fields import NoteField
from scapy_mpa.wire.errors import RemoteProtocolError

__all__ = ["_Layer"]


class _Layer(Packet):
    """A packet with fields that are not in its octets.

    - Octets may be ``bytes``, a ``bytearray`` or a ``memoryview``.
    - Too few octets raise RemoteProtocolError; too few octets of a payload become ``Raw``.
    - Off-wire fields that show how to read octets may be given together with them.
    - Notes (see :class:`~scapy_mpa.layers.fields.NoteField`) are left out of comparison,
      ``command()`` and ``json()``.
    - The summary of a packet includes the summaries of the layers below.
    """

    identity: ClassVar[str] = ""
    """The fields in its summary, as for ``sprintf``."""
    shortest: ClassVar[int] = 0
    """Octets of this layer, at least."""
    reads_with: ClassVar[tuple[str, ...]] = ()
    """Names of the off-wire fields that are needed to read octets with certainty."""

    # Scapy dissects before it sets the fields that are given together with octets.
    __slots__ = ["_read_with"]

    def __init__(
        self, _pkt: bytes | bytearray | memoryview = b"", *args: Any, **fields: Any
    ) -> None:
        self._read_with = tuple(map(fields.get, self.reads_with))
        for name, value in zip(self.reads_with, self._read_with, strict=True):
            if value is None:
                # A None would replace the value that dissection finds.
                fields.pop(name, None)
        if isinstance(_pkt, memoryview):
            # Scapy accepts a bytearray, but no memoryview.
            _pkt = bytes(_pkt)
        super().__init__(_pkt, *args, **fields)

    def do_dissect(self, s: bytes) -> bytes:
        if len(s) < self.shortest:
            raise RemoteProtocolError(
                f"{self.name} needs {self.shortest} octets, {len(s)} are there"
            )
        rest: bytes = super().do_dissect(s)
        return rest

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, type(self))
            and all(self.getfieldval(name) == other.getfieldval(name) for name in self._counted())
            and self.payload == other.payload
        )

    def _counted(self) -> list[str]:
        """Return the names of all fields but notes."""
        fields = {each.name: getattr(each, "fld", each) for each in self.fields_desc}
        return [name for name, field in fields.items() if not isinstance(field, NoteField)]

    def _command(self, json: bool = False) -> list[tuple[str, Any]]:
        counted = self._counted()
        return [(name, value) for name, value in super()._command(json) if name in counted]

    def json(self) -> str:
        # Scapy puts a comma between fields and payload even where there are no fields.
        text: str = super().json()
        return text.replace("{, ", "{", 1) if text.startswith("{, ") else text

    def answers(self, other: Packet) -> bool:
        """Return whether this layer answers ``other``; most layers answer none."""
        return False

    def show2(
        self, dump: bool = False, indent: int = 3, lvl: str = "", label_lvl: str = ""
    ) -> str | None:
        octets = bytes(self)
        read = type(self)(octets)
        given = {name: self.getfieldval(name) for name in self.reads_with}
        if any(each not in (None, read.getfieldval(name)) for name, each in given.items()):
            read = type(self)(octets, **given)
        shown: str | None = read.show(dump, indent, lvl, label_lvl)
        return shown

    def describe(self) -> str:
        """Return the summary of this layer alone."""
        return f"{self.name} {self.sprintf(self.identity)}" if self.identity else str(self.name)

    def mysummary(self) -> tuple[str, list[type[Packet]]]:
        below = self.underlayer
        return self.describe(), [] if below is None else [type(below)]

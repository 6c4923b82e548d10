# SPDX-License-Identifier: GPL-2.0-or-later
"""Packs and unpacks the fixed fields of headers, with our own exceptions."""

from __future__ import annotations

import struct
from struct import Struct
from typing import Any

from scapy_mpa.wire.errors import LocalProtocolError, RemoteProtocolError
from scapy_mpa.wire.shown import quoted


def packed(layout: Struct, clause: str, **values: Any) -> bytes:
    """Return the octets of fields.

    :param clause: the clause that defines them, such as ``RFC 4960 3.1``.
    :param values: values by name, in the order of the layout.
    :raises LocalProtocolError: a number does not fit its field.
    """
    try:
        return layout.pack(*values.values())
    except struct.error as error:
        given = ", ".join(f"{name} {quoted(value)}" for name, value in values.items())
        raise LocalProtocolError(f"{given}: one does not fit its field ({clause})") from error


def unpacked(layout: Struct, what: str, octets: bytes | bytearray | memoryview) -> tuple[Any, ...]:
    """Return the numbers at the beginning of ``octets``.

    :param what: name of the header for the error, such as ``an INIT``.
    :raises RemoteProtocolError: there are too few octets.
    """
    if len(octets) < layout.size:
        raise RemoteProtocolError(f"{what} needs {layout.size} octets, {len(octets)} are there")
    return layout.unpack_from(octets)

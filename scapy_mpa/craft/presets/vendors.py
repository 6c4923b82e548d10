# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets: stacks in the field that differ from the documents (docs/dialects.md)."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.presets.preset import preset
from scapy_mpa.craft.script import StartupItem

__all__ = ["erdma", "osc", "osc_without_crcs", "siw_terminate", "softuiwarp"]

_STAG: Final = 0x10010001
_GSO: Final = 0x08
"""The bit of Res with which siw asks for FPDUs that are larger than a segment, and grants them."""


def _talk(conversation: Conversation, rng: Random) -> Conversation:
    """Let both sides say a little, and close."""
    left, right = conversation.sides
    left.send(rng.randbytes(51))
    right.write(rng.randbytes(3003), _STAG, 0x1000)
    left.read(rng.randbytes(2000), _STAG, 0, 2, 0)
    right.send(rng.randbytes(5), solicited=True)
    left.write(rng.randbytes(1500), _STAG, 0x2000)
    left.send(rng.randbytes(31))
    conversation.close()
    return conversation


@preset("erdma", "Alibaba's erdma: revision 129, with an extension in the startup frames")
def erdma(rng: Random, **options: Any) -> Conversation:
    """Neither Markers nor CRCs."""
    conversation = Conversation(**{"dialect": "erdma", **options})
    conversation.startup(
        b"from erdma", b"to erdma", extension=rng.randbytes(8), reply_extension=rng.randbytes(8)
    )
    return _talk(conversation, rng)


@preset("softuiwarp", "SoftUiWARP: other pads than RFC 5044, so FPDUs leave the 4-octet grid")
def softuiwarp(rng: Random, **options: Any) -> Conversation:
    """Neither Markers nor CRCs; ULPDUs of odd length, after which the pads tell."""
    conversation = Conversation(**{"dialect": "softuiwarp", **options})
    return _talk(conversation, rng)


@preset("osc", "OSC's software iWARP: Markers drift, FPDUPTR is little-endian")
def osc(rng: Random, **options: Any) -> Conversation:
    """Markers both ways, counted without CRC fields; Rev 0 in the Request and 1 in the Reply."""
    conversation = Conversation(**{"dialect": "osc", "markers": True, **options})
    return _talk(conversation, rng)


@preset("osc-without-crcs", "OSC's software iWARP with CRCs off: FPDUs have no CRC field")
def osc_without_crcs(rng: Random, **options: Any) -> Conversation:
    """Markers in what the Responder sends, none in what the Initiator sends."""
    own = {"dialect": "osc", "crc": False, "markers": (True, False)}
    return _talk(Conversation(**{**own, **options}), rng)


@preset("siw-terminate", "Linux siw: FPDUs larger than a segment (GSO), a Terminate in its layout")
def siw_terminate(rng: Random, **options: Any) -> Conversation:
    """Bit 0x08 of Res in Request and Reply; the Terminate has its first four octets mirrored."""
    own = {"mulpdu": 8000, "packing": "stream"}
    conversation = Conversation(**{**own, **options})
    conversation.startup(b"siw", b"siw, too")
    for number, item in enumerate(conversation.script):
        if isinstance(item, StartupItem):
            conversation.script[number] = replace(item, reserved=_GSO)
    left, right = conversation.sides
    left.write(rng.randbytes(20_000), _STAG, 0x1000)
    left.send(rng.randbytes(50))
    right.terminate(1, 2, 3, mirrored=True)
    conversation.close(1)
    return conversation

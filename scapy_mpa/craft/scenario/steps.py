# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines that say what happens: the verbs of a conversation and of its sides, by their names.

A verb's parameters come in order, then its keywords with a value each and its switches without one,
in any order.  Keywords and switches are the parameters of the method that it calls, with hyphens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.options import INITIATOR, SIDES
from scapy_mpa.craft.scenario.error import ScenarioError, one_of
from scapy_mpa.craft.scenario.values import (
    UINT4,
    UINT8,
    UINT14,
    UINT16,
    UINT32,
    UINT64,
    Chance,
    Read,
    choice,
    data,
    flags,
    seconds,
)
from scapy_mpa.craft.scenario.words import Word
from scapy_mpa.craft.script import SegmentItem
from scapy_mpa.wire.rdmap_names import AtomicOperation

__all__ = ["SIDE_STEPS", "STEPS", "Step"]

_LONGEST_PAUSE: Final = 1_000_000


@dataclass(frozen=True)
class Step:
    """What may be said with a verb."""

    parameters: dict[str, Read] = field(default_factory=dict)
    keywords: dict[str, Read] = field(default_factory=dict)
    switches: Sequence[str] = ()
    call: Callable[..., object] | None = None
    """Takes the conversation and the index of the side, then what was read; None: it is the method
    of this name of who says it."""

    def take(
        self,
        verb: str,
        words: Sequence[Word],
        chance: Chance,
        conversation: Conversation,
        side: int | None,
    ) -> None:
        """Do what a line says.

        :param verb: with the name of the side, if it is one's.
        :param words: after the verb.
        :param side: who says it; None: both do.
        :raises LocalProtocolError: the words are not what is wanted, or a conforming peer must not
            do that.
        """
        rest = list(words)
        values = []
        for name, read in self.parameters.items():
            if not rest:
                raise ScenarioError(f"{verb} wants {name}: {self.usage(verb)}")
            values.append(read(rest.pop(0), chance))
        named: dict[str, Any] = {}
        while rest:
            word = rest.pop(0)
            known = word.octets is None and (
                word.text in self.keywords or word.text in self.switches
            )
            if not known:
                raise ScenarioError(
                    f"{verb} does not know {word}; "
                    + (one_of(word.text, self._names) if self._names else "nothing comes after it")
                )
            key = word.text.replace("-", "_")
            if key in named:
                raise ScenarioError(f"{word.text} twice")
            if word.text in self.switches:
                named[key] = True
            elif rest:
                named[key] = _read(word.text, self.keywords[word.text], rest.pop(0), chance)
            else:
                raise ScenarioError(f"{word.text} wants a value: {self.usage(verb)}")
        if self.call is not None:
            self.call(conversation, side or INITIATOR, *values, **named)
            return
        name = verb.split()[-1].replace("-", "_")
        method = getattr(conversation if side is None else conversation.sides[side], name, None)
        if method is None:
            raise ScenarioError(f"there is no {name} in this dialect")
        method(*values, **named)

    def usage(self, verb: str) -> str:
        """Return what may be said, in one line."""
        parts = [name.upper() for name in self.parameters]
        parts += [f"[{name} {name.upper()}]" for name in self.keywords]
        parts += [f"[{name}]" for name in self.switches]
        return " ".join([verb, *parts])

    @property
    def _names(self) -> list[str]:
        return [*self.keywords, *self.switches]


def _read(name: str, read: Read, word: Word, chance: Chance) -> Any:
    try:
        return read(word, chance)
    except ScenarioError as error:
        raise ScenarioError(f"{name}: {error}") from error


def _close(conversation: Conversation, side: int, *, half: bool = False) -> None:
    conversation.close(side, both=not half)


def _terminate(conversation: Conversation, side: int, *codes: int, quoting: bool = False) -> None:
    last: Any = conversation.script[-1] if conversation.script else None
    if quoting and not isinstance(last, SegmentItem):
        raise ScenarioError("there is nothing to quote: an FPDU comes right before")
    conversation.sides[side].terminate(*codes, in_error=last if quoting else None)


_OPERATION: Final = choice(
    {"fetch-add": AtomicOperation.FETCH_ADD, "cmp-swap": AtomicOperation.CMP_SWAP}
)
_SIDE: Final = choice({name: side for side, name in enumerate(SIDES)})
_READ: Final = {"sink-stag": UINT32, "sink-to": UINT64, "src-stag": UINT32, "src-to": UINT64}
_SINK: Final = {"sink-stag": UINT32, "sink-to": UINT64}
_OPERANDS: Final = {
    "stag": UINT32,
    "to": UINT64,
    "add-or-swap-data": UINT64,
    "add-or-swap-mask": UINT64,
    "compare-data": UINT64,
    "compare-mask": UINT64,
    "request-identifier": UINT32,
}

SIDE_STEPS: Final = {
    "send": Step({"data": data}, {"invalidate-stag": UINT32}, ("solicited",)),
    "write": Step({"data": data}, {"stag": UINT32, "to": UINT64}),
    "read": Step({"data": data}, _READ),
    "read-request": Step({"size": UINT32}, _READ),
    "read-response": Step({"data": data}, _SINK),
    "immediate": Step({"data": data}, {}, ("solicited",)),
    "atomic": Step({"operation": _OPERATION}, {**_OPERANDS, "original": UINT64}),
    "atomic-request": Step({"operation": _OPERATION}, _OPERANDS),
    "atomic-response": Step({}, {"original": UINT64, "request-identifier": UINT32}),
    "terminate": Step(
        {"layer": UINT4, "etype": UINT4, "error-code": UINT8}, {}, ("quoting",), _terminate
    ),
    "fpdu": Step({"ulpdu": data}, {"ulpdu-length": UINT16, "pad": data, "crc": data}),
    "frame": Step(
        {"ulpdu": data},
        {
            "header-size": UINT16,
            "payload-size": UINT16,
            "vtag": UINT16,
            "header-crc": data,
            "payload-crc": data,
        },
    ),
    "rtr-frame": Step({}, {"private-data": data, "key": data}),
    "octets": Step({"data": data}),
    "flush": Step(),
    "close": Step(switches=("half",), call=_close),
    "reset": Step(call=Conversation.reset),
}
"""What follows ``initiator`` or ``responder``."""

STEPS: Final = {
    "startup": Step(
        {},
        {
            "private-data": data,
            "reply-private-data": data,
            "extension": data,
            "reply-extension": data,
            "ird": UINT14,
            "ord": UINT14,
            "control-flags": flags,
            "reply-ird": UINT14,
            "reply-ord": UINT14,
            "reply-control-flags": flags,
            "rtr": choice({name: name for name in ("send", "write", "read")}),
            "rtr-private-data": data,
        },
        ("rejected",),
    ),
    "negotiate": Step({}, {"first": _SIDE}),
    "pause": Step({"seconds": seconds(0, _LONGEST_PAUSE)}),
    "close": Step(call=_close),
    "reset": Step(call=Conversation.reset),
}
"""What begins a line by itself."""

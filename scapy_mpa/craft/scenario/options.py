# SPDX-License-Identifier: GPL-2.0-or-later
"""The option lines of a scenario: options of Conversation, by their names.

The dialect decides on the class of the conversation.  Some options belong to one class only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from scapy_mpa.capture.write import LATEST_SECOND
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.endpoint import Endpoint
from scapy_mpa.craft.ift_conversation import IFTConversation
from scapy_mpa.craft.options import LONGEST_RTT, SIDES
from scapy_mpa.craft.scenario.error import ScenarioError
from scapy_mpa.craft.scenario.values import (
    UINT8,
    UINT16,
    UINT32,
    Chance,
    Read,
    choice,
    endpoint,
    number,
    seconds,
    text,
)
from scapy_mpa.craft.scenario.words import Word
from scapy_mpa.craft.sctp import SctpConversation
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import DIALECT_NAMES

_SWITCH: Final = choice({"on": True, "off": False})
_WHICH_SIDES: Final = choice(
    {
        "neither": (False, False),
        "initiator": (True, False),
        "responder": (False, True),
        "both": (True, True),
    }
)

_FLAGS: Final = ("r", "hc", "pc", "ih", "ip", "sp", "sm", "rm")
"""Flags of an adaption indication (draft-williams-iwarp-ift-01 4.2)."""

OPTIONS: Final[dict[str, tuple[Read, ...]]] = {
    "endpoints": (endpoint, endpoint),
    "macs": (text, text),
    "isns": (UINT32, UINT32),
    "dialect": (choice({name: name for name in DIALECT_NAMES}),),
    "revision": (UINT8,),
    "markers": (_WHICH_SIDES,),
    "crc": (_WHICH_SIDES,),
    "rtr-frame": (_WHICH_SIDES,),
    "mss": (UINT16,),
    "mulpdu": (UINT16,),
    "packing": (choice({name: name for name in ("aligned", "packed", "stream")}),),
    "vlan": (UINT16,),
    "ack-every": (UINT16,),
    "start-time": (seconds(0, LATEST_SECOND),),
    "rtt": (seconds(0, LONGEST_RTT),),
    "ddp-version": (number(0, 3),),
    "rdmap-version": (number(0, 3),),
    "handshake": (_SWITCH,),
    "strict": (_SWITCH,),
    **dict.fromkeys(_FLAGS, (_WHICH_SIDES,)),
    "vtags": (UINT16, UINT16),
    "marker-interval": (UINT16,),
    "seed": (number(0, 1 << 64),),
}
"""By option, the values that follow it, in order; pairs are for Initiator and Responder."""

_OF_ENDPOINTS: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "endpoints": lambda end: {"address": end.address, "port": end.port},
    "macs": lambda mac: {"mac": mac},
    "isns": lambda isn: {"isn": isn},
}
"""Options of both endpoints, as fields of Endpoint."""

_CLASSES: Final[dict[str | None, type[Conversation]]] = {
    Dialect.DRAFT_IFT_01.value: IFTConversation,
    Dialect.RFC5043.value: SctpConversation,
}
"""The classes of conversations that are not MPA, by dialect."""

_MPA_ONLY: Final = frozenset({"markers", "crc", "rtr-frame"})
_IFT_ONLY: Final = frozenset({*_FLAGS, "vtags", "marker-interval"})
_FOREIGN: Final[dict[type[Conversation], frozenset[str]]] = {
    Conversation: _IFT_ONLY,
    IFTConversation: _MPA_ONLY | {"revision"},
    SctpConversation: _MPA_ONLY | _IFT_ONLY,
}
"""Options that the conversations of a class do not have."""


class OptionLines:
    """The options of a scenario that were read so far.

    :param others: arguments of the conversation, which replace options of the text.
    """

    def __init__(self, others: Mapping[str, Any]) -> None:
        self._others = others
        self.seed: int | None = None
        self._given: dict[str, Any] = {}
        self._seen: set[str] = set()
        self._ends: list[Endpoint] = list(Conversation().endpoints)

    def take(self, words: list[Word]) -> None:
        """Take a line that begins with the name of an option.

        :raises LocalProtocolError: its values are wrong, or do not fit the options before.
        """
        (name, *rest), reads = [words[0].text, *words[1:]], OPTIONS[words[0].text]
        if name in self._seen:
            raise ScenarioError(f"{name} is given twice")
        self._seen.add(name)
        if len(rest) != len(reads):
            wanted = f"both {' and '.join(SIDES)} want one" if len(reads) == 2 else "one is wanted"
            raise ScenarioError(f"{len(rest)} values after {name}; {wanted}")
        nothing = Chance(0)
        values = [read(word, nothing) for read, word in zip(reads, rest, strict=True)]
        if name == "seed":
            (self.seed,) = values
        elif name in _OF_ENDPOINTS:
            self._ends = [
                replace(own, **_OF_ENDPOINTS[name](value))
                for own, value in zip(self._ends, values, strict=True)
            ]
        else:
            self._given[name] = values[0] if len(values) == 1 else tuple(values)
        # A conversation is made at once, so that an error names this line.
        self.conversation()

    def conversation(self) -> Conversation:
        """Return a conversation with these options, of the class for the dialect.

        :raises LocalProtocolError: the dialect does not have one of them, or a value is not in
            range.
        """
        given = dict(self._given)
        dialect = given.get("dialect")
        made = _CLASSES.get(dialect, Conversation)
        if made is not Conversation:
            del given["dialect"]
        for name in given:
            if name in _FOREIGN[made]:
                where = "of MPA" if dialect is None else f"of {dialect}"
                raise ScenarioError(f"{name} is no option {where}; name its dialect first")
        named = {name.replace("-", "_"): each for name, each in given.items()}
        ends = dict(zip(SIDES, self._ends, strict=True))
        return made(**{**ends, **named, **self._others})

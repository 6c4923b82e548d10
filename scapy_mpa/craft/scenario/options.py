# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines that say how a conversation is carried on: options of Conversation by their names.

The dialect says which kind of conversation it is, and some options are of one kind only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from scapy_mpa.capture.write_pcap import LATEST_SECOND
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
_WHO: Final = choice(
    {
        "neither": (False, False),
        "initiator": (True, False),
        "responder": (False, True),
        "both": (True, True),
    }
)

_FLAGS: Final = ("r", "hc", "pc", "ih", "ip", "sp", "sm", "rm")
"""Of an adaption indication (draft-williams-iwarp-ift-01 4.2)."""

OPTIONS: Final[dict[str, tuple[Read, ...]]] = {
    "endpoints": (endpoint, endpoint),
    "macs": (text, text),
    "isns": (UINT32, UINT32),
    "dialect": (choice({name: name for name in DIALECT_NAMES}),),
    "revision": (UINT8,),
    "markers": (_WHO,),
    "crc": (_WHO,),
    "rtr-frame": (_WHO,),
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
    **dict.fromkeys(_FLAGS, (_WHO,)),
    "vtags": (UINT16, UINT16),
    "marker-interval": (UINT16,),
    "seed": (number(0, 1 << 64),),
}
"""What is wanted after each, in order; pairs are for Initiator and Responder."""

_OF_ENDPOINTS: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "endpoints": lambda end: {"address": end.address, "port": end.port},
    "macs": lambda mac: {"mac": mac},
    "isns": lambda isn: {"isn": isn},
}
"""What is said of both endpoints, as their fields."""

_CLASSES: Final[dict[str | None, type[Conversation]]] = {
    Dialect.DRAFT_IFT_01.value: IFTConversation,
    Dialect.RFC5043.value: SctpConversation,
}
"""Those dialects that other conversations speak than those of MPA."""

_MPA_ONLY: Final = frozenset({"markers", "crc", "rtr-frame"})
_IFT_ONLY: Final = frozenset({*_FLAGS, "vtags", "marker-interval"})
_FOREIGN: Final[dict[type[Conversation], frozenset[str]]] = {
    Conversation: _IFT_ONLY,
    IFTConversation: _MPA_ONLY | {"revision"},
    SctpConversation: _MPA_ONLY | _IFT_ONLY,
}
"""Options that conversations of a class do not have."""


class OptionLines:
    """The options of a scenario, as far as they were read.

    :param others: arguments of the conversation, which win over what is said.
    """

    def __init__(self, others: Mapping[str, Any]) -> None:
        self._others = others
        self.seed: int | None = None
        self._given: dict[str, Any] = {}
        self._seen: set[str] = set()
        self._ends: list[Endpoint] = list(Conversation().endpoints)

    def take(self, words: list[Word]) -> None:
        """Take a line that begins with the name of an option.

        :raises LocalProtocolError: its values are not what is wanted, or do not go together with
            those before.
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
        # What is wrong is reported where it was said.
        self.conversation()

    def conversation(self) -> Conversation:
        """Return a conversation with these options, of the class that the dialect calls for.

        :raises LocalProtocolError: one of them is none of that dialect's, or not in range.
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
        said = {name.replace("-", "_"): each for name, each in given.items()}
        ends = dict(zip(SIDES, self._ends, strict=True))
        return made(**{**ends, **said, **self._others})

# SPDX-License-Identifier: GPL-2.0-or-later
"""The option lines of a scenario: options of Conversation, by their names.

The dialect decides on the class of the conversation.  Some options belong to one class only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from scapy_mpa.capture.write import LATEST_SECOND
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.endpoint import USUAL_INITIATOR, USUAL_RESPONDER
from scapy_mpa.craft.ift_conversation import IFTConversation
from scapy_mpa.craft.options import LARGEST_MSS, LONGEST_RTT, SIDES, SMALLEST_ULPDU_LIMIT
from scapy_mpa.craft.scenario.error import ScenarioError
from scapy_mpa.craft.scenario.values import (
    Chance,
    Read,
    choice,
    endpoint,
    field,
    number,
    seconds,
    text,
)
from scapy_mpa.craft.scenario.words import Word
from scapy_mpa.craft.sctp import SctpConversation
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import DIALECT_NAMES
from scapy_mpa.wire.fpdu import LARGEST_ULPDU_LENGTH

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
    "isns": (field(32), field(32)),
    "dialect": (choice({name: name for name in DIALECT_NAMES}),),
    "revision": (field(8),),
    "reply-revision": (field(8),),
    "markers": (_WHICH_SIDES,),
    "crc": (_WHICH_SIDES,),
    "rtr-frame": (_WHICH_SIDES,),
    "mss": (number(1, LARGEST_MSS),),
    "mulpdu": (number(SMALLEST_ULPDU_LIMIT, LARGEST_ULPDU_LENGTH),),
    "packing": (choice({name: name for name in ("aligned", "packed", "stream")}),),
    "vlan": (field(16),),
    "ack-every": (field(16),),
    "start-time": (seconds(0, LATEST_SECOND),),
    "rtt": (seconds(0, LONGEST_RTT),),
    "ddp-version": (number(0, 3),),
    "rdmap-version": (number(0, 3),),
    "handshake": (_SWITCH,),
    "strict": (_SWITCH,),
    **dict.fromkeys(_FLAGS, (_WHICH_SIDES,)),
    "vtags": (field(16), field(16)),
    "marker-interval": (field(16),),
    "seed": (field(64),),
}
"""By option, the values that follow it, in order; pairs are for Initiator and Responder."""

_NO_ARGUMENTS: Final = frozenset({"endpoints", "macs", "isns", "seed"})
"""Options that are no arguments of a conversation: parts of its endpoints, and the seed."""

_NO_DATA: Final = Chance(0)
"""No option has random data as its value."""

_CLASSES: Final[dict[str | None, type[Conversation]]] = {
    Dialect.DRAFT_IFT_01.value: IFTConversation,
    Dialect.RFC5043.value: SctpConversation,
}
"""The classes of conversations that are not MPA, by dialect."""

_MPA_ONLY: Final = frozenset({"markers", "crc", "rtr-frame"})
_IFT_ONLY: Final = frozenset({*_FLAGS, "vtags", "marker-interval"})
_FOREIGN: Final[dict[type[Conversation], frozenset[str]]] = {
    Conversation: _IFT_ONLY,
    IFTConversation: _MPA_ONLY | {"revision", "reply-revision"},
    SctpConversation: _MPA_ONLY | _IFT_ONLY,
}
"""Options that the conversations of a class do not have."""


class OptionLines:
    """The options of a scenario that were read so far.

    :param others: arguments of the conversation, which replace options of the text.
    """

    def __init__(self, others: Mapping[str, Any]) -> None:
        self._others = others
        self._given: dict[str, Any] = {}

    @property
    def seed(self) -> int:
        """The seed of random data."""
        seed: int = self._given.get("seed", 0)
        return seed

    def take(self, words: list[Word]) -> None:
        """Take a line that begins with the name of an option.

        :raises LocalProtocolError: its values are wrong, or do not fit the options before.
        """
        (name, *rest), reads = [words[0].text, *words[1:]], OPTIONS[words[0].text]
        if name in self._given:
            raise ScenarioError(f"{name} is given twice")
        if len(rest) != len(reads):
            wanted = f"both {' and '.join(SIDES)} want one" if len(reads) == 2 else "one is wanted"
            raise ScenarioError(f"{len(rest)} values after {name}; {wanted}")
        values = [read(word, _NO_DATA) for read, word in zip(reads, rest, strict=True)]
        self._given[name] = values[0] if len(values) == 1 else tuple(values)
        # A conversation is made at once, so that an error names this line.
        self.conversation()

    def conversation(self) -> Conversation:
        """Return a conversation with these options, of the class for the dialect.

        :raises LocalProtocolError: the dialect does not have one of them, or a value is not in
            range.
        """
        given = {name: each for name, each in self._given.items() if name not in _NO_ARGUMENTS}
        dialect = given.get("dialect")
        made = _CLASSES.get(dialect, Conversation)
        if made is not Conversation:
            del given["dialect"]
        for name in given:
            if name in _FOREIGN[made]:
                where = "of MPA" if dialect is None else f"of {dialect}"
                raise ScenarioError(f"{name} is no option {where}; name its dialect first")
        named = {name.replace("-", "_"): each for name, each in given.items()}
        ends = self._given.get("endpoints", (USUAL_INITIATOR, USUAL_RESPONDER))
        macs, isns = (self._given.get(name, (None, None)) for name in ("macs", "isns"))
        for side, end, mac, isn in zip(SIDES, ends, macs, isns, strict=True):
            named[side] = replace(end, mac=mac, isn=isn)
        return made(**{**named, **self._others})

# SPDX-License-Identifier: GPL-2.0-or-later
"""The step lines of a scenario: verbs of a conversation and of its sides, by their names.

The required parameters of a verb come first, in order.  Then come keywords, each with a value, and
switches without one, in any order.  All have the names of the method's parameters, with hyphens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.options import INITIATOR, SIDES
from scapy_mpa.craft.scenario.error import ScenarioError, one_of
from scapy_mpa.craft.scenario.values import Chance, Read, choice, data, field, flags, seconds
from scapy_mpa.craft.scenario.words import Word
from scapy_mpa.craft.script import SegmentItem
from scapy_mpa.wire.rdmap_names import AtomicOperation

_LONGEST_PAUSE: Final = 1_000_000

_READERS: Final[dict[str, Read]] = {
    name: read
    for read, names in (
        (data, "data ulpdu pad crc key header-crc payload-crc extension reply-extension"),
        (data, "private-data reply-private-data rtr-private-data"),
        (field(4), "layer etype"),
        (field(8), "error-code"),
        (field(14), "ird ord reply-ird reply-ord"),
        (field(16), "ulpdu-length header-size payload-size vtag"),
        (field(32), "size stag sink-stag src-stag invalidate-stag request-identifier"),
        (field(64), "to sink-to src-to original"),
        (field(64), "add-or-swap-data add-or-swap-mask compare-data compare-mask"),
        (flags, "control-flags reply-control-flags"),
        (choice({name: name for name in ("send", "write", "read")}), "rtr"),
        (choice({name: side for side, name in enumerate(SIDES)}), "first"),
        (seconds(0, _LONGEST_PAUSE), "seconds"),
        (
            choice({each.name.lower().replace("_", "-"): each for each in AtomicOperation}),
            "operation",
        ),
    )
    for name in names.split()
}
"""The reader of each parameter's value; a parameter without one is a switch."""


class Step(NamedTuple):
    """The syntax of a verb."""

    wanted: str = ""
    """Required parameters, in order."""
    optional: str = ""
    """Keywords and switches."""
    call: Callable[..., object] | None = None
    """Takes the conversation, the index of the side and the values; None: the step calls the method
    of its name, of the side or of the conversation."""

    @property
    def keywords(self) -> list[str]:
        """Optional parameters with a value."""
        return [name for name in self.optional.split() if name in _READERS]

    @property
    def switches(self) -> list[str]:
        """Optional parameters without a value."""
        return [name for name in self.optional.split() if name not in _READERS]

    def take(
        self,
        verb: str,
        words: Sequence[Word],
        chance: Chance,
        conversation: Conversation,
        side: int | None,
    ) -> None:
        """Carry out a line.

        :param verb: the verb, after the name of its side if it has one.
        :param words: the words after the verb.
        :param side: the index of the side; None: it is a verb of the conversation.
        :raises LocalProtocolError: the words are wrong, or a conforming peer must not do that.
        """
        rest = list(words)
        values = []
        for name in self.wanted.split():
            if not rest:
                raise ScenarioError(f"{verb} wants {name}: {self.usage(verb)}")
            values.append(_READERS[name](rest.pop(0), chance))
        named: dict[str, Any] = {}
        known = self.optional.split()
        while rest:
            word = rest.pop(0)
            if word.octets is not None or word.text not in known:
                hint = one_of(word.text, known) if known else "nothing comes after it"
                raise ScenarioError(f"{verb} does not know {word}; {hint}")
            key = word.text.replace("-", "_")
            if key in named:
                raise ScenarioError(f"{word.text} twice")
            if word.text not in _READERS:
                named[key] = True
            elif rest:
                named[key] = _read(word.text, rest.pop(0), chance)
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
        """Return the syntax of the verb, in one line."""
        parts = [name.upper() for name in self.wanted.split()]
        parts += [f"[{name} {name.upper()}]" for name in self.keywords]
        parts += [f"[{name}]" for name in self.switches]
        return " ".join([verb, *parts])


def _read(name: str, word: Word, chance: Chance) -> Any:
    try:
        return _READERS[name](word, chance)
    except ScenarioError as error:
        raise ScenarioError(f"{name}: {error}") from error


def _close(conversation: Conversation, side: int, *, half: bool = False) -> None:
    conversation.close(side, both=not half)


def _terminate(conversation: Conversation, side: int, *codes: int, quoting: bool = False) -> None:
    last: Any = conversation.script[-1] if conversation.script else None
    if quoting and not isinstance(last, SegmentItem):
        raise ScenarioError("there is no FPDU to quote right before this step")
    conversation.sides[side].terminate(*codes, in_error=last if quoting else None)


_SINK: Final = "sink-stag sink-to"
_SOURCE: Final = "src-stag src-to"
_OPERANDS: Final = (
    "stag to add-or-swap-data add-or-swap-mask compare-data compare-mask request-identifier"
)

SIDE_STEPS: Final = {
    "send": Step("data", "invalidate-stag solicited"),
    "write": Step("data", "stag to"),
    "read": Step("data", f"{_SINK} {_SOURCE}"),
    "read-request": Step("size", f"{_SINK} {_SOURCE}"),
    "read-response": Step("data", _SINK),
    "immediate": Step("data", "solicited"),
    "atomic": Step("operation", f"{_OPERANDS} original"),
    "atomic-request": Step("operation", _OPERANDS),
    "atomic-response": Step("", "original request-identifier"),
    "terminate": Step("layer etype error-code", "quoting", _terminate),
    "fpdu": Step("ulpdu", "ulpdu-length pad crc"),
    "frame": Step("ulpdu", "header-size payload-size vtag header-crc payload-crc"),
    "rtr-frame": Step("", "private-data key"),
    "octets": Step("data"),
    "flush": Step(),
    "close": Step("", "half", _close),
    "reset": Step("", "", Conversation.reset),
}
"""The verbs after ``initiator`` or ``responder``."""

STEPS: Final = {
    "startup": Step(
        "",
        "private-data reply-private-data extension reply-extension ird ord control-flags reply-ird "
        "reply-ord reply-control-flags rtr rtr-private-data rejected",
    ),
    "negotiate": Step("", "first"),
    "pause": Step("seconds"),
    "close": Step("", "", _close),
    "reset": Step("", "", Conversation.reset),
}
"""The verbs at the beginning of a line."""

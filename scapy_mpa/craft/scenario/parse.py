# SPDX-License-Identifier: GPL-2.0-or-later
"""Parses the text of a scenario into a conversation."""

from __future__ import annotations

import re
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.options import SIDES
from scapy_mpa.craft.scenario.error import ScenarioError, one_of
from scapy_mpa.craft.scenario.options import OPTIONS, OptionLines
from scapy_mpa.craft.scenario.steps import SIDE_STEPS, STEPS
from scapy_mpa.craft.scenario.values import Chance, number
from scapy_mpa.craft.scenario.words import Word, words_of
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.errors import LocalProtocolError

MOST_STEPS: Final = 1 << 18
"""Steps of a scenario, at most, with each repetition: so many take some seconds."""

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
"""Line ends that editors count.  Python knows others, which may be in a string."""

_REPEAT: Final = "repeat"
_LOOSE_HINT: Final = "; to send it all the same"
"""The beginning of a hint that is for Python code, in errors of conversations."""


def parse_scenario(
    text: str, name: str = "scenario", *, seed: int | str | None = None, **others: Any
) -> Conversation:
    """Return the conversation that a text describes (``docs/scenarios.md``).

    :param name: name of the text for error messages, such as its file name.
    :param seed: seed of data that are given by their size only; None: that of the text, else 0.
    :param others: arguments of the conversation, which replace options of the text.
    :raises ScenarioError: the text cannot be understood, or describes something impossible.  The
        message says in which line, from 1, and what is expected there.
    """
    options = OptionLines(others)
    steps: _Steps | None = None
    for line_number, line in enumerate(_LINE_END.split(text), 1):
        try:
            words = words_of(line)
            if not words:
                continue
            if words[0].octets is None and words[0].text in OPTIONS:
                if steps is not None:
                    raise ScenarioError(
                        f"{words[0].text} is an option: options come before the first step"
                    )
                options.take(words)
                continue
            if steps is None:
                conversation = options.conversation()
                chance = Chance(
                    options.seed if seed is None else seed,
                    max(1, min(conversation.mulpdus) - UNTAGGED_LENGTH),
                    conversation.options.mss,
                )
                steps = _Steps(conversation, chance)
            steps.take(words)
        except LocalProtocolError as error:
            problem, hint, _ = str(error).partition(_LOOSE_HINT)
            hint += ", say `strict off` before the first step" if hint else ""
            raise ScenarioError(f"{name}:{line_number}: {problem}{hint}") from error
    if steps is None:
        raise ScenarioError(f"{name}: no step; say what happens, such as `initiator send 1000`")
    return steps.conversation


class _Steps:
    """The steps of a scenario that were read so far."""

    def __init__(self, conversation: Conversation, chance: Chance) -> None:
        self.conversation = conversation
        self._chance = chance
        self._left = MOST_STEPS

    def take(self, words: list[Word]) -> None:
        """Take a line with a step.

        :raises LocalProtocolError: it cannot be understood, or describes something impossible.
        """
        times = 1
        first, *rest = words
        if first.octets is None and first.text == _REPEAT:
            if len(rest) < 2 or rest[1].text in (_REPEAT, *OPTIONS):
                raise ScenarioError("repeat wants a number and a step: repeat 10 initiator send 64")
            times = number(0, MOST_STEPS)(rest[0], self._chance)
            words = rest[1:]
        self._left -= times
        if self._left < 0:
            raise ScenarioError(f"more than {MOST_STEPS} steps in one scenario")
        for _ in range(times):
            self._chance.take_pieces(1)
            self._step(words)

    def _step(self, words: list[Word]) -> None:
        conversation = self.conversation
        before = len(conversation.script)
        first, *rest = words
        side: int | None = None
        known = STEPS
        what = first.text
        if first.octets is None and what in SIDES:
            side = SIDES.index(what)
            known = SIDE_STEPS
            if not rest:
                raise ScenarioError(f"{what} does what? {', '.join(known)}")
            first, *rest = rest
            what = f"{what} {first.text}"
        if first.octets is not None or first.text not in known:
            names = [*known] if known is SIDE_STEPS else [*SIDES, *known, _REPEAT, *OPTIONS]
            kind = "step" if known is SIDE_STEPS else "option or step"
            raise ScenarioError(f"no {kind} {first}; {one_of(first.text, names)}")
        known[first.text].take(what, rest, self._chance, conversation, side)
        # The items are checked at once, so that an error names this line.
        conversation.check(conversation.script[before:])

# SPDX-License-Identifier: GPL-2.0-or-later
"""One rule broken on purpose, in a conversation in which everything else is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from random import Random
from typing import Final, TypeAlias

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.expectation import Action, Expectation
from scapy_mpa.craft.script import Item
from scapy_mpa.craft.segment import Segment
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted
from scapy_mpa.wire.tcp import FIN, RST

Base: TypeAlias = Callable[[Random], Conversation]
"""Makes a valid conversation."""

Change: TypeAlias = Callable[[Conversation, Random], Conversation]
"""Takes a valid conversation; returns one whose script breaks a rule."""

Table: TypeAlias = Mapping[Base, Mapping[str, Change]]
"""The changes of mutations: by the base that they start from, then by name."""

_NAME: Final = re.compile(r"[a-z0-9-]+(/[a-z0-9.-]+){2,}")
_RFC: Final = re.compile(r"rfc(\d+)")


@dataclass(frozen=True, slots=True)
class Mutation:
    """A way to break exactly one rule: other lengths, Markers and CRCs stay right.

    :raises LocalProtocolError: the name has a wrong form.
    """

    name: str
    """``document/clause/what``, such as ``rfc5044/4.3/fpduptr-not-pointing``."""
    breaks: str
    """What is wrong, in a sentence."""
    expectation: Expectation
    base: Base
    """The valid conversation that it starts from."""
    apply: Change
    is_evident: bool = True
    """Whether the octets on the wire show it.  Only the receiver knows its STags and bounds."""
    is_overheard: bool = False
    """Whether only a capture of both directions shows it.  A receiver cannot know, and accepts."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise LocalProtocolError(
                f"{quoted(self.name)} is no name of a mutation: document/clause/what, of "
                "lower-case letters, digits, dots and hyphens"
            )

    @property
    def is_reported(self) -> bool | None:
        """Whether ``dissect --check`` reports an error of it; None: random fuzzing may break any
        rule.

        ``dissect --check`` sees both directions, and checks the DDP segments in FPDUs.
        """
        if self.expectation.action is Action.ANYTHING:
            return None
        return self.is_overheard or (self.expectation.is_error and self.is_evident)

    @property
    def clause(self) -> str:
        """The clause that it breaks, such as ``RFC 5044 4.3``; empty with random fuzzing."""
        if self.expectation.action is Action.ANYTHING:
            return ""
        document, section, *_ = self.name.split("/")
        cited = _RFC.sub(r"RFC \1", document)
        # Names have lower case, but appendices are cited in upper case.
        return f"{cited} {section.upper() if section[1:2] == '.' else section}"

    def case(self, seed: int) -> Case:
        """Return the case of a seed; it is the same each time."""
        # With the name in the seed, two mutations with the same base have different octets.
        rng = Random(f"{self.name} {seed}")
        valid = self.base(rng)
        return Case(self, seed, valid, self.apply(valid, rng))


@dataclass(frozen=True, slots=True)
class Case:
    """The conversation that a mutation makes for a seed."""

    mutation: Mutation
    seed: int
    valid: Conversation
    """The valid conversation before."""
    conversation: Conversation
    """The conversation with the broken rule."""

    @property
    def touched(self) -> range:
        """The range of items of the mutated script that differ from the valid one, or moved."""
        old, new = self.valid.script, self.conversation.script
        first = _alike(old, new)
        last = _alike(reversed(old[first:]), reversed(new[first:]))
        return range(first, len(new) - last)

    def frames(self, segments: list[Segment]) -> list[int]:
        """Return the numbers, from 1, of the frames that break the rule.

        They hold the first touched item.  If an item is left out, they hold the next one, or it is
        the frame that ends the connection, or the last frame.
        """
        first = self.touched.start
        for each in self.conversation.captured(segments):
            if each.placed.number >= first and each.frames:
                return list(each.frames)
        ends = [number for number, segment in enumerate(segments, 1) if segment.flags & (FIN | RST)]
        return ends[:1] or [len(segments)]


def _alike(old: Iterable[Item], new: Iterable[Item]) -> int:
    """Return how many items two scripts have in common at their beginning."""
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))

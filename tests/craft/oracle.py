# SPDX-License-Identifier: GPL-2.0-or-later
"""What must be found in a conversation's captured segments. These rules share no code with it.

``tests/truth/mpastream.py`` makes the streams again from the ULPDUs of the script, and
``tests/truth/findable.py`` says which of their FPDUs must be found, and which may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scapy_mpa.craft import Conversation, FPDUItem, OctetsItem, Segment, StartupItem
from scapy_mpa.stream.segment import SYN
from tests.recovery.reading import Record, judge_fpdus, statement_of
from tests.truth import impair
from tests.truth.captured import Captured
from tests.truth.dimensions import Dimensions
from tests.truth.findable import findable
from tests.truth.mpastream import build_stream
from tests.truth.wanted import Wanted


@dataclass
class Oracle:
    """The FPDUs that can be found in segments."""

    endpoints: tuple[str, str]
    wanted: dict[tuple[int, int], Wanted]
    """By side and sequence number."""
    whole: set[tuple[int, int]]
    """The FPDUs whose octets were all captured unchanged."""

    def judge(self, records: Iterable[Record], *, with_payload: bool) -> None:
        """Compare a dissector's records with the oracle."""
        outcome = judge_fpdus(self.wanted, self.endpoints, records, with_payload=with_payload)
        assert outcome.is_right, outcome

    def judge_truth(self, records: Iterable[Record]) -> None:
        """Compare a conversation's truth with the oracle: exactly the whole FPDUs, with their
        payload."""
        reported = [record for record in records if record["type"] == "fpdu"]
        assert len(reported) == len(self.whole)
        for record in reported:
            key = self.endpoints.index(record["src"]), record["seq"]
            assert key in self.whole
            wanted = self.wanted[key]
            assert statement_of(record) == wanted.statement
            assert record.get("offset") in (None, wanted.offset)


def oracle_of(conversation: Conversation, segments: Sequence[Segment]) -> Oracle:
    """The oracle for a conversation in which everything is right."""
    one, other = (_half(conversation, side) for side in (0, 1))
    options = conversation.options
    marked = tuple(options.has_markers(side) for side in (0, 1))
    named = {(False, False): "neither", (True, True): "both"}
    dimensions = Dimensions(
        markers=named.get(marked) or ("Initiator" if marked[0] else "Responder"),
        crc=options.has_crcs,
        snap=any(each.captured is not None for each in segments),
    )
    captured = [
        (
            impair.Segment(
                each.side,
                each.seq + bool(each.flags & SYN),
                each.ack,
                each.flags,
                each.octets,
            ),
            len(each.octets) if each.captured is None else each.captured,
        )
        for each in segments
    ]
    wanted = findable((one, other), captured, dimensions)
    whole = set()
    for side, half in enumerate((one, other)):
        captured_half = Captured(captured, half, side)
        whole |= {
            (side, (half.base + fpdu.seq_offset) % 2**32)
            for fpdu in half.truth
            if captured_half.is_whole(fpdu.start, fpdu.end)
        }
    endpoints = str(conversation.initiator.endpoint), str(conversation.responder.endpoint)
    return Oracle(endpoints, wanted, whole)


def _half(conversation: Conversation, side: int) -> impair.Half:
    """One direction. What precedes the Full Operation Phase is copied unchanged."""
    before = b""
    streaming: int | None = None
    ulpdus = []
    for placed in conversation.layout():
        item = placed.item
        if isinstance(item, FPDUItem) and item.side == side:
            ulpdus.append(item.ulpdu)
        elif isinstance(item, StartupItem | OctetsItem) and item.side == side:
            assert not ulpdus
            if streaming is None and isinstance(item, StartupItem):
                streaming = len(before)
            before += placed.octets
    options = conversation.options
    octets, truth = build_stream(ulpdus, markers=options.has_markers(side), crc=options.has_crcs)
    return impair.Half(before, octets, truth, conversation.isns[side], streaming or 0)

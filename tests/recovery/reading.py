# SPDX-License-Identifier: GPL-2.0-or-later
"""Read captures as the command line does, and compare what was found with the truth."""

import io
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from scapy_mpa.capture import open_capture
from scapy_mpa.cli.reading import Reading
from scapy_mpa.records.page import RecordPage
from scapy_mpa.records.record import json_of, record_of
from scapy_mpa.stream.messages import Messages
from tests.truth import impair
from tests.truth.cases import Case
from tests.truth.headers import header_of_record
from tests.truth.impair import INITIATOR, RESPONDER
from tests.truth.wanted import Statement, Wanted

Record = dict[str, Any]


def plain(octets: bytes, *, messages: bool = False, **options: Any) -> list[Record]:
    """The records of a capture, with payload, as events.

    options: those of Reading.
    """
    reading = Reading(open_capture(io.BytesIO(octets)), **options)
    pairing = Messages(payload=True)
    return [
        json.loads(json_of(record_of(each, reading.clock, payload=True)))
        for batch in reading.batches()
        for event in batch
        for each in (event, *(pairing.take(event) if messages else ()))
    ]


def printed(octets: bytes, **options: Any) -> list[Record]:
    """The records of a capture, without payload, as ``dissect --json`` prints them."""
    reading = Reading(open_capture(io.BytesIO(octets)), **options)
    page = RecordPage(reading.clock).page
    text = b"".join([page(rows) for rows in reading.rows()])
    return [json.loads(line) for line in text.splitlines()]


@dataclass
class Outcome:
    """What was found in the capture of a case."""

    missing: list[Wanted] = field(default_factory=list)
    """Required, and not found."""
    false: list[Record] = field(default_factory=list)
    """Wrong records, and those of FPDUs that were reported before."""
    required: int = 0
    """How many FPDUs must be found."""
    optional: int = 0
    """How many other FPDUs may be found."""
    optional_found: int = 0
    at_once: int = 0
    """How many FPDUs were reported with the segment that completes them."""

    @property
    def is_right(self) -> bool:
        """Whether everything was found, and nothing else."""
        return not self.missing and not self.false

    def __str__(self) -> str:
        lines = [f"{self.required} required, {self.optional_found} of {self.optional} others"]
        lines += [f"not found: {_short(each)}" for each in self.missing]
        lines += [
            f"false: { ({**each, 'payload': str(each.get('payload'))[:40]}) }"
            for each in self.false
        ]
        return "\n".join(lines)


def _short(wanted: Wanted) -> str:
    statement = wanted.statement
    short = statement._replace(payload=statement.payload[:20])
    return f"offset {wanted.offset}, {short}"


def judge(case: Case, records: Iterable[Record]) -> Outcome:
    """Compare the records of a case's capture with its truth."""
    outcome = Outcome()
    senders = {endpoint: direction for direction, endpoint in enumerate(case.endpoints)}
    gaps: dict[int, list[Record]] = {INITIATOR: [], RESPONDER: []}
    seen: Counter[tuple[int, int]] = Counter()
    found: set[tuple[int, int]] = set()
    for record in records:
        if record["type"] == "fpdu":
            key = senders[record["src"]], record["seq"]
            seen[key] += 1
            if key in case.wanted and seen[key] == 1 and _fits(record, case.wanted[key]):
                found.add(key)
                outcome.at_once += record["frame"] == max(record["frames"])
            else:
                outcome.false.append(record)
        if record["type"] == "gap" and record["reason"] not in ("limit", "snap length"):
            gaps[senders[record["src"]]].append(record)
        if record["type"] == "startup" and not _is_startup_of(case, record, senders):
            outcome.false.append(record)
        if record["type"] == "overlap" and case.dimensions.copies != "differing":
            outcome.false.append(record)
    for direction, reported in gaps.items():
        outcome.false += _false_gaps(case, direction, reported)
    for key, wanted in case.wanted.items():
        if not wanted.is_required:
            outcome.optional += 1
            outcome.optional_found += key in found
            continue
        outcome.required += 1
        if key not in found:
            outcome.missing.append(wanted)
    return outcome


def _false_gaps(case: Case, direction: int, gaps: list[Record]) -> list[Record]:
    """Gaps that hold captured octets, or report missing octets a second time."""
    if not gaps or case.dimensions.snap:
        return []
    half = case.halves[direction]
    octets = impair.first_captured(case.segments, half, direction)
    known = {at for at, octet in enumerate(octets) if octet is not None}
    false = []
    for gap in gaps:
        at = (gap["seq"] - half.base + 2**31) % 2**32 - 2**31
        stretch = range(at, at + gap["length"])
        if not known.isdisjoint(stretch):
            false.append(gap)
        known.update(stretch)
    return false


def _is_startup_of(case: Case, record: Record, senders: dict[str, int]) -> bool:
    """Whether a startup frame is one that was sent, and not some payload."""
    frame = case.halves[senders[record["src"]]].startup
    kind = "request" if senders[record["src"]] == INITIATOR else "reply"
    length = int.from_bytes(frame[18:20], "big")
    fields = record["kind"], record["revision"], record["pd_length"]
    return fields == (kind, frame[17], length) and frame.endswith(
        bytes.fromhex(record["private_data"])
    )


def check(made: Case) -> None:
    """Read a case's capture, and compare what was found with the truth."""
    outcome = judge(made, plain(made.pcap()))
    assert outcome.is_right, f"{made}\n{outcome}"


def _fits(record: Record, wanted: Wanted) -> bool:
    """Whether a record is a right report of the wanted FPDU."""
    has_place = record["offset"] in (wanted.offset, None)
    return has_place and wanted.is_reported_by(statement_of(record))


def statement_of(record: Record) -> Statement:
    """The statement that a record makes about an FPDU."""
    numbers = record["seq"], record["ulpdu_length"], record["markers"], record["crc"]
    return Statement(*numbers, header_of_record(record), bytes.fromhex(record["payload"]))

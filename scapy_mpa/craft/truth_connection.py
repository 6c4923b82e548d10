# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``connection`` record of a conversation, if nothing is wrong or missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from scapy_mpa.craft.layout import startup_frame
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.script import FPDUItem, StartupItem
from scapy_mpa.craft.segment import Segment
from scapy_mpa.craft.truth_found import Found
from scapy_mpa.craft.truth_setting import Setting, event_head
from scapy_mpa.records.record import TIMING_KEYS, Record
from scapy_mpa.stream.events import (
    Closer,
    ConnectionEnded,
    End,
    HalfSummary,
    Negotiated,
    end_of,
    names_of,
)
from scapy_mpa.stream.events.connection import Ending
from scapy_mpa.stream.segment import FIN, RST
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import dialect_in_force
from scapy_mpa.wire.interoperability import Offer, kinds_of
from scapy_mpa.wire.negotiation import negotiate
from scapy_mpa.wire.rdmap import requests_opened
from scapy_mpa.wire.startup import StartupFrame, StartupKind
from scapy_mpa.wire.terminate import is_terminate

_ENDINGS: Final[tuple[Ending, ...]] = ("capture ended", "half closed", "closed")


def ending(segments: Iterable[Segment]) -> Ending:
    """Return how a connection ends: the key ``ended`` of its record."""
    ends = {each.side for each in segments if each.flags & FIN}
    if len(ends) < 2 and any(each.flags & RST for each in segments):
        return "reset"
    return _ENDINGS[len(ends)]


def half_summary(markers: bool | None, fpdus: int, octets: int) -> HalfSummary:
    """Return the summary of a direction in which nothing is wrong, missing or repeated."""
    return HalfSummary(markers, fpdus, octets, 0, 0, 0, 0, 0)


def connection_record(
    setting: Setting,
    by: int | None,
    place: int | None = None,
    ended: Ending | None = None,
    **fields: Any,
) -> Record:
    """Return the record of a connection, without the keys that a dissector measures.

    ``broken`` is left out if a rule was broken.

    :param by: the side that is the Initiator; None: it is not known.
    :param place: number of the segment that ends the connection, from 1; None: the last one.
    :param ended: how it ended; None: as its segments show.
    :param fields: other fields of :class:`~scapy_mpa.stream.events.ConnectionEnded`.
    """
    known: dict[str, Any] = {"revision": None, "crc": None, "rejected": False, "errors": 0}
    known |= {"ending": ended or ending(setting.segments), **fields}
    ends = (None, None) if by is None else (setting.endpoints[by], setting.endpoints[1 - by])
    event = ConnectionEnded(*event_head(by or INITIATOR), *ends, **known)
    record = setting.record(event, place or len(setting.segments))
    for key in TIMING_KEYS:
        del record[key]
    if event.negotiated is not None and event.negotiated.kept is False:
        del record["broken"]
    return record


def connection_of(found: Sequence[Found], setting: Setting) -> Record:
    """Return the record of an MPA connection.

    :param found: all items with octets.
    """
    options = setting.options
    seen = [
        (startup_frame(each.placed.item, options), max(setting.frames(each.frames)))
        for each in found
        if isinstance(each.placed.item, StartupItem)
    ]
    startups = [startup for startup, _ in seen]
    exchanged = [each for each in seen if each[0].kind is not StartupKind.RTR]
    last, frame = exchanged[-1] if exchanged else (None, None)
    rejected = frame if last is not None and last.rejected else None
    # Only the Rtr Frame shows the dialect with Rtr Frames.
    dialect = dialect_in_force(startups[-1], options.dialect) if startups else None
    offers = [Offer(each.revision, each.markers, each.crc) for each, _ in exchanged[-2:]]
    is_reply = last is not None and last.kind is StartupKind.REPLY
    is_answered = is_reply and len(offers) == 2 and dialect is not Dialect.OSC
    fpdus = [each.placed.item for each in found if isinstance(each.placed.item, FPDUItem)]
    is_full = fpdus or (is_reply and last is not None and not last.rejected)
    octets = sent_octets(found)
    halves = tuple(
        half_summary(
            options.has_markers(side) if is_full else None,
            sum(each.side == side for each in fpdus),
            octets[side],
        )
        for side in (INITIATOR, RESPONDER)
    )
    by = INITIATOR if startups else None
    record = connection_record(
        setting,
        by,
        end=end_by_segments(setting, by, rejected=rejected, unanswered=_unanswered(fpdus)),
        dialect=dialect,
        revision=None if last is None else last.revision,
        crc=options.has_crcs if startups else None,
        halves=halves,
        rnics=kinds_of(*offers) if is_answered else None,
        negotiated=_negotiated(fpdus, [each for each, _ in exchanged], dialect),
    )
    if any(is_terminate(each.ulpdu) for each in fpdus):
        # A dissector must find out which FPDU the Terminate is about.
        del record["end"]
    return record


def sent_octets(found: Iterable[Found]) -> Counter[int]:
    """Return how many octets each side has sent."""
    octets = Counter[int]()
    for each in found:
        octets[each.side] += len(each.placed.octets)
    return octets


def _unanswered(fpdus: Iterable[FPDUItem]) -> tuple[int, int]:
    """Return how many Requests of either side lack their Response."""
    counts = [0, 0]
    for each in fpdus:
        if len(each.ulpdu) >= 2:
            change = requests_opened(each.ulpdu)
            counts[each.side if change > 0 else 1 - each.side] += change
    return max(0, counts[INITIATOR]), max(0, counts[RESPONDER])


def end_by_segments(
    setting: Setting,
    by: int | None,
    *,
    rejected: int | None = None,
    unanswered: tuple[int, int] = (0, 0),
) -> End:
    """Return how a connection without a Terminate ended.

    :param by: the side that is the Initiator; None: it is not known.
    :param rejected: the frame of the rejecting Reply, None if no Reply rejects.
    :param unanswered: how many Requests of either side lack their Response.
    """
    closers: dict[int, Closer] = {}
    for segment, number in zip(setting.segments, setting.numbers, strict=True):
        for flag in (FIN, RST):
            if segment.flags & flag:
                closers.setdefault(flag, Closer(segment.side, number))
    names = names_of(setting.endpoints, by)
    end = end_of(
        ending(setting.segments),
        setting.numbers[-1],
        names,
        rejected=rejected,
        reset=closers.get(RST),
        closer=closers.get(FIN),
    )
    return end.with_unanswered(unanswered, names)


def _negotiated(
    fpdus: Iterable[FPDUItem], startups: list[StartupFrame], dialect: Dialect | None
) -> Negotiated | None:
    """Return what the last pair of startup frames negotiated."""
    if [each.kind for each in startups[-2:]] != [StartupKind.REQUEST, StartupKind.REPLY]:
        return None
    first = next((each.ulpdu for each in fpdus if each.side == INITIATOR), None)
    return negotiated_by(startups[-2], startups[-1], first, dialect)


def negotiated_by(
    request: StartupFrame, reply: StartupFrame, first: bytes | None, dialect: Dialect | None
) -> Negotiated | None:
    """Return what was negotiated, without the list of broken rules (RFC 6581 9,
    draft-ietf-storm-mpa-peer-connect-01 8).

    :param first: the ULPDU of the Initiator's first FPDU; None: there is none.
    :param dialect: the dialect of the Reply.
    """
    agreed = negotiate(request, reply, dialect)
    if agreed is None:
        return None
    rtr, breach = (None, None) if first is None else agreed.judge(first, len(first))
    is_judged = agreed.rtr is None or first is not None
    is_broken = bool(agreed.broken) or breach is not None
    kept = False if is_broken else is_judged or None
    return Negotiated(agreed.peer_to_peer, agreed.ird, agreed.ord, agreed.rtr, rtr, kept, ())

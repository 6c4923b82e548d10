# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that a perfect dissector must report of a conversation.

They are made from the script and the layout alone, never from the output of a dissector.  Names and
order of keys are those of :mod:`scapy_mpa.records`.

Keys and records that the script does not determine are left out:

* If segments were lost, copied, reordered or cut: the keys that depend on the order and time of
  segments (``frame``, ``time``, ``located_by``, ``out_of_order``, ``retransmitted``,
  ``farthest_ahead``, ``offset``), and ``overlap`` records.
* If octets are missing, cut off, or altered: all records but ``startup``, ``fpdu`` and ``error``
  records of frames that are whole.  Without a startup frame, a dissector may take a direction for
  something else, and report none of these.
* If a wrong ULPDU_Length, a bad CRC, or other octets in the Full Operation Phase hide where FPDUs
  begin: the keys of the first point for that direction, the counts and the RTR indication of the
  ``connection``, and ``message`` records.
* If an FPDU carries anything but the segment that a verb made: ``message`` records.
* Always: ``text`` of an ``error``, and ``broken`` of a ``connection`` if anything is broken.

Segments before the first SYN or octets are ignored: a FIN, for example, may belong to an earlier
connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter

from scapy_mpa.craft.assemble import Assembled
from scapy_mpa.craft.captured import (
    Captured,
    CapturedStream,
    captured_items,
    captured_streams,
)
from scapy_mpa.craft.layout import Placed, detail_of
from scapy_mpa.craft.options import Options
from scapy_mpa.craft.script import FPDUItem, StartupItem
from scapy_mpa.craft.truth_connection import (
    COUNTED,
    NEGOTIATED,
    UNTIMED,
    connection_of,
    hidden_agreement,
)
from scapy_mpa.craft.truth_messages import message_records
from scapy_mpa.craft.truth_setting import (
    VERDICTS,
    Found,
    Setting,
    event_head,
    side_of,
    without,
)
from scapy_mpa.records.record import Record
from scapy_mpa.stream.events import FPDURecovered, StartupSeen, StreamingSeen
from scapy_mpa.stream.events.carrier import LocatedBy
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.forced import dialect_in_force
from scapy_mpa.wire.fpdu import HEADER_LENGTH
from scapy_mpa.wire.rdmap import plausible
from scapy_mpa.wire.startup import StartupFrame, StartupKind


def truth_of(placed: list[Placed], setting: Setting) -> list[Record]:
    """Return the records of a conversation, in the order of a perfect dissector.

    There are no ``message`` records if anything is hidden or missing.
    """
    streams = captured_streams(setting.segments, setting.isns)
    pieces = captured_items(placed, streams)
    if setting.is_impaired and not _is_complete(pieces, streams):
        return _whole_items(pieces, setting)
    found = _found(pieces, setting.options)
    is_sure = all(each.is_sure for each in found)
    is_sure &= not any(each.is_bad for each in found)
    delivered, unanswered = message_records(found if setting.messages and is_sure else [], setting)
    records: list[tuple[int, Record]] = []
    upto = [0, 0]
    streamed = _streaming_records(pieces, found, setting)
    for each in found:
        before = streamed.pop(each.placed.number, [])
        own = [(each.place, record) for record in [*before, *_records(each, setting)]]
        side = each.side
        upto[side] = max(upto[side], each.place)
        if each.placed.number in delivered:
            # The message comes before errors of its last FPDU.
            own.insert(1, (upto[side], delivered[each.placed.number]))
        records += own
    errors = sum(record["type"] == "error" for _, record in records)
    records.sort(key=itemgetter(0))
    end = connection_of(found, pieces, setting, errors)
    unknown = UNTIMED if setting.is_impaired else frozenset()
    if not is_sure:
        unknown |= NEGOTIATED | COUNTED | hidden_agreement(end, found)
    last = [*streamed[None], without(end, unknown), *unanswered]
    return [*(record for _, record in records), *last]


def _is_complete(
    pieces: Sequence[Captured], streams: tuple[CapturedStream, CapturedStream]
) -> bool:
    """Return whether all octets were captured unaltered, and are known to be all."""
    if any(each.fate != "whole" for each in pieces):
        return False
    return all(
        _begins_with(stream.syn_at, [each for each in pieces if side_of(each.placed) == side])
        for side, stream in enumerate(streams)
    )


def _begins_with(syn_at: int | None, pieces: Sequence[Captured]) -> bool:
    """Return whether a SYN or a startup frame shows where a direction begins.

    A SYN that is captured after FPDUs is too late: FPDUs do not wait for it.  A startup frame that
    is captured after later octets is too late as well.
    """
    if syn_at is not None and all(
        syn_at < max(each.frames) for each in pieces if isinstance(each.placed.item, FPDUItem)
    ):
        return True
    if not pieces or not isinstance(pieces[0].placed.item, StartupItem):
        return False
    return all(max(pieces[0].frames) <= max(each.frames) for each in pieces)


def _whole_items(pieces: Iterable[Captured], setting: Setting) -> list[Record]:
    """Return the records if octets are missing: those of the items that are whole."""
    whole = [each for each in pieces if each.fate == "whole"]
    found = sorted(_found(whole, setting.options), key=lambda each: max(each.frames))
    return [record for each in found for record in _records(each, setting)]


# -- when and how --------------------------------------------------------------------------------


def _found(pieces: Iterable[Captured], options: Options) -> list[Found]:
    """Return when and how each item is found, without impairments."""
    found = []
    is_sure = [True, True]
    located_by: list[LocatedBy] = ["start", "start"]
    full_at = 0
    is_rejected = False
    for each in pieces:
        placed = each.placed
        side = side_of(placed)
        place = max(*each.frames, full_at)
        detail = detail_of(placed, options)
        if isinstance(detail, StartupFrame):
            startup = Found(placed, detail, each.frames, place, True, None)
            is_sure[side] &= startup.is_startup
            found.append(startup._replace(is_sure=is_sure[side]))
            located_by[side] = "start"
            is_rejected = detail.rejects
            if detail.kind is StartupKind.REPLY:
                full_at = place
        elif isinstance(detail, Assembled):
            is_sure[side] &= detail.is_regular
            if not options.has_crcs:
                # Without a CRC, only a plausible header is evidence for an FPDU.
                is_sure[side] &= plausible(detail.ulpdu, len(detail.ulpdu))
            found.append(Found(placed, detail, each.frames, place, is_sure[side], located_by[side]))
            is_sure[side] &= detail.crc is not False
            located_by[side] = "length"
        elif placed.offset is not None and not is_rejected:
            is_sure[side] = False
    return found


def _streaming_records(
    pieces: Iterable[Captured], found: Iterable[Found], setting: Setting
) -> dict[int | None, list[Record]]:
    """Return the records of octets in streaming mode.

    They are by the item number of the startup frame with which they are reported, None for the end.
    """
    startups = {each.placed.number: each for each in found if each.is_startup}
    waiting: tuple[list[Captured], list[Captured]] = [], []
    streamed: dict[int | None, list[Record]] = {}
    is_rejected = False
    for piece in pieces:
        own = waiting[side_of(piece.placed)]
        startup = startups.get(piece.placed.number)
        if startup is not None:
            if own:
                streamed[piece.placed.number] = [_streaming_record(own, startup.place, setting)]
                own.clear()
            is_rejected = isinstance(startup.detail, StartupFrame) and startup.detail.rejects
        elif piece.placed.offset is None or is_rejected:
            own.append(piece)
    end = len(setting.segments)
    streamed[None] = [_streaming_record(own, end, setting) for own in waiting if own and startups]
    return streamed


def _streaming_record(pieces: list[Captured], place: int, setting: Setting) -> Record:
    """Return the record of octets in streaming mode."""
    octets = b"".join(each.placed.octets for each in pieces)
    frames = dict.fromkeys(frame for each in pieces for frame in setting.frames(each.frames))
    side = side_of(pieces[0].placed)
    seq = setting.number(side, pieces[0].placed.start)
    seen = StreamingSeen(*event_head(side), seq, len(octets), octets, tuple(frames))
    return setting.record(seen, place)


# -- records ---------------------------------------------------------------------------------------


def _records(found: Found, setting: Setting) -> list[Record]:
    """Return the record of an item, and those of its errors."""
    detail = found.detail
    if isinstance(detail, StartupFrame):
        return _startup(found, detail, setting) if found.is_startup else []
    assert isinstance(detail, Assembled)
    if not detail.is_regular:
        return []
    place = found.place if found.is_sure else None
    records = [_fpdu(found, detail, setting)]
    if detail.crc is False:
        records.append(setting.error(found, place, ErrorCode.CRC_MISMATCH, detail.header))
    elif not detail.agrees:
        records.append(setting.error(found, place, ErrorCode.MARKER_MISMATCH, detail.header))
    return records


def _startup(found: Found, startup: StartupFrame, setting: Setting) -> list[Record]:
    dialect = dialect_in_force(startup, setting.options.dialect)
    frames = setting.frames(found.frames)
    seen = StartupSeen(*event_head(found.side), setting.seq(found), b"", frames, startup, dialect)
    error = setting.error(found, found.place, ErrorCode.INVALID_STARTUP_FRAME)
    problems = [{**error, "text": problem} for problem in startup.problems()]
    return [setting.record(seen, found.place), *problems]


def _fpdu(found: Found, fpdu: Assembled, setting: Setting) -> Record:
    """Return the record of an FPDU."""
    offset = found.placed.offset
    assert offset is not None
    is_timed = found.is_sure and not setting.is_impaired
    hidden = set() if is_timed else {"located_by", "out_of_order"}
    if setting.is_impaired:
        hidden.add("offset")
    recovered = FPDURecovered(
        *event_head(found.side),
        setting.seq(found, fpdu.header),
        offset + fpdu.header,
        len(fpdu.ulpdu),
        bytes(HEADER_LENGTH) + fpdu.ulpdu,
        None,
        fpdu.markers,
        VERDICTS[fpdu.crc],
        found.located_by or "start",
        False,
        setting.frames(found.frames),
    )
    return without(setting.record(recovered, found.place if found.is_sure else None), hidden)

# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that a perfect dissector must report of a conversation.

They are made of what the script means and where the layout puts it, never of what a dissector says.
Names and order of keys are those of :mod:`scapy_mpa.records`.

What the script alone does not say is left out:

* Segments were lost, copied, reordered or cut: what depends on when a dissector finds something
  (``frame``, ``time``, ``located_by``, ``out_of_order``, ``farthest_ahead``; an ``overlap`` keeps
  ``frame`` and ``time``).  An FPDU has no ``offset`` until the last startup frame, and all octets
  before it, were captured.
* Octets are missing, or other than they were sent: there are ``startup`` and ``fpdu`` records of
  those alone whose octets are all there, and no ``message`` records.  A ``gap`` has no ``reason``,
  and no ``length`` if its end may be the FIN.  A ``connection`` has nothing of what was found.
  There is none unless everything up to the last startup frame is there.
* The same, and a direction is given up: no startup frame was captured, and no FPDU among its first
  ``STREAMING_OCTETS``, or before ``HELD_ISLANDS`` holes.  There are no FPDUs of it.
* A snap length has cut segments: no ``gap``, ``overlap`` or ``message`` records either.
* Something hides where FPDUs begin: a wrong ULPDU_Length, a bad CRC, or other octets in the Full
  Operation Phase.  Then the keys of the first point are left out for that direction.  The
  ``connection`` has no counts, and nothing of the RTR indication.  There are no ``message``
  records, nor if an FPDU carries anything but the segment that a verb put into it.
* Always: ``text`` of an ``error``, and ``broken`` of a ``connection`` if anything is broken.

What was captured before the first SYN or octets counts for nothing: a FIN, say, may be of a
connection that is over.
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
from scapy_mpa.craft.layout import Placed, assembled, startup_frame
from scapy_mpa.craft.options import INITIATOR, Options
from scapy_mpa.craft.script import FPDUItem, StartupItem
from scapy_mpa.craft.truth_connection import (
    COUNTED,
    FOUND,
    NEGOTIATED,
    UNTIMED,
    connection_of,
    hidden_agreement,
)
from scapy_mpa.craft.truth_messages import message_records
from scapy_mpa.craft.truth_setting import (
    VERDICTS,
    Detail,
    Found,
    Setting,
    begun_by,
    side_of,
    without,
)
from scapy_mpa.craft.truth_tcp import gap_records, is_cut, overlap_records
from scapy_mpa.records.record import Record
from scapy_mpa.stream.events import FPDURecovered, StartupSeen, StreamingSeen
from scapy_mpa.stream.events.carrier import LocatedBy
from scapy_mpa.stream.halves.holes import HELD_ISLANDS
from scapy_mpa.stream.limits import STREAMING_OCTETS
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.forced import dialect_in_force
from scapy_mpa.wire.fpdu import HEADER_LENGTH
from scapy_mpa.wire.rdmap import plausible
from scapy_mpa.wire.startup import StartupFrame, StartupKind

__all__ = ["truth_of"]


def _detail(placed: Placed, options: Options) -> Detail:
    """Return what is in an item that has octets."""
    if isinstance(placed.item, FPDUItem):
        return assembled(placed, options)
    if isinstance(placed.item, StartupItem):
        return startup_frame(placed.item, options)
    return None


def truth_of(
    placed: list[Placed], setting: Setting, *, is_impaired: bool, messages: bool
) -> list[Record]:
    """Return the records of a conversation, in the order of a perfect dissector.

    :param is_impaired: whether the segments are other than the conversation's own.
    :param messages: with ``message`` records, unless something is hidden or missing.
    """
    streams = captured_streams(setting.segments, setting.isns)
    pieces = captured_items(placed, streams)
    if is_impaired and not _is_all_there(pieces, streams, setting):
        return _of_what_is_there(pieces, streams, setting)
    found = _found(pieces, setting.options)
    places = [each.place or 0 for each in found]
    is_sure = all(each.is_sure for each in found)
    is_sure &= not any(each.is_bad for each in found)
    if is_impaired:
        found = [each._replace(place=None, located_by=None) for each in found]
    told: dict[int, Record] = {}
    untold: list[Record] = []
    if messages and is_sure:
        told, untold = message_records(found, setting)
    known_at = _known_at(_beginning(pieces, setting.options)) if is_impaired else 0
    records: list[tuple[int, Record]] = []
    delivered = [0, 0]
    streamed = _streamed(pieces, found, setting)
    for each, place in zip(found, places, strict=True):
        before = streamed.pop(each.placed.number, [])
        own = [(place, record) for record in [*before, *_records(each, setting, known_at)]]
        side = each.side
        delivered[side] = max(delivered[side], place)
        if each.placed.number in told:
            # Before what is wrong with its last FPDU.
            own.insert(1, (delivered[side], told[each.placed.number]))
        records += own
    errors = sum(record["type"] == "error" for _, record in records)
    records += overlap_records(streams, setting)
    records.sort(key=itemgetter(0))
    end = connection_of(found, streams, setting, errors)
    unknown = UNTIMED if is_impaired else frozenset()
    if not is_sure:
        unknown |= NEGOTIATED | COUNTED | hidden_agreement(end, found)
    told_last = [*streamed[None], without(end, unknown), *untold]
    return [*(record for _, record in records), *told_last]


def _is_all_there(
    pieces: Iterable[Captured], streams: tuple[CapturedStream, CapturedStream], setting: Setting
) -> bool:
    """Tell whether nothing was lost or altered: all octets are there, and known to be all."""
    if is_cut(setting.segments) or any(each.fate != "whole" for each in pieces):
        return False
    # Without the SYN nobody knows that nothing came before, unless it is a startup frame.
    begun = {side_of(each.placed): each.placed.item for each in reversed(list(pieces))}
    return all(
        stream.has_syn or isinstance(begun.get(side), StartupItem)
        for side, stream in enumerate(streams)
    )


def _beginning(pieces: Sequence[Captured], options: Options) -> Sequence[Captured]:
    """Return what shows where FPDUs begin: everything up to the last startup frame, and, where that
    may be an Rtr Frame, what the Initiator sends next, which tells whether it is one."""
    startups = [n for n, each in enumerate(pieces) if isinstance(each.placed.item, StartupItem)]
    upto = max(startups, default=-1)
    frames = [_detail(pieces[n].placed, options) for n in startups]
    if any(isinstance(each, StartupFrame) and _announces_rtr(each) for each in frames):
        behind = range(upto + 1, len(pieces))
        upto = next((n for n in behind if side_of(pieces[n].placed) == INITIATOR), upto)
    return pieces[: upto + 1]


def _announces_rtr(startup: StartupFrame) -> bool:
    return startup.kind is not StartupKind.RTR and startup.revision == 1 and startup.s_bit


def _known_at(beginning: Iterable[Captured]) -> int:
    """Return the place of the segment with which all of the beginning is there: before, nobody
    knows the ``offset`` of an FPDU."""
    return max((max(each.frames) for each in beginning if each.frames), default=0)


def _of_what_is_there(
    pieces: list[Captured],
    streams: tuple[CapturedStream, CapturedStream],
    setting: Setting,
) -> list[Record]:
    """Return what there is to say if octets are missing."""
    # A startup frame after a hole may be part of something else.
    beginning = _beginning(pieces, setting.options)
    is_known = bool(beginning) and all(each.fate == "whole" for each in beginning)
    known_at = _known_at(beginning) if is_known else len(setting.segments) + 1
    is_uncut = not is_cut(setting.segments)
    whole = [each for each in pieces if each.fate == "whole"]
    found = [each._replace(place=None, located_by=None) for each in _found(whole, setting.options)]
    if not any(each.is_startup for each in found):
        given_up = [side for side in (0, 1) if _is_given_up(found, side, streams[side])]
        found = [each for each in found if each.side not in given_up]
    records = [
        (max(each.frames), record) for each in found for record in _records(each, setting, known_at)
    ]
    if is_uncut:
        records += overlap_records(streams, setting)
    records.sort(key=itemgetter(0))
    told = [record for _, record in records]
    if is_uncut:
        told += gap_records(streams, setting)
    if is_known:
        end = connection_of(found, streams, setting, 0)
        unknown = UNTIMED | FOUND | hidden_agreement(end, found)
        told.append(without(end, unknown if is_uncut else unknown | COUNTED))
    return told


def _is_given_up(found: Iterable[Found], side: int, stream: CapturedStream) -> bool:
    """Tell whether no FPDU of a direction was captured before that is taken for something else."""
    frame = stream.first_beyond(STREAMING_OCTETS, HELD_ISLANDS)
    return frame is not None and all(
        max(each.frames) > frame for each in found if each.side == side
    )


# -- when and how --------------------------------------------------------------------------------


def _found(pieces: Iterable[Captured], options: Options) -> list[Found]:
    """Return when and how each item is found, if nothing was impaired."""
    found = []
    is_sure = [True, True]
    behind: list[LocatedBy] = ["start", "start"]
    full_at = 0
    is_rejected = False
    for each in pieces:
        placed = each.placed
        side = side_of(placed)
        place = max(*each.frames, full_at)
        detail = _detail(placed, options)
        if isinstance(detail, StartupFrame):
            startup = Found(placed, detail, each.frames, place, True, None)
            is_sure[side] &= startup.is_startup
            found.append(startup._replace(is_sure=is_sure[side]))
            behind[side] = "start"
            is_rejected = detail.rejects
            if detail.kind is StartupKind.REPLY:
                full_at = place
        elif isinstance(detail, Assembled):
            is_sure[side] &= detail.is_regular
            if not options.has_crcs:
                # Only a header that makes sense speaks for it.
                is_sure[side] &= plausible(detail.ulpdu, len(detail.ulpdu))
            found.append(Found(placed, detail, each.frames, place, is_sure[side], behind[side]))
            is_sure[side] &= detail.crc is not False
            behind[side] = "length"
        elif placed.offset is not None and not is_rejected:
            is_sure[side] = False
    return found


def _streamed(
    pieces: Iterable[Captured], found: Iterable[Found], setting: Setting
) -> dict[int | None, list[Record]]:
    """Return the records of octets in streaming mode by the number of the startup frame with which
    they are reported, None for the end."""
    startups = {each.placed.number: each for each in found if each.is_startup}
    waiting: tuple[list[Captured], list[Captured]] = [], []
    told: dict[int | None, list[Record]] = {}
    is_rejected = False
    for piece in pieces:
        own = waiting[side_of(piece.placed)]
        startup = startups.get(piece.placed.number)
        if startup is not None:
            if own:
                told[piece.placed.number] = [_streaming(own, startup.place, setting)]
                own.clear()
            is_rejected = isinstance(startup.detail, StartupFrame) and startup.detail.rejects
        elif piece.placed.offset is None or is_rejected:
            own.append(piece)
    is_timed = all(each.place is not None for each in startups.values())
    end = len(setting.segments) if is_timed else None
    told[None] = [_streaming(own, end, setting) for own in waiting if own and startups]
    return told


def _streaming(pieces: list[Captured], place: int | None, setting: Setting) -> Record:
    """Return the record of octets in streaming mode."""
    octets = b"".join(each.placed.octets for each in pieces)
    frames = dict.fromkeys(frame for each in pieces for frame in setting.frames(each.frames))
    side = side_of(pieces[0].placed)
    seq = setting.number(side, pieces[0].placed.start)
    seen = StreamingSeen(*begun_by(side), seq, len(octets), octets, tuple(frames))
    return setting.record(seen, place)


# -- records ---------------------------------------------------------------------------------------


def _records(found: Found, setting: Setting, known_at: int = 0) -> list[Record]:
    """Return what there is to say of an item: itself, and what is wrong with it.

    :param known_at: place of the segment before which no ``offset`` is known.
    """
    detail = found.detail
    if isinstance(detail, StartupFrame):
        return _startup(found, detail, setting) if found.is_startup else []
    assert isinstance(detail, Assembled)
    if not detail.is_regular:
        return []
    place = found.place if found.is_sure else None
    records = [_fpdu(found, detail, setting, known_at)]
    if detail.crc is False:
        records.append(setting.error(found, place, ErrorCode.CRC_MISMATCH, detail.header))
    elif not detail.agrees:
        records.append(setting.error(found, place, ErrorCode.MARKER_MISMATCH, detail.header))
    return records


def _startup(found: Found, startup: StartupFrame, setting: Setting) -> list[Record]:
    dialect = dialect_in_force(startup, setting.options.dialect)
    frames = setting.frames(found.frames)
    seen = StartupSeen(*begun_by(found.side), setting.seq(found), b"", frames, startup, dialect)
    error = setting.error(found, found.place, ErrorCode.INVALID_STARTUP_FRAME)
    problems = [{**error, "text": problem} for problem in startup.problems()]
    return [setting.record(seen, found.place), *problems]


def _fpdu(found: Found, fpdu: Assembled, setting: Setting, known_at: int) -> Record:
    """Return the record of an FPDU."""
    offset = found.placed.offset
    assert offset is not None
    hidden = set() if max(found.frames) >= known_at else {"offset"}
    if not found.is_sure or found.located_by is None:
        hidden |= {"located_by", "out_of_order"}
    recovered = FPDURecovered(
        *begun_by(found.side),
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

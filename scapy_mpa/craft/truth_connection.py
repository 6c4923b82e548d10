# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``connection`` record of a conversation, and which of its keys are known when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scapy_mpa.craft.assemble import Assembled
from scapy_mpa.craft.captured import CapturedStream
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.truth_negotiation import negotiation_truth
from scapy_mpa.craft.truth_tcp import ending, gaps
from scapy_mpa.records.record import Record, rnics_field
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import dialect_in_force
from scapy_mpa.wire.interoperability import Offer, kinds_of
from scapy_mpa.wire.startup import StartupFrame, StartupKind

if TYPE_CHECKING:
    from scapy_mpa.craft.truth import Found, Setting

__all__ = [
    "AGREED",
    "COUNTED",
    "FOUND",
    "NEGOTIATED",
    "UNTIMED",
    "connection_record",
    "hidden_agreement",
    "without",
]

NEGOTIATED: Final = frozenset({"markers", "crc"})
"""What startup frames agree on."""
FOUND: Final = frozenset({"fpdus", "crc_bad", "errors"})
"""What depends on which FPDUs are found."""
UNTIMED: Final = frozenset({"frame", "time", "out_of_order", "farthest_ahead"})
"""What depends on when something is found."""
_INDICATED: Final = frozenset({"rtr", "kept", "broken"})
AGREED: Final = _INDICATED | {"peer_to_peer", "ird", "ord", "rtr_agreed"}
"""What enhanced data agree on, and whether both sides kept to it."""
COUNTED: Final = FOUND | {"gaps", "out_of_order", "retransmitted", "farthest_ahead"}


def without(record: Record, names: frozenset[str]) -> Record:
    """Return a record without some of its keys."""
    return {name: value for name, value in record.items() if name not in names}


def connection_record(
    found: list[Found],
    streams: tuple[CapturedStream, CapturedStream],
    setting: Setting,
    errors: int,
) -> Record:
    """Return the record of the connection.

    :param found: startup frames and FPDUs.
    :param errors: how many ``error`` records there are.
    """
    startups = [
        each.detail for each in found if each.is_startup and isinstance(each.detail, StartupFrame)
    ]
    said = [each for each in startups if each.kind is not StartupKind.RTR]
    last = said[-1] if said else None
    options = setting.options
    # Nothing but the Rtr Frame shows the dialect that has one.
    dialect = dialect_in_force(startups[-1], options.dialect) if startups else None
    offers = [Offer(each.revision, each.markers, each.crc) for each in said[-2:]]
    is_answered = last is not None and last.kind is StartupKind.REPLY and len(offers) == 2
    fpdus = [each for each in found if isinstance(each.detail, Assembled)]
    is_full = fpdus or (last is not None and last.kind is StartupKind.REPLY and not last.rejected)
    nothing = {"src": 0, "dst": 0}
    return {
        **setting.head("connection", INITIATOR, len(setting.segments)),
        "initiator": setting.endpoints[INITIATOR] if startups else None,
        "responder": setting.endpoints[RESPONDER] if startups else None,
        "dialect": None if dialect is None else dialect.value,
        "revision": None if last is None else last.revision,
        "markers": {
            "src": options.has_markers(INITIATOR) if is_full else None,
            "dst": options.has_markers(RESPONDER) if is_full else None,
        },
        "fpdus": _of_each(fpdus),
        "octets": _both(*(stream.octets for stream in streams)),
        "crc_bad": _of_each([each for each in fpdus if each.is_bad]),
        "gaps": _both(*(len(gaps(stream)) for stream in streams)),
        "out_of_order": nothing,
        "retransmitted": _both(*(stream.repeating for stream in streams)),
        "crc": options.has_crcs if startups else None,
        "errors": errors,
        "ended": ending(setting.segments),
        "farthest_ahead": nothing,
        "rnics": rnics_field(
            kinds_of(*offers) if is_answered and dialect is not Dialect.OSC else None
        ),
        **_negotiated(fpdus, said, dialect),
    }


def _negotiated(
    fpdus: list[Found], startups: list[StartupFrame], dialect: Dialect | None
) -> Record:
    """Return what the last pair of startup frames came to."""
    request = reply = StartupFrame(StartupKind.REPLY, False, False, True, False, 0, 1, 0, b"")
    if [each.kind for each in startups[-2:]] == [StartupKind.REQUEST, StartupKind.REPLY]:
        request, reply = startups[-2:]
    first = next((each.detail for each in fpdus if each.side == INITIATOR), None)
    ulpdu = first.ulpdu if isinstance(first, Assembled) else None
    return negotiation_truth(request, reply, ulpdu, dialect)


def hidden_agreement(record: Record, found: list[Found]) -> frozenset[str]:
    """Return which keys about enhanced data are not known where something is hidden.

    :param record: of the connection, with all keys.
    """
    if any(isinstance(each.detail, StartupFrame) and not each.is_startup for each in found):
        return AGREED
    # The first FPDU may be hidden, too.
    return frozenset() if record["rtr_agreed"] is None else _INDICATED


def _both(initiator: int, responder: int) -> Record:
    return {"src": initiator, "dst": responder}


def _of_each(found: list[Found]) -> Record:
    sides = [each.side for each in found]
    return _both(sides.count(INITIATOR), sides.count(RESPONDER))

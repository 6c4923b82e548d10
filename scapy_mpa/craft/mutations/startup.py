# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames with something wrong in them, and startups that go wrong (RFC 5044 7.1)."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.bases import marked, plain, terminated, without_crcs
from scapy_mpa.craft.mutations.edit import (
    altered_key,
    change_item,
    change_startup,
    cut_short,
    fpdus,
    longer,
    moved,
    of_each_frame,
    of_kind,
    other_than,
    replaced,
    shorter,
    startup_at,
    startup_before,
    startup_twice,
    too_much,
    without_startup,
)
from scapy_mpa.craft.mutations.expectation import ACCEPT, REJECT, accept, error, improper
from scapy_mpa.craft.mutations.mutation import Change, Family
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.script import CloseItem, FPDUItem, OctetsItem, ResetItem, StartupItem
from scapy_mpa.wire.dialect import TRAITS, Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.startup import KEYS, StartupKind

__all__ = ["STARTUP"]

_mutation: Final = Family("rfc5044", plain)
_REQUEST, _REPLY = StartupKind.REQUEST, StartupKind.REPLY
_ERDMA: Final = TRAITS[Dialect.ERDMA].revision


def _altered_key(item: StartupItem, rng: Random) -> bytes:
    return altered_key(KEYS[item.kind], KEYS[_REPLY if item.kind is _REQUEST else _REQUEST], rng)


def _markers_asked_for(kind: StartupKind) -> Change:
    """Return what sets M of a startup frame, if the other side says something without Markers.

    A conversation that was captured may have one side that is silent.
    """
    change = change_startup(kind, markers=True)
    asked = RESPONDER if kind is _REQUEST else INITIATOR

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        if not fpdus(conversation, side=asked):
            raise LookupError("no FPDU lacks Markers")
        return change(conversation, rng)

    return apply


_OF_LONGER: Final = {
    _REQUEST: improper("while it waits for the rest, or when that never comes (rule 10)"),
    _REPLY: error(1, 2, 4, note="what follows is taken for Private Data"),
}
_LEFT_OVER: Final = error(
    *(1, 2, 4),
    note="what is left of the Private Data is taken for an FPDU, if not for a fault here",
)
_INTEROPERATE: Final = improper("a receiver that cannot interoperate with the revision")
_FOR_MARKER: Final = error(1, 2, 3, note="the first four octets are taken for a Marker")
_FOR_LENGTH: Final = error(1, 2, note="the first Marker is taken for a ULPDU_Length")
_ENDED: Final = error(1, note="or code 4, if the timeout comes first")

_OF_EACH_FRAME: Final = of_each_frame(
    _mutation,
    ("7.1.1/{}-key-altered", "A bit of the {}'s Key is wrong.", improper(), {"key": _altered_key}),
    (
        "7.1.1/{}-key-lower-case",
        "The {}'s Key is in lower case.",
        *(improper(), {"key": lambda item, _: KEYS[item.kind].lower()}),
    ),
    (
        "7.1.1/{}-reserved-set",
        "A reserved bit of the {} is set.",
        *(ACCEPT, {"reserved": lambda _, rng: rng.randrange(1, 16)}),
    ),
    (
        "7.1.1/{}-s-set",
        "S of the {} is set, which RFC 5044 reserves, in revision 1.",
        *(ACCEPT, {"s_bit": True}),
    ),
    (
        "7.1.1/{}-rev-unknown",
        "The {} has a revision that no document defines.",
        *(_INTEROPERATE, {"revision": lambda _, rng: other_than(_ERDMA, 255, rng, (0, 1, 2))}),
    ),
    (
        "7.1.1/{}-pd-length-over-512",
        "The {} has more than 512 octets of Private Data, and says so.",
        *(improper(), {"private_data": too_much}),
    ),
    (
        "7.1.1/{}-m-set-but-no-markers",
        "M of the {} is set, and its sender is sent no Markers.",
        *(_FOR_MARKER, _markers_asked_for),
    ),
    (
        "7.1.1/{}-m-cleared-but-markers",
        "M of the {} is not set, and its sender is sent Markers.",
        *(_FOR_LENGTH, {"markers": False}, marked),
    ),
    (
        "7.1.1/{}-c-cleared",
        "C of the {} is not set, that of the other frame is: CRCs are on.",
        *(ACCEPT, {"crc": False}),
    ),
    (
        "7.1.1/{}-c-set-but-no-crcs",
        "C of the {} is set, and the FPDUs have no CRCs.",
        *(error(2), {"crc": True}, without_crcs),
    ),
)

_OF_PRIVATE_DATA: Final = [
    each
    for what, says, expected, pd_length in (
        ("longer", "says more octets than there are", _OF_LONGER, longer),
        ("shorter", "says fewer octets than there are", _LEFT_OVER, shorter),
        ("65535", "is 65535, and hardly any octets are there", improper(), 0xFFFF),
    )
    for each in of_each_frame(
        _mutation,
        (
            f"7.1.2/rule-9-{{}}-pd-length-{what}",
            f"PD_Length of the {{}} {says}.",
            *(expected, {"pd_length": pd_length}),
        ),
    )
]
"""Lies about PD_Length (RFC 5044 7.1.2 rule 9)."""


# -- rules of RFC 5044 7.1.2 -------------------------------------------------------------------


_OTHER_PROTOCOLS: Final = (b"GET / HTTP/1.1\r\n", b"SSH-2.0-OpenSSH_", b"HELO example.org")
"""Words of other protocols, as many octets as a Key has."""


def _fpdu_before_reply(conversation: Conversation, rng: Random) -> Conversation:
    return moved(conversation, fpdus(conversation)[0], startup_at(conversation, _REPLY))


def _responder_first(conversation: Conversation, rng: Random) -> Conversation:
    # A Terminate may come first (RFC 6581 9.3).
    spoken = fpdus(conversation, set(Opcode) - {Opcode.TERMINATE}, side=RESPONDER)
    return moved(conversation, spoken[0], fpdus(conversation)[0])


def _some_octets(side: int, rng: Random) -> OctetsItem:
    return OctetsItem(side, rng.randbytes(rng.randrange(8, 200)))


def _rejected(conversation: Conversation, rng: Random) -> Conversation:
    """Have the Reply reject, and nothing follow."""
    at = startup_at(conversation, _REPLY)
    rejecting = change_startup(_REPLY, rejected=True)(conversation, rng)
    return replaced(rejecting, at + 1, CloseItem(0), end=len(conversation.script))


def _used_after_rejection(side: int) -> Change:
    """Return what has a side send FPDUs although the Reply rejects."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        spoken = [conversation.script[at] for at in fpdus(conversation, side=side)[:2]]
        if not spoken:
            raise LookupError("that side sends no FPDUs")
        at = startup_at(conversation, _REPLY)
        rejecting = change_startup(_REPLY, rejected=True)(conversation, rng)
        end = len(conversation.script)
        return replaced(rejecting, at + 1, *spoken, CloseItem(0), end=end)

    return apply


def _terminated_at_once(conversation: Conversation, rng: Random) -> Conversation:
    """Have the Responder answer the Request with a Terminate, and close."""
    (at,) = fpdus(conversation, {Opcode.TERMINATE})
    reply = startup_at(conversation, _REPLY)
    end = len(conversation.script)
    return replaced(conversation, reply, conversation.script[at], CloseItem(1), end=end)


def _unanswered(conversation: Conversation, rng: Random) -> Conversation:
    at, end = startup_at(conversation, _REPLY), len(conversation.script)
    return replaced(conversation, at, CloseItem(INITIATOR), end=end)


def _ended_within(kind: StartupKind, end: type[CloseItem | ResetItem]) -> Change:
    """Return what ends the connection in the midst of a startup frame."""
    item = end(INITIATOR if kind is _REQUEST else RESPONDER)
    return lambda given, rng: cut_short(given, startup_at(given, kind), 20, item, rng)


def _without_any(conversation: Conversation, rng: Random) -> Conversation:
    """Leave both startup frames out, if two good CRCs in a row still prove the FPDUs.

    :raises LocalProtocolError: neither side sends two.
    """
    senders = [item.side for item in conversation.script if isinstance(item, FPDUItem)]
    if not any(senders.count(side) > 1 for side in (INITIATOR, RESPONDER)):
        raise LocalProtocolError("neither side sends two FPDUs")
    for kind in (_REPLY, _REQUEST):
        conversation = without_startup(kind)(conversation, rng)
    return conversation


STARTUP: Final = (
    *_OF_EACH_FRAME,
    _mutation(
        "7.1.1/request-r-set",
        "R of the Request is set.",
        ACCEPT,
        change_startup(_REQUEST, rejected=True),
    ),
    _mutation(
        "7.1.2/rule-1-no-startup-frames",
        "The Initiator begins with FPDUs; there are no startup frames.",
        improper("the first FPDU comes where the Request must be"),
        _without_any,
    ),
    _mutation(
        "7.1.2/rule-2-no-request",
        "A Reply comes without a Request.",
        improper("the Initiator gets a Reply that it has not asked for"),
        without_startup(_REQUEST),
    ),
    _mutation(
        "7.1.2/rule-2-reply-first",
        "The Reply comes before the Request.",
        improper(),
        startup_before(_REPLY, _REQUEST),
    ),
    _mutation(
        "7.1.2/rule-1-fpdu-before-request",
        "The Initiator sends an FPDU before its Request.",
        improper("the FPDU comes where the Request must be"),
        lambda given, _: moved(given, fpdus(given, side=INITIATOR)[0], startup_at(given, _REQUEST)),
    ),
    _mutation(
        "7.1.2/rule-2-request-after-reply",
        "A second Request comes after the Reply.",
        error(1, 2, 4, note="it is taken for an FPDU"),
        change_item(lambda item, _: (item, StartupItem(INITIATOR, _REQUEST)), of_kind(_REPLY)),
    ),
    _mutation(
        "7.1.2/rule-2-octets-for-request",
        "Octets that are no Request come where it must be, and a Reply answers them.",
        improper(),
        change_item(lambda _, rng: _some_octets(INITIATOR, rng), of_kind(_REQUEST)),
    ),
    _mutation(
        "7.1.2/rule-3-fpdu-before-reply",
        "The Initiator sends an FPDU before it has received the Reply.",
        accept("nothing shows the Responder when the FPDU was sent"),
        _fpdu_before_reply,
        is_overheard=True,
    ),
    _mutation(
        "7.1.2/rule-3-request-twice",
        "The Request comes twice, and one Reply.",
        error(1, 2, 4, note="the second one is taken for an FPDU"),
        startup_twice(_REQUEST),
    ),
    _mutation(
        "7.1.2/rule-3-reply-twice",
        "The Reply comes twice.",
        error(1, 2, 4, note="the second one is taken for an FPDU"),
        startup_twice(_REPLY),
    ),
    _mutation(
        "7.1.2/rule-3-fpdus-for-reply",
        "FPDUs come where the Reply must be.",
        improper(),
        without_startup(_REPLY),
    ),
    _mutation(
        "7.1.2/rule-3-terminate-for-reply",
        "A Terminate comes where the Reply must be.",
        improper(),
        _terminated_at_once,
        terminated,
    ),
    _mutation(
        "7.1.2/rule-3-request-unanswered",
        "Nobody answers the Request.",
        error(1, note="when the connection ends, or a timeout comes first"),
        _unanswered,
    ),
    *(
        _mutation(
            f"7.1.2/rule-3-{who.lower()}-speaks-after-rejection",
            f"The Reply rejects, and the {who} sends FPDUs.",
            accept("MPA is over, and what comes is the ULP's"),
            _used_after_rejection(side),
            is_overheard=True,
        )
        for side, who in ((INITIATOR, "Initiator"), (RESPONDER, "Responder"))
    ),
    _mutation(
        "7.1.2/rule-3-rejected",
        "The Responder rejects; nothing is wrong with that.",
        REJECT,
        _rejected,
    ),
    _mutation(
        "7.1.2/rule-4-responder-speaks-first",
        "The Responder sends an FPDU before it has received one.",
        accept("an Initiator that is in Full Operation already cannot tell"),
        _responder_first,
        is_overheard=True,
    ),
    *of_each_frame(
        _mutation,
        (
            "7.1.2/rule-5-{}-key-of-another-protocol",
            "Words of another protocol come where the {}'s Key must be.",
            *(improper(), {"key": lambda _, rng: rng.choice(_OTHER_PROTOCOLS)}),
        ),
    ),
    _mutation(
        "7.1.2/rule-3-octets-before-reply",
        "Octets that are no Reply come where it must begin, and a Reply after them.",
        improper(),
        change_item(lambda item, rng: (_some_octets(RESPONDER, rng), item), of_kind(_REPLY)),
    ),
    _mutation(
        "7.1.2/rule-8-both-initiate",
        "A Request comes where a Reply must stand: both sides are Initiators.",
        improper(),
        change_startup(_REPLY, key=KEYS[_REQUEST]),
    ),
    _mutation(
        "7.1.2/rule-8-both-respond",
        "A Reply comes where a Request must stand: both sides are Responders.",
        improper(),
        change_startup(_REQUEST, key=KEYS[_REPLY]),
    ),
    *_OF_PRIVATE_DATA,
    *of_each_frame(
        _mutation,
        (
            "7.1.2/rule-10-{}-incomplete",
            "The connection ends in the midst of the {}.",
            *(_ENDED, partial(_ended_within, end=CloseItem)),
        ),
        (
            "7.1.2/rule-10-{}-reset",
            "The connection is reset in the midst of the {}.",
            *(_ENDED, partial(_ended_within, end=ResetItem)),
        ),
    ),
)
"""RFC 5044 7.1.  Rule 6 is about what Consumers may do with Private Data, which nothing on the wire
can break; what breaks rule 7 is with the Markers."""

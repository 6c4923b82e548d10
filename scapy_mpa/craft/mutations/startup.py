# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations of startup frames, and of their order (RFC 5044 7.1, rtr-frame-proposal-2007)."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Final

import scapy_mpa.craft.mutations.bases as bases
import scapy_mpa.craft.mutations.edit as edit
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.mutation import Change, Table
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.script import CloseItem, FPDUItem, Item, OctetsItem, ResetItem, StartupItem
from scapy_mpa.wire.dialect import LARGEST_PD_LENGTH, TRAITS, Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.startup import KEYS, RTR_KEYS, StartupKind

_REQUEST, _REPLY, _RTR = StartupKind
_request_at, _reply_at, _rtr_at = map(edit.of_kind, (_REQUEST, _REPLY, _RTR))
_rtr: Final = partial(edit.change_startup, _RTR)
_ERDMA: Final = TRAITS[Dialect.ERDMA].revision


def _altered_key(item: StartupItem, rng: Random) -> bytes:
    """Return the Key of a startup frame with one wrong bit.

    Octets that differ from the other Key stay: a change of these could make the other Key, or be
    another mistake.
    """
    another = _REPLY if item.kind is _REQUEST else _REQUEST
    key, other = RTR_KEYS if item.kind is _RTR else (KEYS[item.kind], KEYS[another])
    altered = bytearray(key)
    at = rng.choice([at for at in range(len(key)) if key[at] == other[at]])
    altered[at] ^= 1 << rng.randrange(8)
    return bytes(altered)


def _too_much(item: StartupItem, rng: Random) -> bytes:
    """Return more Private Data than RFC 5044 7.1.1 allows."""
    missing = LARGEST_PD_LENGTH + 1 - len(item.private_data)
    return item.private_data + rng.randbytes(rng.randrange(missing, missing + 1000))


def _longer(item: StartupItem, rng: Random) -> int:
    """Return a PD_Length that is larger than the Private Data."""
    return len(item.private_data) + rng.randrange(1, 100)


def _shorter(item: StartupItem, rng: Random) -> int:
    """Return a PD_Length that is smaller than the Private Data."""
    return rng.randrange(len(item.private_data))


def _markers_asked_for(kind: StartupKind) -> Change:
    """Return a change that sets M of a startup frame, if the peer sends FPDUs without Markers.

    In a captured conversation, one side may send no FPDU.
    """
    change = edit.change_startup(kind, markers=True)
    asked = RESPONDER if kind is _REQUEST else INITIATOR

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        if not edit.fpdus(conversation, side=asked):
            raise LookupError("no FPDU lacks Markers")
        return change(conversation, rng)

    return apply


# -- rules of RFC 5044 7.1.2 -------------------------------------------------------------------


_OTHER_PROTOCOLS: Final = (b"GET / HTTP/1.1\r\n", b"SSH-2.0-OpenSSH_", b"HELO example.org")
"""First octets of other protocols, as many as a Key has."""


_MUST_WAIT: Final = set(Opcode) - {Opcode.TERMINATE}
"""Messages of the Responder that must wait for an FPDU: a Terminate need not (RFC 6581 9.3)."""
_initiator_fpdu_at: Final = edit.first(FPDUItem, lambda item: not item.side)
_answer_at: Final = edit.first(
    FPDUItem, lambda item: bool(item.side) and edit.opcode_of(item) in _MUST_WAIT
)


def _some_octets(side: int, rng: Random) -> OctetsItem:
    return OctetsItem(side, rng.randbytes(rng.randrange(8, 200)))


def _rejected(conversation: Conversation, rng: Random, *after: Item) -> Conversation:
    """Let the Reply reject, and only ``after`` follow."""
    at = _reply_at(conversation, rng)
    rejecting = edit.change_startup(_REPLY, rejected=True)(conversation, rng)
    return edit.ended(rejecting, at + 1, *after, CloseItem(0))


def _used_after_rejection(side: int) -> Change:
    """Return a change that lets a side send FPDUs although the Reply rejects."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        used = [*edit.fpdus(conversation, side=side).values()][:2]
        if not used:
            raise LookupError("that side sends no FPDUs")
        return _rejected(conversation, rng, *used)

    return apply


def _terminated_at_once(conversation: Conversation, rng: Random) -> Conversation:
    """Let the Responder answer the Request with a Terminate, and close."""
    (terminate,) = edit.fpdus(conversation, {Opcode.TERMINATE}).values()
    return edit.ended(conversation, _reply_at(conversation, rng), terminate, CloseItem(1))


def _unanswered(conversation: Conversation, rng: Random) -> Conversation:
    return edit.ended(conversation, _reply_at(conversation, rng), CloseItem(INITIATOR))


def _ended_within(kind: StartupKind) -> Change:
    """Return a change that ends the connection in the middle of a startup frame."""
    side = RESPONDER if kind is _REPLY else INITIATOR
    return edit.cut_short(
        edit.of_kind(kind), 20, lambda rng: rng.choice((CloseItem, ResetItem))(side)
    )


def _without_any(conversation: Conversation, rng: Random) -> Conversation:
    """Leave both startup frames out, if two good CRCs in a row still prove the FPDUs.

    :raises LocalProtocolError: neither side sends two.
    """
    senders = [item.side for item in conversation.script if isinstance(item, FPDUItem)]
    if not any(senders.count(side) > 1 for side in (INITIATOR, RESPONDER)):
        raise LocalProtocolError("neither side sends two FPDUs")
    for kind in (_REPLY, _REQUEST):
        conversation = edit.change_item(edit.left_out, edit.of_kind(kind))(conversation, rng)
    return conversation


def _rtr_after_rejection(conversation: Conversation, rng: Random) -> Conversation:
    """Let the Reply reject, and only an Rtr Frame follow."""
    return _rejected(conversation, rng, conversation.script[_rtr_at(conversation, rng)])


MUTATIONS: Final[Table] = {
    bases.plain: {
        **edit.of_each_frame(
            {
                "rfc5044/7.1.1/{}-key-altered": {"key": _altered_key},
                "rfc5044/7.1.1/{}-reserved-set": {"reserved": edit.between(1, 16)},
                "rfc5044/7.1.1/{}-s-set": {"s_bit": True},
                "rfc5044/7.1.1/{}-rev-unknown": {
                    "revision": lambda _, rng: edit.other_than(_ERDMA, 255, rng, (0, 1, 2))
                },
                "rfc5044/7.1.1/{}-pd-length-over-512": {"private_data": _too_much},
                "rfc5044/7.1.1/{}-m-set-but-no-markers": _markers_asked_for,
                "rfc5044/7.1.1/{}-c-cleared": {"crc": False},
                "rfc5044/7.1.2/rule-5-{}-key-of-another-protocol": {
                    "key": edit.any_of(*_OTHER_PROTOCOLS)
                },
                "rfc5044/7.1.2/rule-9-{}-pd-length-longer": {"pd_length": _longer},
                "rfc5044/7.1.2/rule-9-{}-pd-length-shorter": {"pd_length": _shorter},
                "rfc5044/8/{}-incomplete": _ended_within,
            }
        ),
        "rfc5044/7.1.1/request-r-set": edit.change_startup(_REQUEST, rejected=True),
        "rfc5044/7.1.2/rule-1-no-startup-frames": _without_any,
        "rfc5044/7.1.2/rule-1-fpdu-before-request": edit.moved_before(
            _initiator_fpdu_at, _request_at
        ),
        "rfc5044/7.1.2/rule-2-no-request": edit.change_item(edit.left_out, _request_at),
        "rfc5044/7.1.2/rule-2-reply-first": edit.moved_before(_reply_at, _request_at),
        "rfc5044/7.1.2/rule-2-request-after-reply": edit.change_item(
            lambda item, _: (item, StartupItem(INITIATOR, _REQUEST)), _reply_at
        ),
        "rfc5044/7.1.2/rule-2-octets-for-request": edit.change_item(
            lambda _, rng: _some_octets(INITIATOR, rng), _request_at
        ),
        "rfc5044/7.1.2/rule-3-octets-before-reply": edit.change_item(
            lambda item, rng: (_some_octets(RESPONDER, rng), item), _reply_at
        ),
        "rfc5044/7.1.2/rule-3-fpdu-before-reply": edit.moved_before(
            edit.first(FPDUItem), _reply_at
        ),
        "rfc5044/7.1.2/rule-3-request-twice": edit.change_item(edit.twice, _request_at),
        "rfc5044/7.1.2/rule-3-reply-twice": edit.change_item(edit.twice, _reply_at),
        "rfc5044/7.1.2/rule-3-fpdus-for-reply": edit.change_item(edit.left_out, _reply_at),
        "rfc5044/7.1.2/rule-3-request-unanswered": _unanswered,
        "rfc5044/7.1.2/rule-3-rejected": _rejected,
        "rfc5044/7.1.2/rule-3-initiator-speaks-after-rejection": (_used_after_rejection(INITIATOR)),
        "rfc5044/7.1.2/rule-3-responder-speaks-after-rejection": (_used_after_rejection(RESPONDER)),
        "rfc5044/7.1.2/rule-4-responder-speaks-first": edit.moved_before(
            _answer_at, edit.first(FPDUItem)
        ),
        "rfc5044/7.1.2/rule-8-both-initiate": edit.change_startup(_REPLY, key=KEYS[_REQUEST]),
        "rfc5044/7.1.2/rule-8-both-respond": edit.change_startup(_REQUEST, key=KEYS[_REPLY]),
    },
    bases.marked: edit.of_each_frame(
        {"rfc5044/7.1.1/{}-m-cleared-but-markers": {"markers": False}}
    ),
    bases.without_crcs: edit.of_each_frame({"rfc5044/7.1.1/{}-c-set-but-no-crcs": {"crc": True}}),
    bases.terminated: {"rfc5044/7.1.2/rule-3-terminate-for-reply": _terminated_at_once},
    bases.announced: {
        "rtr-frame-proposal-2007/1/key-altered": _rtr(key=_altered_key),
        "rtr-frame-proposal-2007/1/key-rtr": _rtr(key=RTR_KEYS[1]),
        "rtr-frame-proposal-2007/1/rev-not-1": _rtr(revision=edit.any_of(0, *range(2, 256))),
        "rtr-frame-proposal-2007/1/pd-length-over-512": _rtr(private_data=_too_much),
        "rtr-frame-proposal-2007/1/pd-length-longer": _rtr(pd_length=_longer),
        "rtr-frame-proposal-2007/1/pd-length-shorter": _rtr(pd_length=_shorter),
        "rtr-frame-proposal-2007/1/incomplete": _ended_within(_RTR),
        "rtr-frame-proposal-2007/2/bits-set": _rtr(
            s_bit=True, rejected=True, reserved=edit.between(0, 16)
        ),
        "rtr-frame-proposal-2007/2/c-not-that-of-reply": _rtr(crc=False),
        "rtr-frame-proposal-2007/2/request-s-cleared": edit.change_startup(_REQUEST, s_bit=False),
        "rtr-frame-proposal-2007/2/missing": edit.change_item(edit.left_out, _rtr_at),
        "rtr-frame-proposal-2007/2/before-reply": edit.moved_before(_rtr_at, _reply_at),
        "rtr-frame-proposal-2007/2/first": edit.moved_before(_rtr_at, _request_at),
        "rtr-frame-proposal-2007/2/after-rejection": _rtr_after_rejection,
        "rtr-frame-proposal-2007/2/twice": edit.change_item(edit.twice, _rtr_at),
        "rtr-frame-proposal-2007/5/reply-s-cleared": edit.change_startup(_REPLY, s_bit=False),
    },
}
"""Mutations of RFC 5044 7.1, and of the Rtr frame proposal of 2007 by its points.

No octets on the wire can break rule 6: it is about how Consumers use Private Data.  Mutations of
rule 7 are with the Markers."""

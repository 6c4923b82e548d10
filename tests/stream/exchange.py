# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests and Responses in shorthand, and in shorthand what is reported about them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scapy_mpa.stream.events import Event, MessageRecovered
from scapy_mpa.stream.messages import Messages
from tests.stream.talk import Talk, started
from tests.truth import messages, mpastream
from tests.truth.mpastream import Damage

RESPONSES = (messages.READ_RESPONSE, messages.ATOMIC_RESPONSE)


def messages_of(events: Iterable[Event]) -> list[MessageRecovered]:
    """The messages that the events of a capture give."""
    taker = Messages()
    return [message for event in events for message in taker.take(event)]


def cut(ulpdu: bytes, room: int) -> list[bytes]:
    """An Untagged message of one segment, in segments of so many octets each."""
    header = messages.UNTAGGED_HEADER
    opcode, stag = ulpdu[1] & 15, int.from_bytes(ulpdu[2:6], "big")
    qn, msn = (int.from_bytes(ulpdu[at : at + 4], "big") for at in (6, 10))
    return messages.untagged_message(opcode, qn, msn, ulpdu[header:], header + room, stag)


def spoken(words: str) -> list[tuple[int, bytes, str]]:
    """The messages of a shorthand such as ``>R1 <R``, as direction, ULPDU, and ``-`` or ``!``.

    ``>`` is the Initiator, ``<`` the Responder. S is a Send, of the next MSN. ``>R1`` and ``>A1``
    are an RDMA Read Request and an Atomic Request with MSN 1, ``<R`` and ``<A1`` are Responses.
    Numbers follow these marks: ``:`` octets of an RDMA Read, ``@`` TO of its sink, ``s`` its STag,
    ``/`` MULPDU, ``|`` octets of an RDMAP header in each segment, ``%`` order of the segments,
    ``=`` identifier of an Atomic Operation, ``*`` number of Sends. ``-``: not captured, or these
    segments are not. ``!``: with a bad CRC, likewise.
    """
    said = []
    sends = [1, 1]
    for word in words.split():
        side, msn = "><".index(word[0]), int((re.match(r"\d+", word[2:]) or "0")[0])
        options = dict(re.findall(r"([:@s/|%=*!-])(\d*)", word))
        defaults = zip(":@s/=*", (100, 1000, 7, 1442, 0, 1), strict=True)
        size, to, stag, room, name, count = (int(options.get(*each)) for each in defaults)
        if word[1] == "S":
            first, sends[side] = sends[side], sends[side] + count
            ulpdus = [messages.send(msn, b"x")[0] for msn in range(first, first + count)]
        elif word[1] == "A" and side:
            ulpdus = messages.atomic_response(msn, name, 5)
        elif word[1] == "A":
            ulpdus = messages.atomic_request(msn, 2 * (msn > 1), name, 1, 2, 3)
        elif side:
            ulpdus = messages.read_response(stag, to, bytes(size), room)
        else:
            ulpdus = messages.read_request(msn, stag, to, size, 99, 5000 + msn)
        if "|" in options:
            ulpdus = cut(ulpdus[0], int(options["|"]))
        if "%" in options:
            ulpdus = [ulpdus[int(at)] for at in options["%"]]
        for at, ulpdu in enumerate(ulpdus):
            fates = [
                mark
                for mark in "-!"
                if mark in options and (not options[mark] or str(at) in options[mark])
            ]
            said.append((side, ulpdu, "".join(fates)))
    return said


def talk_of(said: str | list[tuple[int, bytes, str]]) -> Talk:
    """A connection with one FPDU a segment.  ``...``: the beginning is missing."""
    talk = started()
    if isinstance(said, str):
        if said.startswith("..."):
            talk.segments.clear()
        said = spoken(said.removeprefix("..."))
    for direction, ulpdu, fate in said:
        damage = {0: Damage(flip=(10, 1))} if "!" in fate else None
        octets, _ = mpastream.build_stream([ulpdu], damage=damage)
        talk.say(direction, octets, captured="-" not in fate)
    talk.close()
    return talk


def exchanged(said: str | list[tuple[int, bytes, str]]) -> list[MessageRecovered]:
    """The messages found."""
    return messages_of(talk_of(said).fed())


def answers(found: list[MessageRecovered]) -> str:
    """The reports about Responses, in shorthand, and after ``/`` the Requests without one.

    ``1``: the Response to MSN 1, as requested; ``1~``: not as requested; ``1.``: that is unknown.
    Others: ``-`` was not asked for; ``+`` was, by one of several; ``?``: that is unknown.
    """
    given, absent = [], []
    for each in found:
        if each.opcode not in RESPONSES:
            continue
        if not each.fpdus:
            absent.append(str(each.answers))
        elif each.answers is None:
            assert each.as_requested is None
            given.append({True: "+", False: "-", None: "?"}[each.requested])
        else:
            assert each.requested
            given.append(f"{each.answers}{({True: '', False: '~', None: '.'})[each.as_requested]}")
    return " ".join([*given, *["/"] * bool(absent), *absent])

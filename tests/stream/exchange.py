# SPDX-License-Identifier: GPL-2.0-or-later
"""A shorthand for Requests and Responses, and a shorthand for the reports about them."""

import random
import re
from collections.abc import Iterable
from typing import Any

from scapy_mpa.stream.events import Event, MessageRecovered
from scapy_mpa.stream.messages import Messages
from tests.stream.startup import reply, request
from tests.stream.talk import Talk
from tests.truth import messages, mpastream
from tests.truth.mpastream import Damage

FLIPPED = Damage(flip=(10, 1))
RESPONSES = (messages.READ_RESPONSE, messages.ATOMIC_RESPONSE)


def messages_of(events: Iterable[Event]) -> list[MessageRecovered]:
    """The messages found in the events of a capture."""
    taker = Messages()
    return [message for event in events for message in taker.take(event)]


def payload(length: int) -> bytes:
    """Random octets."""
    return random.Random(length).randbytes(length)


def cut(ulpdu: bytes, room: int) -> list[bytes]:
    """An Untagged message of one segment, cut into segments with ``room`` octets of payload."""
    header = messages.UNTAGGED_HEADER
    opcode, stag = ulpdu[1] & 15, int.from_bytes(ulpdu[2:6], "big")
    qn, msn = (int.from_bytes(ulpdu[at : at + 4], "big") for at in (6, 10))
    return messages.untagged_message(opcode, qn, msn, ulpdu[header:], header + room, stag)


def parsed(words: str) -> list[tuple[int, bytes, str]]:
    """The messages of a shorthand such as ``>R1 <R``, as direction, ULPDU, and ``-`` or ``!``.

    ``>`` is the Initiator, ``<`` the Responder. S is a Send with the next MSN. ``>R1`` and ``>A1``
    are an RDMA Read Request and an Atomic Request with MSN 1, ``<R`` and ``<A1`` are Responses.
    W is an RDMA Write, E an FPDU of no octets. ``>I1`` and ``>T1`` are Immediate Data and a
    Terminate with MSN 1, of zeros.

    These marks have a number after them: ``:`` octets of a message, ``@`` TO and ``s`` STag of its
    sink, ``/`` MULPDU, ``|`` octets of an RDMAP header in each segment, ``=`` identifier of an
    Atomic Operation, ``*`` number of Sends, ``#`` MSN of a Send that does not have the next one.
    After ``-`` come the segments that are not captured, after ``!`` the segments with a bad CRC.
    ``-`` or ``!`` alone: all segments.
    """
    found = []
    sends = [1, 1]
    for word in words.split():
        side, msn = "><".index(word[0]), int((re.match(r"\d+", word[2:]) or "0")[0])
        options = dict(re.findall(r"([:@s/|=*#!-])(\d*)", word))
        defaults = zip(":@s/=*", (100, 1000, 7, 1442, 0, 1), strict=True)
        size, to, stag, room, name, count = (int(options.get(*each)) for each in defaults)
        if word[1] == "S":
            first, sends[side] = sends[side], sends[side] + count
            first = int(options.get("#", first))
            octets = payload(size) if ":" in options else b"x"
            msns = range(first, first + count)
            ulpdus = [each for msn in msns for each in messages.send(msn % 2**32, octets, room)]
        elif word[1] == "W":
            ulpdus = messages.write(stag, to, payload(size), room)
        elif word[1] == "E":
            ulpdus = [b""]
        elif word[1] in "IT":
            opcode, queue = (7, 2) if word[1] == "T" else (8, 0)
            ulpdus = messages.untagged_message(opcode, queue, msn, bytes(size), room)
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
        for at, ulpdu in enumerate(ulpdus):
            marked = [(mark, options[mark]) for mark in "-!" if mark in options]
            fate = "".join(mark for mark, which in marked if not which or str(at) in which)
            found.append((side, ulpdu, fate))
    return found


def talk_of(
    sent: str | list[tuple[int, bytes, str]],
    *,
    crc: bool = True,
    damage: Damage = FLIPPED,
    **agreed: int,
) -> Talk:
    """A connection with one FPDU in each TCP segment.

    :param sent: its messages, in shorthand or parsed; ``...`` first: the beginning is missing.
    :param damage: what is wrong with FPDUs that have a bad CRC.
    :param agreed: what both sides agree on: ``ird`` and ``ord`` of the Initiator, control flags
        (RFC 6581 9), and ``granted``, an ORD of the Responder other than that IRD.  None: Request
        and Reply of RFC 5044.
    """
    talk = Talk()
    for direction, frame in enumerate((request, reply)):
        fields: dict[str, Any] = {"crc": int(crc)}
        if agreed:
            depths = agreed["ird"], agreed["ord"]
            if direction:
                depths = agreed["ord"], agreed.get("granted", agreed["ird"])
            flags = {key: agreed[key] for key in agreed if key in "abcd"}
            data = mpastream.enhanced_data(*depths, **flags)
            fields |= {"revision": 2, "enhanced": 1, "private_data": data}
        talk.say(direction, frame(**fields))
    if isinstance(sent, str):
        if sent.startswith("..."):
            talk.segments.clear()
        sent = parsed(sent.removeprefix("..."))
    for direction, ulpdu, fate in sent:
        harm = {0: damage} if "!" in fate else None
        octets, _ = mpastream.build_stream([ulpdu], crc=crc, damage=harm)
        talk.say(direction, octets, captured="-" not in fate)
    talk.close()
    return talk


def exchanged(sent: str | list[tuple[int, bytes, str]]) -> list[MessageRecovered]:
    """The messages found in this connection, see :func:`talk_of`."""
    return messages_of(talk_of(sent).fed())


def answers(found: list[MessageRecovered]) -> str:
    """The reports about Responses in shorthand, and after ``/`` the unanswered Requests.

    ``1``: answers MSN 1, with the requested length; ``1~``: with another length; ``1.``: it is
    unknown whether the length is right.  ``-``: was not asked for; ``+``: answers one of several
    Requests; ``?``: it is unknown whether it was asked for.
    """
    paired, unanswered = [], []
    for each in found:
        if each.opcode not in RESPONSES:
            continue
        if not each.fpdus:
            # It has the frame of its Request.
            assert each.request_frame == each.frame
            unanswered.append(str(each.answers))
        elif each.answers is None:
            assert each.as_requested is None
            paired.append({True: "+", False: "-", None: "?"}[each.requested])
        else:
            assert each.requested
            paired.append(f"{each.answers}{({True: '', False: '~', None: '.'})[each.as_requested]}")
    return " ".join([*paired, *["/"] * bool(unanswered), *unanswered])

# SPDX-License-Identifier: GPL-2.0-or-later
"""What a Request and a Reply agree on (RFC 6581 9 and 10), also by the draft before it."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.wire.control_flags import RTR, meaning_of, rtr_flags
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.negotiation import LEFT_TO_ULP, Negotiation, negotiate, rtr_of
from scapy_mpa.wire.startup import StartupFrame, StartupKind, build_enhanced
from tests.truth import messages

DRAFT = Dialect.DRAFT_PEER_CONNECT_01
ALL = (RTR.SEND, RTR.WRITE, RTR.READ)
WRITE = messages.write(1, 0, b"")[0]
SEND = messages.send(1, b"")[0]
REAL_SEND = messages.send(1, b"x")[0]
REAL_WRITE = messages.write(1, 0, b"x")[0]
READ = messages.read_request(1, 7, 0, 0, 8, 0)[0]
TERMINATE = messages.terminate(2, 0, 6)[0]

depths = st.integers(0, LEFT_TO_ULP) | st.sampled_from([0, 1, LEFT_TO_ULP])
flags = st.sets(st.sampled_from("ABCD")).map(lambda letters: "".join(sorted(letters)))


def frame(
    kind: StartupKind, control_flags: str | None = "", ird: int = 4, ord: int = 4, revision: int = 2
) -> StartupFrame:
    """A startup frame; without enhanced data if the flags are None."""
    data = b"" if control_flags is None else build_enhanced(control_flags, ird, ord)
    s_bit = control_flags is not None
    return StartupFrame(kind, False, True, False, s_bit, 0, revision, len(data), data)


request, reply = partial(frame, StartupKind.REQUEST), partial(frame, StartupKind.REPLY)


def agreed(
    one: StartupFrame | None, other: StartupFrame, dialect: Dialect | None = None
) -> Negotiation:
    """What they agree on, which must be something."""
    found = negotiate(one, other, dialect)
    assert found is not None
    return found


MOST = LEFT_TO_ULP
AGREED: list[tuple[str, StartupFrame, StartupFrame, object]] = [
    # 9.1: initiator ORD <= responder IRD, responder ORD <= initiator IRD.
    ("9.1", request(ird=8, ord=16), reply(ird=5, ord=3), ((8, 5), (5, 3))),
    # An ORD of 0 can be answered with an IRD of 1, for an RTR by Read.
    ("9.1", request("AD", ird=4, ord=0), reply("AD", ird=1, ord=4), ((4, 1), (0, 4))),
    # 0x3FFF leaves a number to the ULP, and is answered with 0x3FFF.
    ("9.1", request(ird=MOST, ord=7), reply(ird=9, ord=MOST), ((None, 9), (7, None))),
    ("9.1", request(ird=7, ord=MOST), reply(ird=MOST, ord=2), ((7, None), (None, 2))),
    # A Responder's 0x3FFF leaves the Initiator's numbers unchanged.
    ("9.1", request(ird=7, ord=6), reply(ird=MOST, ord=MOST), ((7, None), (6, None))),
    # 9.2: an RTR indication is one that both can do.
    ("9.2", request("ACD"), reply("ABC"), (True, (RTR.WRITE,))),
    ("9.2", request("ABCD"), reply("ABCD"), (True, ALL)),
    # Without A none is needed, whatever other flags say.
    ("9.2", request(""), reply(""), (False, None)),
    # The draft, 8: A, B and C of the Reply are a Send, a Write and a Read.
    ("draft", request("C"), reply("A"), (None, (RTR.SEND,))),
    ("draft", request("C"), reply("B"), (None, (RTR.WRITE,))),
    ("draft", request("C"), reply("C"), (None, (RTR.READ,))),
    ("draft", request("C"), reply("ABC"), (None, ALL)),
    ("draft", request("C"), reply(""), (None, ())),
    # A Reply without enhanced data means all three.
    ("draft", request("A"), reply(None), (None, ALL)),
    ("draft, depths", request(ird=3, ord=5), reply(None), ((None, None), (5, None))),
    # The IRD of the Request is a wish.  The Responder need not grant it.
    ("draft, depths", request(ird=3, ord=9), reply(ird=5, ord=7), ((None, 5), (5, 7))),
]
"""Both frames, and what they agree on: IRD and ORD (9.1), or peer-to-peer and the RTR indications
(9.2)."""

BROKEN: list[tuple[StartupFrame | None, StartupFrame, list[str], object]] = [
    # The Initiator has too few resources, which is error code 6.
    (request(ird=4), reply(ord=5), ["RFC 6581 9.1"], [(2, 0, 6)]),
    (request(ird=MOST, ord=MOST), reply(ird=128, ord=16), ["RFC 6581 9.1"] * 2, []),
    # Without a match it is error code 7.
    *(
        (request(asked), reply(offered), ["RFC 6581 9.2"], [(2, 0, 7)])
        for asked, offered in (("AB", "ACD"), ("A", "ABCD"), ("ABCD", "A"))
    ),
    (request("B"), reply("CD"), ["RFC 6581 9.2"] * 2, []),
    # A of the Reply must be that of the Request.  If not, the two are no peers.
    (request("ABC"), reply(""), ["RFC 6581 9.2"], None),
    (request(""), reply("ABC"), ["RFC 6581 9.2"], None),
    # A Reply to enhanced data must have enhanced data.  Without them nothing is agreed on.
    *(
        (request("AB"), reply(flags, revision=revision), ["RFC 6581 10"], [])
        for flags, revision in ((None, 2), (None, 1), ("AB", 1), (None, 0))
    ),
    # A Request without enhanced data gets a Reply without.
    *((one, reply("AB"), ["RFC 6581 10"], []) for one in (None, request(None))),
]
"""Both frames, the broken clauses, and the Terminates for them; None if RFC 6581 does not say
which."""


def clauses(found: Negotiation) -> list[str]:
    """The clauses that are broken."""
    return [each.clause for each in found.broken]


@pytest.mark.parametrize(("clause", "one", "other", "wanted"), AGREED)
def test_agreed(clause: str, one: StartupFrame, other: StartupFrame, wanted: object) -> None:
    """Both frames agree, and no rule is broken."""
    found = agreed(one, other, DRAFT if "draft" in clause else None)
    of_depths = clause in ("9.1", "draft, depths")
    assert ((found.ird, found.ord) if of_depths else (found.peer_to_peer, found.rtr)) == wanted
    assert not found.broken


def test_reserved_flag_of_the_draft() -> None:
    """D must not be sent, and is ignored (the draft, 8)."""
    found = agreed(request("CD"), reply("AD"), DRAFT)
    assert (found.rtr, clauses(found)) == ((RTR.SEND,), [f"{DRAFT.value} 8"] * 2)


@pytest.mark.parametrize(("one", "other", "wanted", "terminates"), BROKEN)
def test_broken(
    one: StartupFrame | None, other: StartupFrame, wanted: list[str], terminates: object
) -> None:
    """The broken clauses, and the Terminates that must answer them.  Nothing is agreed on."""
    found = agreed(one, other)
    assert clauses(found) == wanted
    if one is None or not one.enhanced:
        assert agreed(one, other, DRAFT) == found
    assert terminates in (None, [each.terminate for each in found.refused])
    if terminates == [(2, 0, 6)]:
        assert found.ird[0] == 5, "it must have so many if it goes on"
    elif terminates:
        assert found.rtr == ()
        # The missing match was reported with the Reply.
        assert found.judge(SEND, 18) == (RTR.SEND, None)
    else:
        assert not found.peer_to_peer and found.rtr is None
    if wanted == ["RFC 6581 10"]:
        assert (found.ird, found.ord) == ((None, None), (None, None))


NOTHING: list[tuple[StartupFrame | None, StartupFrame, Dialect | None]] = [
    # Without enhanced data, also if the Request has another revision (RFC 6581 10).
    (request(None), reply(None), None),
    (None, reply(None), None),
    # The draft, 8 and 9: with revision 1 the Reply is that of RFC 5044.
    (request("A"), reply(None, revision=1), DRAFT),
    (request(None), reply(None), DRAFT),
    # A Reply that rejects (RFC 5044 7.1.2 rule 3).
    (request("AB"), reply("AB")._replace(rejected=True), None),
    # The snap length cut off the enhanced data of one.
    *((request("AC"), reply("AC")._replace(data=bytes(there)), None) for there in range(4)),
    *((request("AC")._replace(data=bytes(there)), reply("AC"), None) for there in range(4)),
]


@pytest.mark.parametrize(("one", "other", "dialect"), NOTHING)
def test_nothing_is_agreed_on(
    one: StartupFrame | None, other: StartupFrame, dialect: Dialect | None
) -> None:
    """What they agree on is nothing, or unknown.  Neither side breaks a rule."""
    assert negotiate(one, other, dialect) is None


@given(flags, flags, depths, depths, depths, depths, st.sampled_from([None, DRAFT]))
def test_any_numbers(
    asked: str, offered: str, ird: int, ord: int, reply_ird: int, reply_ord: int, dialect: Dialect
) -> None:
    """What is agreed on is in range, and an ORD is at most the IRD of the other side."""
    found = agreed(request(asked, ird, ord), reply(offered, reply_ird, reply_ord), dialect)
    for number in (*found.ird, *found.ord):
        assert number is None or 0 <= number < LEFT_TO_ULP
    for orders, limits in zip(found.ord, reversed(found.ird), strict=True):
        assert orders is None or limits is None or orders <= limits
    assert set(found.refused) <= set(found.broken)
    for ulpdu in (WRITE, SEND, REAL_SEND, b"", b"\x41"):
        kind, broken = found.judge(ulpdu, len(ulpdu))
        assert broken is None or found.rtr is not None
        assert kind is None or found.rtr is not None


JUDGED: list[tuple[Dialect | None, str, str, bytes, RTR | None, bool]] = [
    # RFC 6581 9.2: the first FPDU is one of the RTR indications agreed on.
    (None, "AC", "ABC", WRITE, RTR.WRITE, True),
    (None, "AC", "ABC", SEND, RTR.SEND, False),
    (None, "AC", "ABC", REAL_SEND, None, False),
    (None, "AC", "ABC", TERMINATE, None, True),
    (None, "AD", "AD", READ, RTR.READ, True),
    (None, "AC", "ABC", REAL_WRITE, None, False),
    (None, "AB", "AB", b"", RTR.SEND, True),
    # Each of these lacks at least one thing: zero length, all its octets, or the Last flag.
    (None, "AD", "AD", messages.read_request(1, 7, 0, 1, 8, 0)[0], None, False),
    (None, "AC", "ABC", bytes(14), None, False),
    (None, "AD", "AD", READ[:-1], None, False),
    (None, "AB", "AB", bytes([SEND[0] & ~0x40]) + SEND[1:], None, False),
    # The draft, 8: without a flag the ULP's own Send is the indication.
    (DRAFT, "ABC", "", REAL_SEND, None, True),
    (DRAFT, "ABC", "", SEND, RTR.SEND, False),
    (DRAFT, "ABC", "", WRITE, RTR.WRITE, False),
    # With flags it is one, too.
    (DRAFT, "ABC", "B", WRITE, RTR.WRITE, True),
    (DRAFT, "ABC", "B", REAL_SEND, None, True),
    (DRAFT, "ABC", "B", SEND, RTR.SEND, False),
    (DRAFT, "ABC", "B", REAL_WRITE, None, True),
]
"""The dialect, flags of both frames, the first FPDU, its kind, and whether it may come."""


@pytest.mark.parametrize(("dialect", "asked", "offered", "ulpdu", "kind", "may_come"), JUDGED)
def test_judged(
    dialect: Dialect | None,
    asked: str,
    offered: str,
    ulpdu: bytes,
    kind: RTR | None,
    may_come: bool,
) -> None:
    """The first FPDU is an RTR indication that both agreed on, or breaks a rule."""
    found, broken = agreed(request(asked), reply(offered), dialect).judge(ulpdu, len(ulpdu))
    assert rtr_of(ulpdu, len(ulpdu)) is found is kind
    assert not ulpdu or rtr_of(ulpdu[:-1], len(ulpdu)) is None, "the snap length has cut it"
    clause = "RFC 6581 9.2" if dialect is None else f"{DRAFT.value} 8"
    assert (None if broken is None else broken.clause) == (None if may_come else clause)


def test_meanings() -> None:
    """The letters moved by one between the draft and RFC 6581."""
    rtr = "RTR by Send, RTR by Write, RTR by Read"
    assert ", ".join(meaning_of(DRAFT).words("ABCD")) == f"{rtr}, reserved"
    assert ", ".join(meaning_of(None).words("ABCD")) == f"peer-to-peer, {rtr}"
    for kind, letters, draft in zip(ALL, ("AB", "AC", "AD"), "ABC", strict=True):
        assert (rtr_flags(None, kind), rtr_flags(DRAFT, kind)) == (letters, draft)

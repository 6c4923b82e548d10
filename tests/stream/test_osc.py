# SPDX-License-Identifier: GPL-2.0-or-later
"""OSC's software iWARP: forced, or recognised by the revisions of its startup frames.

Tests for any layout of FPDUs also run with SoftUiWARP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, Segment, StartupItem
from scapy_mpa.craft.impairments import (
    CaptureLoss,
    Duplication,
    Impairment,
    LateStart,
    Loss,
    Overlap,
    Reordering,
    Resegmentation,
    SnapLength,
    impair,
)
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.startup import StartupKind
from tests.craft.reading import known, plain, printed
from tests.stream.crafted import INITIATOR, Record, fpdu_keys, of, places

FORCED = Dialect.OSC
LENGTHS = st.lists(st.integers(0, 900), min_size=1, max_size=12)
MARKERS = st.tuples(st.booleans(), st.booleans())
PACKING = st.sampled_from(("aligned", "packed", "stream"))


def conversation(lengths: Sequence[int], dialect: str | None = "osc", **options: Any) -> Any:
    """Sends of these lengths from the Initiator, and Writes of the same from the Responder."""
    made = Conversation(dialect=dialect, **options)
    rng = Random(str(lengths))
    for length in lengths:
        made.initiator.send(rng.randbytes(length))
    made.responder.send(b"even")
    for length in lengths:
        made.responder.write(rng.randbytes(length), 1, 2)
    made.close()
    return made


def with_osc_revisions(lengths: Sequence[int], **options: Any) -> Conversation:
    """The same messages by RFC 5044, but revision 1 answers revision 0, as in osc."""
    made: Conversation = conversation(lengths, None, revision=0, **options)
    for at, item in enumerate(made.script):
        if isinstance(item, StartupItem) and item.kind is StartupKind.REPLY:
            made.script[at] = replace(item, revision=1)
    return made


def but_request(records: list[Record]) -> list[Record]:
    """Records without the dialect of the Request, which is not yet known when it is reported."""
    return [
        {**each, "dialect": None} if each.get("kind") == "request" else each for each in records
    ]


LAYOUTS = [FORCED, Dialect.SOFTUIWARP]
WHOLE = [Loss(0.2), Reordering(0.3), Duplication(0.3), Resegmentation(40), Overlap(0.3)]
MISSING = [CaptureLoss(0.1), SnapLength(120), LateStart(5)]


def drawn(data: st.DataObject, dialect: Dialect, **options: Any) -> Any:
    """A conversation in a dialect.  SoftUiWARP has neither Markers nor CRCs."""
    markers, crc = data.draw(MARKERS), data.draw(st.booleans())
    if dialect is not FORCED:
        markers, crc = (False, False), False
    return conversation(data.draw(LENGTHS), dialect.value, markers=markers, crc=crc, **options)


OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "lengths": LENGTHS,
    "markers": MARKERS,
    "crc": st.booleans(),
    "packing": PACKING,
    "mss": st.integers(60, 1460),
}


# -- forced ------------------------------------------------------------------------------------


@given(st.sampled_from(LAYOUTS), st.data())
def test_forced(dialect: Dialect, data: st.DataObject) -> None:
    """All is as in the truth, on both reading paths, without errors."""
    made = drawn(data, dialect, packing=data.draw(PACKING), mss=data.draw(st.integers(40, 1460)))
    frames = made.frames()
    found = plain(frames, dialect)
    assert known(found) == made.truth(messages=True, payload=True)
    assert known(printed(frames, dialect)) == made.truth()
    assert not of(found, "error")
    assert {each["dialect"] for each in of(found, "connection")} == {dialect.value}


@given(st.sampled_from(LAYOUTS), st.data(), st.sampled_from(WHOLE + MISSING), st.integers(0, 2**32))
@settings(max_examples=2 * settings.default.max_examples)
def test_impaired(dialect: Dialect, data: st.DataObject, impairment: Impairment, seed: int) -> None:
    """If every octet was captured, every FPDU is reported once.

    Otherwise no false FPDU is reported, and none twice.
    """
    made = drawn(data, dialect, packing="stream", mss=100)
    frames = made.frames(impair(made.segments(), impairment, seed=seed))
    records = plain(frames, dialect)
    sent, found = sorted(fpdu_keys(made.truth())), sorted(fpdu_keys(records))
    if impairment in WHOLE:
        assert found == sent
        assert not of(records, "error") and not of(records, "gap")
    elif dialect is not FORCED or not isinstance(impairment, SnapLength):
        assert set(found) <= set(sent) and len(found) == len(set(found))
    plain(frames)
    printed(frames)


def test_a_wrong_length() -> None:
    """The length leads nowhere.  The FPDU is bad, and an error says that no FPDU follows it."""
    made = conversation([100, 200, 300, 400], markers=True)
    places = [at for at, item in enumerate(made.script) if getattr(item, "ulpdu", None)]
    made.script[places[1]] = made.script[places[1]].override(ulpdu_length=40)
    found = plain(made.frames(), FORCED)
    assert [each["crc"] for each in of(found, "fpdu", INITIATOR)][:2] == ["good", "bad"]
    texts = [each["text"] for each in of(found, "error")]
    assert "CRC does not match" in texts[0] and texts[-1].endswith("begins (osc)")


@pytest.mark.parametrize("missing", ["its own", "the peer's"])
def test_a_startup_frame_is_missing(missing: str) -> None:
    """Then no FPDU is found: only both frames show where FPDUs begin, and how they are laid out."""
    made = conversation([77, 110, 219, 300], markers=(False, True))
    segments = made.segments()
    del segments[places(segments, 0 if missing == "its own" else 1)[0]]
    frames = made.frames(segments)
    assert of(plain(frames, FORCED), "fpdu", INITIATOR) == []


# -- recognised ----------------------------------------------------------------------------------


@given(st.builds(conversation, **OPTIONS))
def test_recognised(made: Conversation) -> None:
    """Without a forced dialect the same is reported, except for the Request, since it comes before
    the Reply."""
    frames = made.frames()
    for read in (plain, printed):
        assert but_request(read(frames)) == but_request(read(frames, FORCED))
    found = plain(frames)
    assert [each["dialect"] for each in of(found, "startup")] == ["draft-ietf-rddp-mpa-01", "osc"]
    assert of(found, "connection")[0]["dialect"] == "osc"


def reply_first(made: Conversation) -> list[Segment]:
    """The segments, where the Reply was captured before its Request."""
    segments = made.segments()
    request, reply = (at for at, each in enumerate(segments) if each.octets.startswith(b"MPA ID"))
    segments[request], segments[reply] = segments[reply], segments[request]
    return segments


def fpdu_before_reply(made: Conversation) -> list[Segment]:
    """The segments of an Initiator that has not waited for the Reply."""
    kinds = [getattr(item, "kind", None) for item in made.script]
    reply = kinds.index(StartupKind.REPLY)
    made.script.insert(reply, made.script.pop(reply + 1))
    return made.segments()


@pytest.mark.parametrize("captured", [reply_first, fpdu_before_reply])
@pytest.mark.parametrize("dialect", [None, FORCED])
def test_startup_in_another_order(captured: Any, dialect: Dialect | None) -> None:
    """osc is still recognised, and octets before the Reply are read."""
    made = conversation([700, 30, 700], markers=True)
    found = plain(made.frames(captured(made)), dialect)
    assert of(found, "connection")[0]["dialect"] == "osc"
    assert sorted(fpdu_keys(found)) == sorted(fpdu_keys(made.truth()))


# -- streams that conform to RFC 5044 ------------------------------------------------------------


@given(st.builds(with_osc_revisions, **OPTIONS))
def test_a_reply_that_breaks_the_rule(made: Conversation) -> None:
    """With RFC 5044 forced it is an error, and the rest is read as usual."""
    truth = made.truth(messages=True, payload=True)
    frames = made.frames()
    found = plain(frames, Dialect.RFC5044)
    (error,) = of(found, "error")
    (reply,) = (each for each in of(found, "startup") if each["kind"] == "reply")
    assert "revision 1 of the Reply exceeds" in error["text"]
    assert found.index(error) == found.index(reply) + 1
    assert error["frame"] == reply["frame"]
    rest = [each for each in found if each["type"] not in ("error", "connection")]
    assert rest == [each for each in truth if each["type"] != "connection"]
    brief = [{name: each[name] for name in each if name != "payload"} for each in found]
    assert printed(frames, Dialect.RFC5044) == [each for each in brief if each["type"] != "message"]
    assert of(found, "connection")[0]["dialect"] == "rfc5044"

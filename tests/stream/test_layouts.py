# SPDX-License-Identifier: GPL-2.0-or-later
"""Other layouts of FPDUs, forced or recognised.

OSC's software iWARP is recognised by the revisions of its startup frames.  SoftUiWARP has pads of
(ULPDU_Length + 2) mod 4 octets and CRC fields of zeros, and is recognised by its pads.
"""

import struct
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, Impairment, Loss, Overlap, Reordering, Segment, impair
from scapy_mpa.craft.impairments import (
    CaptureLoss,
    Duplication,
    LateStart,
    Resegmentation,
    SnapLength,
)
from scapy_mpa.wire.dialect import Dialect
from tests.craft.reading import known, plain, printed
from tests.stream.crafted import Record, fpdu_keys, of, places
from tests.stream.feed import fpdus
from tests.stream.scene import Octets, Scene
from tests.stream.startup import INITIATOR, ended, reply, request
from tests.truth import messages
from tests.truth.mpastream import build_stream

OSC, SOFTUIWARP = Dialect.OSC, Dialect.SOFTUIWARP
LENGTHS = st.lists(st.integers(0, 900), min_size=1, max_size=12)
MARKERS = st.tuples(st.booleans(), st.booleans())
PACKING = st.sampled_from(("aligned", "packed", "stream"))


def conversation(lengths: Sequence[int], dialect: str | None = "osc", **options: Any) -> Any:
    """Sends of these lengths from the Initiator, and Writes of the same from the Responder.

    The Responder answers the first Send at once.
    """
    made = Conversation(dialect=dialect, **options)
    rng = Random(str(lengths))
    for length in lengths[:1]:
        made.initiator.send(rng.randbytes(length))
    made.responder.send(b"even")
    for length in lengths[1:]:
        made.initiator.send(rng.randbytes(length))
    for length in lengths:
        made.responder.write(rng.randbytes(length), 1, 2)
    made.close()
    return made


LAYOUTS = [OSC, SOFTUIWARP]
WHOLE = [Loss(0.2), Reordering(0.3), Duplication(0.3), Resegmentation(40), Overlap(0.3)]
MISSING = [CaptureLoss(0.1), SnapLength(120), LateStart(5)]


def drawn(data: st.DataObject, dialect: Dialect, **options: Any) -> Any:
    """A conversation in a dialect.  SoftUiWARP has neither Markers nor CRCs."""
    markers, crc = data.draw(MARKERS), data.draw(st.booleans())
    if dialect is not OSC:
        markers, crc = (False, False), False
    return conversation(data.draw(LENGTHS), dialect.value, markers=markers, crc=crc, **options)


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
    elif dialect is not OSC or not isinstance(impairment, SnapLength):
        assert set(found) <= set(sent) and len(found) == len(set(found))
    plain(frames)
    printed(frames)


def test_a_wrong_length() -> None:
    """The length leads nowhere.  The FPDU is bad, and an error says that no FPDU follows it."""
    made = conversation([100, 200, 300, 400], markers=True)
    sent = [at for at, item in enumerate(made.script) if getattr(item, "ulpdu", None)]
    places = [at for at in sent if made.script[at].side == 0]
    made.script[places[1]] = made.script[places[1]].override(ulpdu_length=40)
    found = plain(made.frames(), OSC)
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
    assert of(plain(frames, OSC), "fpdu", INITIATOR) == []


# -- SoftUiWARP, recognised by its pads ------------------------------------------------------------


def with_pad(ulpdu: bytes) -> bytes:
    """An FPDU with SoftUiWARP's pad."""
    pad = (len(ulpdu) + 2) % 4
    return struct.pack(">H", len(ulpdu)) + ulpdu + b"\0" * pad + b"\0\0\0\0"


WHEN = {"frame", "time", "timestamp", "frames", "captured", "captured_from", "dialect"}
"""Keys of what is only known when the dialect is recognised."""


def whenever(records: list[Record], kind: str) -> list[Record]:
    """Records of a type, in an order and with keys that do not depend on when they are found."""
    found: list[Record] = [
        {key: each[key] for key in each if key not in WHEN} for each in of(records, kind)
    ]
    for each in found:
        for part in each.get("parts", ()):
            del part["frames"]
    return sorted(found, key=str)


def damaged(segments: list[Segment], data: st.DataObject, rng: Random, seed: int) -> list[Segment]:
    """The segments, damaged in one way or not at all."""
    ways: tuple[Any, ...] = (None, "bit", CaptureLoss(0.1), Reordering(0.3), SnapLength(120))
    damage = data.draw(st.sampled_from(ways))
    if damage is None:
        return segments
    if damage != "bit":
        return impair(segments, damage, seed=seed)
    hit = rng.randrange(5, len(segments))
    octets = bytearray(segments[hit].octets)
    if octets:
        octets[rng.randrange(len(octets))] ^= 1 << rng.randrange(8)
    return [*segments[:hit], replace(segments[hit], octets=bytes(octets)), *segments[hit + 1 :]]


@given(LENGTHS, PACKING, st.integers(60, 1460))
def test_softuiwarp_is_recognised(lengths: list[int], packing: str, mss: int) -> None:
    """After an FPDU of odd length three others prove the dialect.  No FPDU is lost, and none is
    false.

    The dialect, and the first FPDU with another pad, may be reported a little later.
    """
    lengths = [*lengths, 1, 2, 3, 4, 5]
    made = conversation(lengths, "softuiwarp", crc=False, packing=packing, mss=mss)
    frames = made.frames()
    for read in (plain, printed):
        found, forced = read(frames), read(frames, SOFTUIWARP)
        for kind in ("fpdu", "message", "error"):
            assert whenever(found, kind) == whenever(forced, kind)
        assert of(found, "connection")[0]["dialect"] == "softuiwarp"


@pytest.mark.parametrize(("markers", "crc"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_only_without_markers_and_crcs(markers: int, crc: int) -> None:
    """With either it is RFC 5044, even if lengths with SoftUiWARP's pads lead to headers."""
    ulpdus = [messages.send(msn, bytes(msn + 8))[0] for msn in range(8)]
    whole, _ = build_stream(ulpdus[:1], markers=bool(markers), crc=bool(crc))
    letters: dict[str, Octets] = {
        "Q": request(markers=markers, crc=crc),
        "A": reply(markers=markers, crc=crc),
        "1": whole + b"".join(map(with_pad, ulpdus[1:])),
        "2": whole,
    }
    events = Scene(">Q <A >1 <2 >F <F", letters).fed()
    is_known = not (markers or crc)
    assert ended(events).dialect is (SOFTUIWARP if is_known else Dialect.RFC5044)
    count = 8 if is_known else 2
    assert [each.ulpdu for each in fpdus(events, 0)][:count] == ulpdus[:count]
    if crc:
        assert [each.crc for each in fpdus(events, 0)] == ["good", "bad"]


@pytest.mark.parametrize(("lengths", "dialect"), [([1, 2], "rfc5044"), ([1, 2, 4], "softuiwarp")])
def test_two_at_the_end_are_enough(lengths: list[int], dialect: str) -> None:
    """After an FPDU of odd length, two more are enough if the stream ends where they end."""
    found = plain(conversation(lengths, "softuiwarp", crc=False).frames())
    assert of(found, "connection")[0]["dialect"] == dialect


@given(st.lists(st.integers(0, 99), min_size=1, max_size=9), st.integers(0, 2**32), st.data())
def test_conforming_streams_are_not_recognised_as_it(
    lengths: list[int], seed: int, data: st.DataObject
) -> None:
    """Even with damage, or with payload that looks like FPDUs of SoftUiWARP."""
    made = Conversation(crc=data.draw(st.booleans()), packing="stream", mss=300)
    rng = Random(seed)
    for length in lengths:
        row = [bytes([0x41, 0x43]) + bytes(16) + bytes(each) for each in (length, 1, 3, 2)]
        payload = b"".join(map(with_pad, row))
        shift = data.draw(st.integers(0, 7))
        made.initiator.send(rng.randbytes(shift) + payload)
        made.initiator.send(rng.randbytes(length))
    made.close()
    segments = damaged(made.segments(), data, rng, seed)
    records = plain(made.frames(segments))
    for connection in of(records, "connection"):
        assert connection["dialect"] in ("rfc5044", None)

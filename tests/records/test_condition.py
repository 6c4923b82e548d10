# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions on records, and the keys in them."""

import operator
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.records.condition import Condition
from scapy_mpa.records.record import RecordedEvent, record_of
from scapy_mpa.records.schema import KEYS
from scapy_mpa.records.tables import CAPTURE, RECORD_TYPES
from scapy_mpa.wire.errors import LocalProtocolError
from tests.captures import ROOT
from tests.records import made
from tests.records.made import CLOCK

DOCUMENT = ROOT / "docs" / "records.md"

FPDU: dict[str, object] = {
    "type": "fpdu",
    "src": "10.0.0.1:4000",
    "timestamp": "2026-01-31T12:00:00.000000000Z",
    "time": 1.5,
    "crc": "bad",
    "last": True,
    "offset": None,
    "to": "0x1234",
    "frames": [6, 7],
    "payload": "0102",
}
CONNECTION: dict[str, object] = {
    "type": "connection",
    "gaps": {"src": 0, "dst": 3},
    "ird": {"src": None, "dst": 8},
    "rtr_agreed": [],
    "broken": ["IRD is too small", "no RTR"],
    "rnics": None,
}
MESSAGE: dict[str, object] = {
    "type": "message",
    "latency": 5e-05,
    "terminate": {"layer": 1, "ddp_header": None},
    "parts": [{"seq": 7, "frames": [1]}, {"seq": 9, "frames": [2, 3]}],
}
ENDED: dict[str, object] = {"end": {"by": "limit", "within_message": ["10.0.0.2:4000"]}}
CAPTURED: dict[str, object] = {"type": "capture", "not_followed": {"not TCP": 2}}

MET: list[tuple[dict[str, object], str, bool]] = [
    *((FPDU, text, True) for text in ("crc=bad", "crc == bad", " crc!=good ", "crc~^b", "crc>aaa")),
    *((FPDU, text, False) for text in ("crc=good", "crc!=bad", "crc~g", "crc>c", "crc>good")),
    # Numbers in any spelling. A number is no text, and a word is no number.
    *((FPDU, text, True) for text in ("to=4660", "to=0x1234", "to<0X1235", "to>=4660", "to~^0x12")),
    *((FPDU, text, False) for text in ("to>4660", "to<=-1", "to=null")),
    *((FPDU, text, True) for text in ("time=1.5", "time>1", "time<=1.50", "payload=0102")),
    *((FPDU, text, False) for text in ("time>1.5", "payload=1020", "payload=102000")),
    *((FPDU, text, True) for text in ("last=true", "last!=1", "offset=null", "offset!=0")),
    *((FPDU, text, False) for text in ("last=false", "offset<1")),
    # The beginning of a text will do, if it is compared by order.
    *((FPDU, text, True) for text in ("timestamp>2026-01-31T11", "src>10.0.0.12", "payload>01")),
    *((FPDU, text, False) for text in ("timestamp<2026", "timestamp=null", "src>10.0.0.1:5")),
    *((ENDED, text, True) for text in ("end.by=limit", "end.within_message=10.0.0.2:4000")),
    # One matching value of a list or an object is enough.
    *((FPDU, text, True) for text in ("frames=6", "frames>6", "frames!=8", "frames~7")),
    *((FPDU, text, False) for text in ("frames=8", "frames!=7")),
    *((CONNECTION, text, True) for text in ("gaps>0", "gaps.dst=3", "gaps.src!=1", "broken~RTR$")),
    *((CONNECTION, text, False) for text in ("gaps>3", "gaps.src>0", "gaps!=3", "rtr_agreed=read")),
    *((CONNECTION, text, True) for text in ("ird.src=null", "rnics.src=null", "rtr_agreed!=read")),
    # Null is the value of the key, not of one inside it.
    *(
        (MESSAGE, text, True)
        for text in ("terminate!=null", "terminate.ddp_header=null", "any=null")
    ),
    *((MESSAGE, text, False) for text in ("terminate=null", "parts=null", "any!=null")),
    *((CONNECTION, text, True) for text in ("rnics=null", "ird!=null", "broken!=null")),
    # Numbers as JSON has them, and without a digit before the point.
    *((MESSAGE, f"latency{text}", True) for text in ("=5e-05", "<1E-3", "<.001", "<1e6", ">-1e-9")),
    *((MESSAGE, text, True) for text in ("any=5e-5", "latency~5e-05")),
    # Keys of objects in a list.
    *((MESSAGE, text, True) for text in ("parts.seq=9", "parts.seq!=8", "parts.frames>2")),
    *((MESSAGE, text, False) for text in ("parts.seq=8", "parts.seq!=9", "parts.frames>3")),
    # Any value of a record.
    *((FPDU, text, True) for text in ("any=0x1234", "any=bad", "any~:4000$", "any=7")),
    *((FPDU, text, False) for text in ("any=0x1235", "any=good", "any!=bad")),
    # A record without the key meets no condition.
    *((CONNECTION, text, False) for text in ("crc=bad", "crc!=bad", "to~.", "not_followed.x=1")),
    *((CAPTURED, text, True) for text in ("not_followed.not TCP=2", "not_followed>1")),
    *((CAPTURED, text, False) for text in ("not_followed.no=2", "not_followed.no!=2", "crc=null")),
]


@pytest.mark.parametrize(("record", "text", "is_met"), MET)
def test_met_conditions(record: dict[str, object], text: str, is_met: bool) -> None:
    """The type of the record's value decides."""
    assert Condition(text, RECORD_TYPES).holds(record) == is_met


SIGNS = {
    **{"=": operator.eq, "==": operator.eq, "!=": operator.ne},
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
}


@given(st.integers(), st.integers(-(2**70), 2**70), st.sampled_from(sorted(SIGNS)))
def test_numbers_are_compared_as_python_does(value: int, wanted: int, sign: str) -> None:
    """Decimal and hexadecimal, negative, and of any size."""
    for text in (str(wanted), hex(wanted)):
        holds = Condition(f"seq{sign}{text}", RECORD_TYPES).holds({"seq": value})
        assert holds == SIGNS[sign](value, wanted)


WRONG: dict[str, tuple[str, ...]] = {
    "is no condition such as": ("", "crc", "=bad", "!", "crc!bad"),
    "did you mean crc": ("crcd=bad",),
    "did you mean gaps.src": ("gaps.source=1",),
    "docs/records.md lists": ("zzzz=1",),
    "crc is one of true, false, good, bad, off, unknown, null": ("crc=ba", "crc<a", "crc~x"),
    "is a number, such as 7, 0.5 or 0x1F": (
        *("frame>x", "ulpdu_length>1k", "gaps.src=true", "latency<1ms", "time>e5"),
        *("offset=", "frames=[6, 7]", "time>.", "parts.seq=x"),
    ),
    "src is like 10.0.0.1:4000; ~ finds a part": ("src=10.0.0.1",),
    "src is like 10.0.0.1:4000": ("src=4000", "src=null"),
    "stag is like 0x0000001f": ("stag=8c1a3a01",),
    "to is like 0x1f": ("to=x", "to<x", "to<true", "to>null"),
    "timestamp is like 2026-01-31T12:00:00.000000000Z": (
        *("timestamp=2026-01-31", "timestamp>yesterday", "timestamp<2026-01-31 12"),
        "timestamp>=2026-01-31T12:00:00Z",
    ),
    "reason is one of acknowledged, connection ended,": ("reason=lost",),
    "rtr is one of send, write, read, null": ("rtr=sent",),
    "rtr_agreed is one of send, write, read, null": ("rtr_agreed=x",),
    "is one of FetchAdd, CmpSwap, null": ("header.operation=Swapp",),
    "placed is one of in order, speculative": ("placed=late",),
    "is like Initiate, Accept,": ("function=foo", "function=Init"),
    "is like responder or 10.0.0.1:4000": (
        *("end.by=client", "end.by=Responder", "end.by=10.0.0.1", "end.within_message=limit"),
    ),
    "payload is like 001f": ("payload=102", "payload=0x102"),
    "is no regular expression": ("text~(", "text~a{1,99999999999}"),
}
"""Conditions by the words of the message."""
WRONG_OF_KINDS = [
    ("crc.src=1", ("fpdu",), "no record has a key 'crc.src'"),
    ("complete=false", ("fpdu", "error"), "complete is a key of message records"),
    *((f"last={text}", ("fpdu",), "last is one of true, false, null") for text in ("1", "True")),
    ("message=Write", ("message",), "message is one of RDMA Write, RDMA Read Request"),
    *((text, RECORD_TYPES, words) for words, texts in WRONG.items() for text in texts),
]


@pytest.mark.parametrize(("text", "kinds", "words"), WRONG_OF_KINDS)
def test_wrong_conditions(text: str, kinds: tuple[str, ...], words: str) -> None:
    """The message says what would be a condition."""
    with pytest.raises(LocalProtocolError, match=re.escape(words)):
        Condition(text, kinds)


@given(made.events, st.sampled_from(sorted(KEYS["connection"] | KEYS["fpdu"])), st.text())
def test_any_text_is_a_value(event: RecordedEvent, key: str, value: str) -> None:
    """Any text may follow a sign, but it may be no regular expression."""
    record: dict[str, Any] = record_of(event, CLOCK)
    for sign in (*SIGNS, "~"):
        try:
            assert Condition(f"{key}{sign}{value}", RECORD_TYPES).holds(record) in (True, False)
        except LocalProtocolError as error:
            assert sign == "~" or re.search("is one of|is a number|is like", str(error))


def test_keys_are_those_of_the_document() -> None:
    """The document describes each key."""
    assert KEYS.keys() == {*RECORD_TYPES} >= {CAPTURE}
    keys = {key.partition(".")[0] for keys in KEYS.values() for key in keys}
    assert keys <= set(re.findall(r"`(\w+)`", DOCUMENT.read_text()))

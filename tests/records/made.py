# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of every type with values of every kind, sensible or not."""

from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from scapy_mpa.records.record import RecordedEvent
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.wire.fpdu import OSC, OSC_WITHOUT_CRCS, SOFTUIWARP, STANDARD
from scapy_mpa.wire.ift_indication import parse_indication

counts = st.integers(0, 2**70)
numbers = st.integers(0, 2**32 - 1)
wides = st.integers(0, 2**64 - 1)
shorts = st.integers(0, 40) | st.integers(0, 65535)

CLOCK = Clock(1_700_000_000_000_000_000)
"""The clock of a capture that remembers the times of two frames."""
for frame in (6, 7):
    CLOCK.note(frame, CLOCK.begin_ns + frame * 1000)

OWN: dict[str, st.SearchStrategy[Any]] = {
    "connection": st.builds(
        ConnectionId,
        number=st.integers(0, 20),
        flow=st.binary(min_size=12, max_size=12) | st.binary(min_size=36, max_size=36),
    ),
    "direction": st.integers(0, 1),
    "time_ns": st.integers(-(2**66), 2**96),
    "seq": numbers,
    "stag": st.none() | numbers,
    "to": st.none() | wides,
    "missing": st.lists(st.tuples(st.none() | wides, st.none() | counts), max_size=3).map(tuple),
    **dict.fromkeys(("sink_stag", "src_stag", "rdma_read_size"), numbers),
    **dict.fromkeys(("sink_to", "src_to"), wides),
    **dict.fromkeys(("qn", "msn", "answers", "request_identifier"), st.none() | numbers),
    "revision": st.integers(0, 3) | st.integers(0, 255),
    "reserved": st.integers(0, 15),
    **dict.fromkeys(("pd_length", "ulpdu_length", "header_size", "payload_size"), shorts),
    **dict.fromkeys(("vtag", "ddp_ssn", "stream"), shorts),
    "function_code": st.integers(0, 9) | st.integers(0, 65535),
    "opcode": st.none() | st.integers(0, 15),
    "phase": st.none() | st.sampled_from(range(0, 512, 4)),
    "form": st.sampled_from((STANDARD, SOFTUIWARP, OSC, OSC_WITHOUT_CRCS)),
    "indication": st.binary(min_size=64, max_size=64).map(parse_indication),
}
"""By the name of a field, values that its type does not show."""


def of_type(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type, which may be a tuple with named fields."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is int:
        return counts
    if kind is str:
        # Any text, which may be an endpoint.
        return st.text().map("{}:4000".format)
    if kind is bytes:
        return st.binary(max_size=80)
    if kind is NoneType:
        return st.none()
    if origin in (Union, UnionType):
        return st.one_of(map(of_type, parts))
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is tuple and parts[-1] is ...:
        return st.lists(of_type(parts[0]), max_size=4).map(tuple)
    if origin is tuple:
        return st.tuples(*map(of_type, parts))
    if issubclass(kind, tuple):
        fields = get_type_hints(kind)
        return st.builds(
            kind, **{name: OWN[name] if name in OWN else of_type(fields[name]) for name in fields}
        )
    return st.from_type(kind)


events: st.SearchStrategy[RecordedEvent] = st.one_of(map(of_type, get_args(RecordedEvent)))

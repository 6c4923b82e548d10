# SPDX-License-Identifier: GPL-2.0-or-later
"""Any octets, cut into segments in any way."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import ErrorFound, FPDURecovered, StartupSeen
from scapy_mpa.wire.errors import ErrorCode
from tests.stream.feed import of
from tests.stream.talk import REPLY, REQUEST, STREAM, TRUTH, ULPDUS, started
from tests.truth import mpastream

PIECES = [
    REQUEST,
    REPLY,
    mpastream.startup_frame(mpastream.REQUEST_KEY, markers=1, crc=1, private_data=b"x" * 9),
    mpastream.startup_frame(mpastream.REPLY_KEY, markers=1, rejected=1),
    mpastream.startup_frame(mpastream.REPLY_KEY, revision=2, enhanced=1),
    mpastream.startup_frame(mpastream.REQUEST_KEY, revision=0, pd_length=65535),
    STREAM,
    STREAM[: TRUTH[1].end],
    STREAM[TRUTH[0].end : TRUTH[3].end - 7],
    mpastream.build_stream(ULPDUS, markers=True)[0],
    mpastream.build_stream(ULPDUS, markers=True, crc=False)[0][:1500],
    mpastream.build_stream(ULPDUS, damage={1: mpastream.Damage(ulpdu_length=90)})[0],
    mpastream.build_stream([b"", b"", ULPDUS[0]])[0],
    b"\x00\x12\x41\x43" * 40,
    b"\xff\xff\x41\x43" * 20,
    bytes(700),
    b"",
]

PAYLOADS = st.one_of(
    st.sampled_from(PIECES),
    st.tuples(st.sampled_from(PIECES), st.integers(0, 600), st.integers(0, 900)).map(
        lambda cut: cut[0][cut[1] : cut[1] + cut[2]]
    ),
    st.lists(st.sampled_from(PIECES), min_size=2, max_size=4).map(b"".join),
    st.binary(max_size=80),
)


@given(
    sent=st.lists(st.tuples(st.integers(0, 1), PAYLOADS), max_size=8),
    size=st.sampled_from((1, 3, 64, 500)),
)
def test_octet_by_octet_or_in_one_piece(sent: list[tuple[int, bytes]], size: int) -> None:
    """The same octets give the same startup frames and FPDUs in segments of any size.

    This holds only without errors.  After a wrong length, the starts of segments are evidence.
    After a damaged FPDU, each segment is searched for a startup frame when it comes.
    """
    results = []
    for step in (None, size):
        talk = started()
        for direction, octets in sent:
            if octets:
                talk.say(direction, octets, size=step)
        talk.close()
        events = talk.fed()
        wrong = {each.code for each in of(ErrorFound, events)}
        found: list[StartupSeen | FPDURecovered] = []
        if not wrong & {ErrorCode.CRC_MISMATCH, ErrorCode.MARKER_MISMATCH}:
            found += of(StartupSeen, events)
        if not wrong:
            found += of(FPDURecovered, events)
        results.append(
            Counter((type(each), each.direction, each.seq, each.octets) for each in found)
        )
    assert results[0] == results[1]

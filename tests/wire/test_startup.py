# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames and enhanced data (RFC 5044 7.1.1, RFC 6581 6 and 9), and those of erdma."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scapy_mpa.layers import MPARequest
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.forced import dialect_in_force
from scapy_mpa.wire.startup import StartupFrame, build_enhanced, build_startup, parse_startup
from tests.truth.mpastream import REPLY_KEY, REQUEST_KEY, RTR_KEY, startup_frame

RTR_OCTETS = bytes.fromhex("4d 50 41 20 49 44 20 52 74 52 20 46 72 61 6d 65")
"""The octets of the Key in the proposal (1).  Its words spell the Key differently."""
ERDMA = REQUEST_KEY + bytes.fromhex("00 81 00 03  0102030405060708") + b"abc"

FRAMES = st.builds(
    startup_frame,
    st.sampled_from((REQUEST_KEY, REPLY_KEY, RTR_KEY, RTR_OCTETS)),
    markers=st.integers(0, 1),
    crc=st.integers(0, 1),
    rejected=st.integers(0, 1),
    enhanced=st.integers(0, 1),
    reserved=st.integers(0, 15),
    revision=st.one_of(st.integers(0, 3), st.integers(0, 255)),
    private_data=st.binary(max_size=600),
    pd_length=st.one_of(st.none(), st.integers(0, 65535)),
)


def frame(key: bytes = REQUEST_KEY, **fields: Any) -> StartupFrame:
    """A startup frame with these fields, read back."""
    return parse_startup(startup_frame(key, **fields))


def test_enhanced_data_of_rfc_6581_9() -> None:
    """A, B and IRD, then C, D and ORD, before the ULP's Private Data."""
    octets = REPLY_KEY + bytes.fromhex("50 02 0008  8102 c203") + b"data"
    found = parse_startup(octets)
    assert found.enhanced
    assert (found.control_flags, found.ird, found.ord) == ("ACD", 0x0102, 0x0203)
    assert found.data == bytes.fromhex("8102 c203") + b"data"
    assert found.private_data == b"data"
    assert build_enhanced("ACD", 0x0102, 0x0203) == bytes.fromhex("8102 c203")
    assert frame(enhanced=1, revision=2, private_data=bytes(4)).enhanced
    assert found.problems() == []


PROBLEMS = [
    # RFC 5044 7.1.1, PD_Length: 0 to 512; the draft of revision 0 has no such limit.
    ({"revision": 1, "pd_length": 512}, None),
    ({"revision": 1, "pd_length": 513}, "PD_Length 513 exceeds 512"),
    ({"revision": 2, "pd_length": 65535}, "PD_Length 65535 exceeds 512"),
    ({"revision": 0, "pd_length": 513}, None),
    ({"revision": 0, "pd_length": 65535}, None),
    # RFC 5044 7.1.1, Rev: checked.
    ({"revision": 0}, None),
    ({"revision": 1}, None),
    ({"revision": 2}, None),
    ({"revision": 3}, "revision 3 is not one of 0, 1, 2"),
    ({"revision": 255}, "revision 255 is not one of 0, 1, 2"),
    # RFC 6581 6, S: the Private Data must begin with 4 octets of enhanced data.
    ({"revision": 2, "enhanced": 1, "pd_length": 4}, None),
    ({"revision": 2, "enhanced": 1, "pd_length": 3}, "PD_Length 3 leaves no room"),
    ({"revision": 2, "enhanced": 1, "pd_length": 0}, "PD_Length 0 leaves no room"),
    ({"revision": 2, "enhanced": 0, "pd_length": 3}, None),
    # RFC 5044 7.1.1, Res: not checked on reception; S was one of these bits.
    ({"revision": 1, "enhanced": 1, "pd_length": 0}, None),
    ({"revision": 1, "reserved": 15}, None),
    # RFC 5044 7.1.1, R: not checked in a Request.
    ({"revision": 1, "rejected": 1}, None),
    # rtr-frame-proposal-2007 1 and 2: as in revision 1, but S is ignored.
    ({"key": RTR_KEY, "revision": 0}, "revision 0 of an Rtr Frame is not 1"),
    ({"key": RTR_KEY, "revision": 2, "enhanced": 1}, "revision 2 of an Rtr Frame is not 1"),
    ({"key": RTR_KEY, "pd_length": 513}, "PD_Length 513 exceeds 512"),
    ({"key": RTR_KEY, "enhanced": 1, "rejected": 1, "reserved": 15}, None),
    ({"revision": 129, "markers": 1}, "M is set, which erdma does not accept (erdma startup)"),
    ({"revision": 129, "crc": 1}, "C is set, which erdma does not accept (erdma startup)"),
]


@pytest.mark.parametrize(("fields", "problem"), PROBLEMS)
def test_problems(fields: dict[str, Any], problem: str | None) -> None:
    """Values that a receiver must not accept, and values that it must not check."""
    found = frame(**fields).problems()
    assert len(found) == (problem is not None)
    assert problem is None or problem in found[0]


@given(FRAMES, st.binary(max_size=20))
@example(startup_frame(REQUEST_KEY, revision=129, pd_length=3), b"extended" + b"abc")
@example(startup_frame(RTR_OCTETS, crc=1, private_data=b"abc"), b"")
# RFC 6581 6 wants S, revision 2, and room for 4 octets.
@example(startup_frame(REPLY_KEY, enhanced=0, revision=2, private_data=bytes(4)), b"")
@example(startup_frame(REPLY_KEY, enhanced=1, revision=1, private_data=bytes(4)), b"")
@example(startup_frame(REPLY_KEY, enhanced=1, revision=0, private_data=bytes(4)), b"")
@example(startup_frame(REPLY_KEY, enhanced=1, revision=2, private_data=bytes(3)), b"more")
@example(startup_frame(REPLY_KEY, enhanced=1, revision=2, private_data=bytes(4)), b"")
def test_every_field_comes_back(octets: bytes, more: bytes) -> None:
    """A frame that is written from its fields is the octets that it was read from."""
    found: Any = parse_startup(octets + more)
    # Alibaba's erdma has 8 octets that PD_Length does not count.
    header = 28 if found.revision == 129 else 20
    assert found.length == header + found.pd_length
    assert found.extension == (octets + more)[20:header]
    assert found.data == (octets + more)[header : found.length]
    key = octets[:16]
    usual = {"request": REQUEST_KEY, "reply": REPLY_KEY, "rtr": RTR_KEY}[found.kind]
    assert usual == (RTR_KEY if key == RTR_OCTETS else key)
    again = startup_frame(
        key,
        markers=found.markers,
        crc=found.crc,
        rejected=found.rejected,
        enhanced=found.s_bit,
        reserved=found.reserved,
        revision=found.revision,
        private_data=found.extension + found.data,
        pd_length=found.pd_length,
    )
    assert again == (octets + more)[: found.length]
    assert build_startup(found, key=key) == (octets + more)[: len(build_startup(found))]
    assert build_startup(found) == usual + octets[16:20] + found.extension + found.data
    words = found.control_flags, found.ird, found.ord
    assert found.enhanced == (found.s_bit and found.revision == 2 and len(found.data) >= 4)
    if found.enhanced:
        assert build_enhanced(*words) + found.private_data == found.data
    else:
        assert (*words, found.private_data) == (None, None, None, found.data)


@pytest.mark.parametrize("place", range(16))
@pytest.mark.parametrize("key", [REQUEST_KEY, REPLY_KEY])
def test_a_key_with_one_wrong_octet(key: bytes, place: int) -> None:
    """Every octet of the Key is checked."""
    octets = bytearray(startup_frame(key))
    octets[place] ^= 0x20
    with pytest.raises(RemoteProtocolError, match="Key"):
        parse_startup(bytes(octets))


@pytest.mark.parametrize("whole", [startup_frame(REQUEST_KEY, private_data=b"abcdef"), ERDMA])
def test_cut_short(whole: bytes) -> None:
    """Fewer than 20 octets are no frame yet.  If some of the rest is missing, Private Data or the
    extension are shorter, and the frame says how long it is."""
    for there in range(16, 20):
        with pytest.raises(RemoteProtocolError, match=f"needs 20 octets, {there} are there"):
            parse_startup(whole[:there])
    for there in range(20, len(whole)):
        found = parse_startup(whole[:there])
        assert (found.length, found.pd_length) == (len(whole), whole[19])
        assert found.extension + found.data == whole[20:there]
        assert bytes(MPARequest(whole[:there])) == whole[:there]


# -- dialects --------------------------------------------------------------------------------------


def test_dialect_that_contradicts_the_octets_has_no_effect() -> None:
    """A forced dialect has no effect on a revision that it does not have."""
    for revision in range(256):
        found = frame(revision=revision)
        assert dialect_in_force(found) is found.dialect
        of_draft = dialect_in_force(found, Dialect.DRAFT_PEER_CONNECT_01)
        assert of_draft is (Dialect.DRAFT_PEER_CONNECT_01 if revision == 2 else found.dialect)
        for other in (Dialect.RFC5043, Dialect.DRAFT_IFT_01):
            assert dialect_in_force(found, other) is found.dialect
    for forced in (None, *Dialect):
        assert dialect_in_force(frame(RTR_KEY), forced) is Dialect.RTR_PROPOSAL_2007

# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames of Alibaba's erdma: revision 129, 8 octets that PD_Length does not count."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation
from scapy_mpa.layers import MPAReply, MPARequest
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.startup import build_startup, parse_startup
from tests.craft.reading import plain, printed

REQUEST = b"MPA ID Req Frame" + bytes.fromhex("00 81 00 03  0102030405060708") + b"abc"


def test_request() -> None:
    """Header, extension, Private Data."""
    frame = parse_startup(REQUEST + b"more")
    assert (frame.extension, frame.data) == (bytes(range(1, 9)), b"abc")
    assert (frame.pd_length, frame.length) == (3, len(REQUEST))
    assert build_startup(frame) == REQUEST
    assert frame.dialect is Dialect.ERDMA
    assert frame.problems() == []


def test_no_other_revision_has_one() -> None:
    """What follows the header of any other revision is Private Data."""
    for revision in set(range(256)) - {129}:
        frame = parse_startup(REQUEST[:17] + bytes([revision]) + REQUEST[18:])
        assert (frame.extension, frame.data, frame.length) == (b"", b"\1\2\3", 23)


@pytest.mark.parametrize("length", range(20, len(REQUEST)))
def test_cut_short(length: int) -> None:
    """What is not there is not made up; the frame says how long it is."""
    frame = parse_startup(REQUEST[:length])
    assert frame.length == len(REQUEST)
    assert frame.extension + frame.data == REQUEST[20:length]
    assert bytes(MPARequest(REQUEST[:length])) == REQUEST[:length]


@pytest.mark.parametrize(("flags", "named"), [(0x80, "M"), (0x40, "C")])
def test_markers_and_crcs_are_refused(flags: int, named: str) -> None:
    """erdma rejects M or C."""
    (problem,) = parse_startup(REQUEST[:16] + bytes([flags]) + REQUEST[17:]).problems()
    assert problem == f"{named} is set, which erdma does not accept (erdma startup)"


@given(st.binary(min_size=8, max_size=8), st.binary(max_size=512))
def test_layer(extension: bytes, data: bytes) -> None:
    """Built and dissected, the two descriptions are the same."""
    made = MPAReply(revision=129, crc=0, extension=extension, private_data=data)
    octets = bytes(made)
    frame = parse_startup(octets)
    assert (frame.extension, frame.data, frame.pd_length) == (extension, data, len(data))
    assert build_startup(frame) == octets
    read = MPAReply(octets)
    assert (read.extension, bytes(read.private_data), read.pd_length) == (
        *(extension, data, len(data)),
    )
    read.clear_cache()
    assert bytes(read) == octets


@given(st.integers(0, 300), st.integers(0, 300), st.sampled_from((1, 7, 40, 1460)))
def test_followed(one: int, other: int, mss: int) -> None:
    """FPDUs begin behind extension and Private Data, however the octets lie in segments."""
    conversation = Conversation(dialect="erdma", mss=mss, packing="stream")
    conversation.startup(bytes(one), bytes(other), extension=b"12345678")
    conversation.initiator.send(b"hello")
    conversation.responder.send(b"and back")
    conversation.close()
    frames = conversation.frames()
    found = plain(frames)
    assert found == conversation.truth(messages=True, payload=True)
    assert printed(frames) == conversation.truth()
    assert found[0]["extension"] == b"12345678".hex()
    assert {each["dialect"] for each in found if "dialect" in each} == {"erdma"}
    assert not any(each["type"] == "error" for each in found)


def test_connection_closed_in_the_extension() -> None:
    """What was announced with the revision did not come (RFC 5044 7.1.2 rule 10)."""
    conversation = Conversation(dialect="erdma")
    conversation.startup(rejected=True)
    script = [
        replace(each, extension=b"123") if hasattr(each, "extension") and each.side == 0 else each
        for each in conversation.script
    ]
    conversation = conversation.with_script(script[:2])
    conversation.close()
    errors = [each["text"] for each in plain(conversation.frames()) if each["type"] == "error"]
    assert "closed 23 octets into a startup frame" in errors[0]


def test_extension_goes_with_the_revision() -> None:
    """It has 8 octets, and is for erdma."""
    for dialect, extension in (("erdma", b"1234567"), ("rfc5044", b"12345678")):
        with pytest.raises(LocalProtocolError, match="an extension has 8 octets"):
            Conversation(dialect=dialect).startup(extension=extension)

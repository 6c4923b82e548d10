# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys after missing octets: startup frames, or payload (RFC 5044 7.1.1)."""

from __future__ import annotations

import pytest

from tests.stream.feed import fpdus
from tests.stream.startup import (
    PROSE,
    ULPDUS,
    ended,
    errors,
    found,
    reply,
    request,
    seen,
    stream,
)
from tests.stream.talk import Talk
from tests.truth.mpastream import build_stream


def records_of(frames: list[bytes]) -> bytes:
    """The octets of a capture file: before each frame are a record header and other headers."""
    return b"".join(b"\x80\x21\x5a\x6b" * 4 + b"\x45\x00" * 27 + each for each in frames)


@pytest.mark.parametrize("size", [1, 7, 40, 1460])
def test_startup_frames_and_fpdus_in_a_file(size: int) -> None:
    """Octets directly after a Request are no FPDU, but streaming mode octets (7.1.2 rule 3)."""
    _, truth = stream()
    octets = [build_stream([each.ulpdu])[0] for each in truth]
    talk = Talk()
    talk.say(0, b"RETR iwarp.pcap\r\n")
    talk.say(1, records_of([request(), reply(), *octets]), size=size)
    events = talk.closed()
    assert fpdus(events) == []
    assert ended(events).initiator is None
    assert errors(events) == []


@pytest.mark.parametrize("size", [1, 7, 40, 1460])
def test_delayed_startup_after_such_a_file(size: int) -> None:
    """The true Request, after the file, is still found."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, records_of([request(), reply(), octets[:200], b""]), size=size)
    at = talk.say(0, request()), talk.say(1, reply())
    events = talk.say_both(octets, size=size)
    assert [each.seq for each in seen(events)][-2:] == [*at]
    assert found(events, 0) == found(events, 1) == ULPDUS
    assert {each.located_by for each in fpdus(events)} == {"start", "length"}


@pytest.mark.parametrize("lead", [b"", b"login\r\n"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_key_after_a_hole_and_no_fpdu(lead: bytes, swapped: bool) -> None:
    """The octets after the Key are no FPDUs.  The end of the connection does not change that."""
    talk = Talk()
    sender, other = (1, 0) if swapped else (0, 1)
    talk.miss(sender, b"octets that nobody captured")
    talk.say(sender, lead + (reply() if swapped else request()))
    talk.say(other, PROSE)
    talk.say(sender, PROSE * 600, size=1400)
    talk.say(other, PROSE)
    events = talk.closed()
    assert fpdus(events) == []
    assert errors(events) == []

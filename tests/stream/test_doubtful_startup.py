# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames and FPDUs in a file that is sent in streaming mode are no iWARP."""

from __future__ import annotations

import pytest

from tests.stream.feed import fpdus
from tests.stream.startup import ended, errors, reply, request, stream
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

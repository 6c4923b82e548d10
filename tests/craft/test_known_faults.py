# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the dissector does not yet report the truth of a crafted conversation.

Each is as small as it gets, and fails when it is right one day: then it belongs to the tests of
what it is about, and what ``test_impairments.py`` keeps out for its sake can come in.
"""

from __future__ import annotations

import pytest

from scapy_mpa.craft import Conversation
from tests.craft.reading import plain


@pytest.mark.xfail(strict=True, reason="the Full Operation Phase begins behind it")
def test_gap_before_a_startup_frame() -> None:
    """What is missing before a Reply is a gap, also once that Reply has accepted."""
    conversation = Conversation()
    conversation.initiator.octets(b"?")
    conversation.responder.octets(b"no Key")
    conversation.startup()
    conversation.initiator.send(b"x")
    segments = [each for each in conversation.segments() if each.octets != b"no Key"]
    gaps = [each for each in plain(conversation.frames(segments)) if each["type"] == "gap"]
    assert [(each["seq"], each["length"]) for each in gaps] == [(5001, 6)]

# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the dissector does not yet report the truth of a crafted conversation.

Each is as small as it gets, and fails when it is right one day: then it belongs to the tests of
what it is about, and what ``test_impairments.py`` keeps out for its sake can come in.
"""

from __future__ import annotations

import pytest

from scapy_mpa.craft import Conversation
from tests.craft.small import REPLY, found, kinds


@pytest.mark.xfail(strict=True, reason="the Reply is taken for that to the first Request")
def test_rejection_not_captured() -> None:
    """If only the rejection was not captured, the second Request is none the less no FPDU."""
    conversation = Conversation()
    conversation.startup(rejected=True)
    conversation.startup()
    conversation.initiator.send(b"x")
    segments = conversation.segments()
    del segments[REPLY]
    records = found(conversation, segments)
    assert kinds(records) == ["startup", "startup", "startup", "fpdu"]

# SPDX-License-Identifier: GPL-2.0-or-later
"""What a startup frame tells of the dialect, and the table of what differs between them."""

from __future__ import annotations

import pytest

from scapy_mpa.wire.dialect import Dialect, largest_pd_length
from scapy_mpa.wire.startup import parse_startup
from tests.truth.mpastream import REPLY_KEY, REQUEST_KEY, startup_frame


@pytest.mark.parametrize("key", [REQUEST_KEY, REPLY_KEY])
@pytest.mark.parametrize("s", [0, 1])
@pytest.mark.parametrize(
    ("revision", "dialect"),
    [
        (0, "draft-ietf-rddp-mpa-01"),
        (1, "rfc5044"),
        (2, "rfc6581"),
        (3, None),
        (255, None),
    ],
)
def test_request_and_reply(key: bytes, s: int, revision: int, dialect: str | None) -> None:
    """Rev tells; S alone does not, for Linux siw echoes it."""
    found = parse_startup(startup_frame(key, revision=revision, enhanced=s))
    assert found.dialect == dialect


@pytest.mark.parametrize("key", [b"MPA ID Rtr Frame", b"MPA ID RtR Frame"])
def test_the_rtr_frame_tells(key: bytes) -> None:
    """Only the proposal has such a frame."""
    assert parse_startup(startup_frame(key)).dialect is Dialect.RTR_PROPOSAL_2007


def test_largest_private_data() -> None:
    """65535 octets in draft-ietf-rddp-mpa-01 6.1.1, 512 in RFC 5044 7.1.1 and what builds on it."""
    assert [largest_pd_length(revision) for revision in (0, 1, 2, 77)] == [65535, 512, 512, 512]

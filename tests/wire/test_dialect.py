# SPDX-License-Identifier: GPL-2.0-or-later
"""The dialect that a startup frame shows, and the dialect that the user forces."""

from __future__ import annotations

import pytest

from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.forced import DIALECT_NAMES, dialect_in_force, dialect_named
from scapy_mpa.wire.startup import parse_startup
from tests.truth.mpastream import REQUEST_KEY, RTR_KEY, startup_frame


def test_names() -> None:
    """Each dialect is found by its name.  None and the dialect itself are accepted, too."""
    assert len(DIALECT_NAMES) == len(Dialect)
    for name in DIALECT_NAMES:
        dialect = dialect_named(name)
        assert dialect is not None and dialect.value == name
        assert dialect_named(dialect) is dialect
    assert dialect_named(None) is None
    with pytest.raises(LocalProtocolError, match="there is no dialect 'rfc1149'"):
        dialect_named("rfc1149")


def test_dialect_that_contradicts_the_octets_has_no_effect() -> None:
    """A forced dialect has no effect on a revision that it does not have."""
    for revision in range(256):
        frame = parse_startup(startup_frame(REQUEST_KEY, revision=revision))
        assert dialect_in_force(frame) is frame.dialect
        of_draft = dialect_in_force(frame, Dialect.DRAFT_PEER_CONNECT_01)
        assert of_draft is (Dialect.DRAFT_PEER_CONNECT_01 if revision == 2 else frame.dialect)
        for other in (Dialect.RFC5043, Dialect.DRAFT_IFT_01):
            assert dialect_in_force(frame, other) is frame.dialect


def test_rtr_frame_has_one_dialect() -> None:
    """It belongs to the Rtr Frame proposal, whatever dialect is forced."""
    frame = parse_startup(startup_frame(RTR_KEY))
    for forced in (None, *Dialect):
        assert dialect_in_force(frame, forced) is Dialect.RTR_PROPOSAL_2007

# SPDX-License-Identifier: GPL-2.0-or-later
"""A dialect that the user says is spoken."""

from __future__ import annotations

import pytest

from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.forced import DIALECT_NAMES, dialect_in_force, dialect_named
from scapy_mpa.wire.startup import KEYS, StartupKind, parse_startup


def test_names() -> None:
    """Each dialect has a name, by which it is found; None and the dialect itself are taken, too."""
    assert len(DIALECT_NAMES) == len(Dialect)
    for name in DIALECT_NAMES:
        dialect = dialect_named(name)
        assert dialect is not None and dialect.value == name
        assert dialect_named(dialect) is dialect
    assert dialect_named(None) is None
    with pytest.raises(LocalProtocolError, match="there is no dialect 'rfc1149'"):
        dialect_named("rfc1149")


@pytest.mark.parametrize("revision", range(256))
def test_what_contradicts_the_octets_has_no_effect(revision: int) -> None:
    """Only what goes with a revision is in force on it."""
    frame = parse_startup(KEYS[StartupKind.REQUEST] + bytes([0x40, revision, 0, 0]))
    assert dialect_in_force(frame) is frame.dialect
    of_draft = dialect_in_force(frame, Dialect.DRAFT_PEER_CONNECT_01)
    assert of_draft is (Dialect.DRAFT_PEER_CONNECT_01 if revision == 2 else frame.dialect)
    for other in (Dialect.RFC5043, Dialect.DRAFT_IFT_01):
        assert dialect_in_force(frame, other) is frame.dialect


@pytest.mark.parametrize("forced", [None, *Dialect])
def test_an_rtr_frame_is_what_it_is(forced: Dialect | None) -> None:
    """Only the Rtr frame proposal has one, whatever is said."""
    frame = parse_startup(KEYS[StartupKind.RTR] + bytes([0x40, 1, 0, 0]))
    assert dialect_in_force(frame, forced) is Dialect.RTR_PROPOSAL_2007

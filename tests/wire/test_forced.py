# SPDX-License-Identifier: GPL-2.0-or-later
"""A dialect that the user says is spoken."""

from __future__ import annotations

import pytest

from scapy_mpa.wire.dialect import Dialect, dialect_of
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.forced import DIALECT_NAMES, dialect_in_force, dialect_named
from scapy_mpa.wire.startup import StartupFrame, StartupKind


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
    startup = StartupFrame(
        StartupKind.REQUEST, False, True, False, False, 0, revision, pd_length=0, data=b""
    )
    assert dialect_in_force(startup) is dialect_of(startup)
    of_draft = dialect_in_force(startup, Dialect.DRAFT_PEER_CONNECT_01)
    assert of_draft is (Dialect.DRAFT_PEER_CONNECT_01 if revision == 2 else dialect_of(startup))
    for other in (Dialect.RFC5043, Dialect.DRAFT_IFT_01):
        assert dialect_in_force(startup, other) is dialect_of(startup)

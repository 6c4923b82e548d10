# SPDX-License-Identifier: GPL-2.0-or-later
"""The kinds of RNIC that can have sent two startup frames (RFC 5044 C), and its figures.

``tests.stream.test_rnics`` compares connections with these.
"""

from __future__ import annotations

import pytest

from scapy_mpa.wire.interoperability import RNIC, Kinds, Offer, agreed_markers, kinds_of

RDMAC, NON_PERMISSIVE, PERMISSIVE = RNIC

# As the figures have them: a row for each Initiator, a column for each Responder; V, then M of the
# receive direction of Initiator and Responder.
FIGURE_15 = (
    ("RDMAC M=1", "V=0 M=1/1", "close", "close"),
    ("Non-perms. M=0", "close", "V=1 M=0/0", "V=1 M=0/1"),
    ("Non-perms. M=1", "close", "V=1 M=1/0", "V=1 M=1/1"),
)
COLUMNS_15 = ("RDMAC M=1", "Non-perms. M=0", "Non-perms. M=1")

FIGURE_16 = (
    ("RDMAC M=1", "V=0 M=1/1", "N/A", "V=0 M=1/1"),
    ("Permissive M=0", "V=0 M=1/1", "V=1 M=0/0", "V=1 M=0/1"),
    ("Permissive M=1", "V=0 M=1/1", "V=1 M=1/0", "V=1 M=1/1"),
)
COLUMNS_16 = ("RDMAC M=1", "Permissive M=0", "Permissive M=1")

FIGURE_17 = (
    ("Non-perms. M=0", "V=1 M=0/0", "V=1 M=0/1", "V=1 M=0/0", "V=1 M=0/1"),
    ("Non-perms. M=1", "V=1 M=1/0", "V=1 M=1/1", "V=1 M=1/0", "V=1 M=1/1"),
    ("Permissive M=0", "V=1 M=0/0", "V=1 M=0/1", "V=1 M=0/0", "V=1 M=0/1"),
    ("Permissive M=1", "V=1 M=1/0", "V=1 M=1/1", "V=1 M=1/0", "V=1 M=1/1"),
)
COLUMNS_17 = ("Non-perms. M=0", "Non-perms. M=1", "Permissive M=0", "Permissive M=1")

CELLS = [
    (f"figure {number}", row[0], column, result)
    for number, figure, columns in (
        (15, FIGURE_15, COLUMNS_15),
        (16, FIGURE_16, COLUMNS_16),
        (17, FIGURE_17, COLUMNS_17),
    )
    for row in figure
    for column, result in zip(columns, row[1:], strict=True)
]


def test_agreed_markers() -> None:
    """Those that each side asks for (7.1.1).  All, if an RDMAC RNIC answers revision 1 (C.2.5)."""
    asked = Offer(1, False, True)
    assert agreed_markers(asked, Offer(0, True, True)) == (True, True)
    assert agreed_markers(asked, Offer(1, True, True)) == (False, True)
    # Outside the appendix only M counts.
    assert agreed_markers(Offer(2, False, True), Offer(2, True, True)) == (False, True)
    assert agreed_markers(Offer(1, True, True), Offer(0, False, True)) == (True, False)


@pytest.mark.parametrize(
    ("request_", "reply", "kinds"),
    [
        ((0, 1, 1), (0, 1, 1), ((RDMAC,), (RDMAC, PERMISSIVE))),
        ((0, 1, 1), (1, 0, 1), ((RDMAC,), (NON_PERMISSIVE,))),
        ((1, 0, 0), (0, 1, 1), ((NON_PERMISSIVE, PERMISSIVE), (RDMAC,))),
        ((1, 1, 0), (1, 0, 1), ((NON_PERMISSIVE, PERMISSIVE), (NON_PERMISSIVE, PERMISSIVE))),
        # These are no RDMAC RNICs, and no IETF RNIC asks with revision 0.
        ((0, 0, 1), (0, 0, 1), None),
        ((0, 1, 0), (0, 1, 1), None),
        ((0, 1, 1), (0, 0, 1), None),
        # Outside the appendix.
        ((2, 0, 1), (2, 0, 1), None),
        ((1, 0, 1), (2, 0, 1), None),
        ((129, 0, 0), (129, 0, 0), None),
    ],
)
def test_kinds_of_rnic(
    request_: tuple[int, ...], reply: tuple[int, ...], kinds: Kinds | None
) -> None:
    """Permissive IETF RNICs cannot be distinguished from non-permissive ones (C.3)."""
    offers = (Offer(each[0], bool(each[1]), bool(each[2])) for each in (request_, reply))
    assert kinds_of(*offers) == kinds

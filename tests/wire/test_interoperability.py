# SPDX-License-Identifier: GPL-2.0-or-later
"""RNICs of the RDMA Consortium and of the IETF (RFC 5044 C), held against its figures."""

from __future__ import annotations

from itertools import product

import pytest

from scapy_mpa.wire.interoperability import (
    RNIC,
    Agreement,
    Kinds,
    Offer,
    Peer,
    agreed_markers,
    interoperate,
    kinds_of,
)

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

PEERS = [Peer(*each) for each in product(RNIC, (False, True), (False, True))]


def peer(heading: str) -> Peer:
    """The RNIC that heads a row or a column."""
    name, markers = heading.split(" M=")
    kinds = {"RDMAC": RDMAC, "Non-perms.": NON_PERMISSIVE, "Permissive": PERMISSIVE}
    return Peer(kinds[name], markers == "1")


def cell(agreement: Agreement) -> str:
    """What a figure says of it."""
    if agreement.version is None or agreement.markers is None:
        assert agreement.version is agreement.markers is agreement.crc is None
        return "close"
    one, other = agreement.markers
    return f"V={agreement.version} M={one:d}/{other:d}"


@pytest.mark.parametrize(("figure", "initiator", "responder", "result"), CELLS)
def test_figures_15_to_17(figure: str, initiator: str, responder: str, result: str) -> None:
    """Every cell of the three figures, the one that cannot be excepted."""
    agreement = interoperate(peer(initiator), peer(responder))
    if result == "N/A":
        # The Responder never returns M=0 to an RDMAC RNIC (C.2.3).
        assert agreement.reply.markers
        assert cell(agreement) == "V=0 M=1/1"
    else:
        assert cell(agreement) == result


@pytest.mark.parametrize(
    ("one", "other", "request_", "reply", "version"),
    [
        # C.2.1 and C.2.2: the connection is closed.
        (Peer(RDMAC), Peer(NON_PERMISSIVE), (0, True, True), (1, False, True), None),
        (Peer(NON_PERMISSIVE), Peer(RDMAC), (1, False, True), (0, True, True), None),
        # C.2.5: version 0, Markers both ways and CRCs all the same.
        (Peer(PERMISSIVE), Peer(RDMAC), (1, False, True), (0, True, True), 0),
        (Peer(PERMISSIVE, crc=False), Peer(RDMAC), (1, False, False), (0, True, True), 0),
    ],
)
def test_what_is_said(
    one: Peer, other: Peer, request_: object, reply: object, version: int | None
) -> None:
    """Rev, M and C of both frames, beside RDMAC RNICs."""
    agreement = interoperate(one, other)
    assert (agreement.request, agreement.reply, agreement.version) == (request_, reply, version)
    assert version is None or agreement[3:] == ((True, True), True)


def test_markers_that_two_frames_agree_on() -> None:
    """What is read from the two frames is what the RNICs come to, if they come to anything."""
    for one, other in product(PEERS, repeat=2):
        agreement = interoperate(one, other)
        if agreement.markers is not None:
            assert agreed_markers(agreement.request, agreement.reply) == agreement.markers
    # Beyond the appendix M alone tells (RFC 5044 7.1.1).
    assert agreed_markers(Offer(2, False, True), Offer(2, True, True)) == (False, True)
    assert agreed_markers(Offer(1, True, True), Offer(0, False, True)) == (True, False)


@pytest.mark.parametrize(("one", "other"), [*product((False, True), repeat=2)])
def test_crcs_of_ietf_rnics(one: bool, other: bool) -> None:
    """CRCs are on if either C bit is set (7.1.1), and always with an RDMAC RNIC (C.1)."""
    assert interoperate(Peer(PERMISSIVE, crc=one), Peer(NON_PERMISSIVE, crc=other)).crc is (
        one or other
    )
    assert interoperate(Peer(RDMAC), Peer(PERMISSIVE, crc=other)).crc is True


@pytest.mark.parametrize(
    ("request_", "reply", "kinds"),
    [
        ((0, 1, 1), (0, 1, 1), ((RDMAC,), (RDMAC, PERMISSIVE))),
        ((0, 1, 1), (1, 0, 1), ((RDMAC,), (NON_PERMISSIVE,))),
        ((1, 0, 0), (0, 1, 1), ((NON_PERMISSIVE, PERMISSIVE), (RDMAC,))),
        ((1, 1, 0), (1, 0, 1), ((NON_PERMISSIVE, PERMISSIVE), (NON_PERMISSIVE, PERMISSIVE))),
        # No RDMAC RNIC, and no IETF RNIC asks with revision 0.
        ((0, 0, 1), (0, 0, 1), None),
        ((0, 1, 0), (0, 1, 1), None),
        ((0, 1, 1), (0, 0, 1), None),
        # Beyond the appendix.
        ((2, 0, 1), (2, 0, 1), None),
        ((1, 0, 1), (2, 0, 1), None),
        ((129, 0, 0), (129, 0, 0), None),
    ],
)
def test_what_kinds_startup_frames_are_from(
    request_: tuple[int, ...], reply: tuple[int, ...], kinds: Kinds | None
) -> None:
    """An IETF RNIC cannot tell permissive from non-permissive ones (C.3), nor can we."""
    offers = (Offer(each[0], bool(each[1]), bool(each[2])) for each in (request_, reply))
    assert kinds_of(*offers) == kinds


def test_no_kind_is_ruled_out_wrongly() -> None:
    """Whatever two RNICs there are, each is among the kinds that their frames can be from."""
    for one, other in product(PEERS, repeat=2):
        agreement = interoperate(one, other)
        kinds = kinds_of(agreement.request, agreement.reply)
        assert kinds is not None
        assert one.rnic in kinds.initiator
        assert other.rnic in kinds.responder

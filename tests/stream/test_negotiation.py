# SPDX-License-Identifier: GPL-2.0-or-later
"""What the peers of a connection agreed on, and whether they kept to it (RFC 6581 9)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, FPDUItem, Segment, impair
from scapy_mpa.craft.impairments import (
    CaptureLoss,
    Duplication,
    Loss,
    Reordering,
    Resegmentation,
    SnapLength,
)
from scapy_mpa.craft.mutations import mutations
from scapy_mpa.craft.presets import conversation_of
from scapy_mpa.stream.events import ConnectionEnded
from scapy_mpa.stream.flows import Flows
from scapy_mpa.wire.dialect import Dialect
from tests.captures import REAL, capture_name
from tests.cli.command import records
from tests.craft.reading import plain, printed
from tests.stream.crafted import places
from tests.stream.feed import decoded, feed

DRAFT = Dialect.DRAFT_PEER_CONNECT_01
KEYS = ("peer_to_peer", "ird", "ord", "rtr_agreed", "rtr", "kept", "broken")
NOTHING = [None, None, None, None, None, None, []]
OF_PEERS = ("rtr-send", "rtr-write", "rtr-read")
OF_DRAFT = ("draft-rtr-send", "draft-rtr-write", "draft-rtr-read", "draft-ulp-send")


@lru_cache(maxsize=4)
def connections(path: Path) -> list[dict[str, Any]]:
    """The connections of a capture, by number."""
    return sorted(records("--type", "connection", path), key=lambda each: int(each["connection"]))


def negotiated_in(record: dict[str, Any]) -> list[Any]:
    """The negotiation in a record, with numbers as pairs of Initiator and Responder."""
    return [
        (value["src"], value["dst"]) if isinstance(value, dict) else value
        for value in (record[key] for key in KEYS)
    ]


def depths(ird: tuple[int, int], ord: tuple[int, int]) -> list[Any]:
    """The report for a client and a server that agreed on IRD and ORD alone, and kept to it."""
    return [False, ird, ord, None, None, True, []]


def peers(depth: int, rtr: str) -> list[Any]:
    """The report for peers that agreed on one RTR indication and kept to it."""
    return [True, (depth, depth), (depth, depth), [rtr], rtr, True, []]


@pytest.mark.parametrize(
    ("name", "number", "dialect", "wanted"),
    [
        ("mix_mpa0_crcoff", 0, "draft-ietf-rddp-mpa-01", NOTHING),
        ("mix_mpa1_crcon", 0, "rfc5044", NOTHING),
        ("mix_mpa2_crcoff", 0, "rfc6581", depths((16, 16), (16, 16))),
        ("connect_pd200_ird4_ord8", 0, "rfc6581", depths((4, 8), (8, 2))),
        ("p2p_rtr_read_crcon", 0, "rfc6581", peers(1, "read")),
        ("p2p_rtr_write_crcoff", 0, "rfc6581", peers(1, "write")),
        ("reject_pdata", 0, "rfc6581", NOTHING),
        ("reject_pdata_mpa1", 0, "rfc5044", NOTHING),
        ("listener_absent", 0, None, NOTHING),
        ("ulp_nfs4_rdma_crcoff", 0, "rfc6581", depths((128, 0), (0, 128))),
        ("live_siw_probe_guest_eth0", 3, "rfc6581", depths((8, 8), (8, 8))),
        ("live_siw_probe_guest_eth0", 7, "rfc6581", NOTHING),  # Rev 2 without S
        ("live_siw_probe_guest_eth0", 11, "rfc5044", NOTHING),  # Rev 1 with S, echoed
        ("live_siw_probe_guest_eth0", 20, "rfc6581", NOTHING),  # rejected
        ("live_siw_probe_guest_eth0", 36, "rfc6581", peers(8, "write")),
        ("live_siw_probe_guest_eth0", 37, "rfc6581", peers(8, "read")),
    ],
)
def test_captures(name: str, number: int, dialect: str | None, wanted: list[Any]) -> None:
    """The negotiations of the Linux kernel's siw, as in ``pcaps/README.md``."""
    (path,) = (each for each in REAL if each.name.startswith(f"{name}.pcap"))
    record = connections(path)[number]
    if dialect != "rfc5044" or number != 11:
        assert record["dialect"] == dialect
    assert negotiated_in(record) == wanted


NOT_KEPT: dict[int, tuple[str | None, list[str]]] = {
    6: (None, ["RFC 6581 9.1"] * 2),  # IRD and ORD in answer to 0x3FFF
    38: ("send", ["RFC 6581 9.2"]),  # a Write in answer to a Send
    39: (None, ["RFC 6581 9.2"]),  # no RTR indication at all
}
"""Connections of the probe in which siw, or the client, did not keep to the agreement."""


@pytest.mark.parametrize("path", REAL, ids=capture_name)
def test_captures_that_kept_to_it(path: Path) -> None:
    """No connection of any capture is reported to break a rule, except these."""
    for record in connections(path):
        if "probe" in path.name and record["connection"] in NOT_KEPT:
            rtr, clauses = NOT_KEPT[record["connection"]]
            assert (record["rtr"], record["kept"]) == (rtr, False)
            for clause, text in zip(clauses, record["broken"], strict=True):
                assert f"({clause})" in text
        else:
            assert record["kept"] is not False and not record["broken"]
            assert record["kept"] or record["rtr_agreed"] or record["ird"] is None


CHANGED = [
    mutation
    for mutation in mutations()
    if mutation.name.startswith(("rfc6581/", "draft-ietf-storm-mpa-peer-connect-01/"))
    and "without-data" not in mutation.name
]

OTHER_RULES = {
    "rfc6581/9.1/reply-ird-below-ord",  # No rule forbids it.
    "rfc6581/9.1/ird-exceeded",  # --check counts Requests.
    "rfc6581/9.1/enhanced-accept-ord-above-ird",  # Over SCTP, --check compares them.
    "rfc6581/9.2/enhanced-accept-no-matching-rtr",
    "draft-ietf-storm-mpa-peer-connect-01/8/request-d-set",  # D is reserved.
    "draft-ietf-storm-mpa-peer-connect-01/8/reply-d-set",
    "rfc6581/7/enhanced-accept-answers-initiate",  # Nothing is negotiated.
    "rfc6581/7/enhanced-reject-answers-initiate",
    "rfc6581/7/accept-answers-enhanced",
    "rfc6581/7/enhanced-private-data-over-512",  # The numbers are right.
}
"""Mutations that break no rule of what was agreed."""


@pytest.mark.examples
@pytest.mark.parametrize("mutation", CHANGED, ids=lambda mutation: mutation.name)
def test_broken_rules(mutation: Any) -> None:
    """The rule that a mutation breaks is reported.  The valid case breaks none."""
    for seed in range(3):
        case = mutation.case(seed)
        for conversation in (case.valid, case.conversation):
            is_broken = conversation is case.conversation and mutation.name not in OTHER_RULES
            for found in (plain, printed):
                listed = found(conversation.frames(), conversation.options.dialect)
                record = next(each for each in listed if each["type"] == "connection")
                assert (record["kept"] is False) == bool(record["broken"]) == is_broken
                if conversation is case.valid:
                    assert record["kept"] is (None if record["ird"] is None else True)


def negotiation_of(conversation: Conversation, segments: Sequence[Segment] | None = None) -> Any:
    """The negotiation in the last event."""
    frames = conversation.frames(segments)
    event = feed(decoded(frames), conversation.options.dialect)[-1]
    assert isinstance(event, ConnectionEnded)
    return event.negotiated


def too_early() -> Conversation:
    """A Responder that does not wait for the RTR indication."""
    conversation = Conversation(revision=2, strict=False, ack_every=1)
    conversation.startup(control_flags="AC")
    conversation.responder.send(b"already?")
    conversation.initiator.write(b"")
    conversation.responder.send(b"again")
    conversation.close()
    return conversation


@pytest.mark.parametrize("is_swapped", [False, True])
def test_responder_before_the_rtr(is_swapped: bool) -> None:
    """RFC 5044 7.1.2 rule 4: the Responder sends no FPDU before it has received one.

    Its acknowledgements show that.  The order of capture does not count.
    """
    conversation = too_early()
    segments = conversation.segments()
    early = next(n for n, each in enumerate(segments) if b"already?" in each.octets)
    rtr = next(n for n, each in enumerate(segments) if n > early and each.octets)
    if is_swapped:
        segments.insert(early, segments.pop(rtr))
    result = negotiation_of(conversation, segments)
    assert result.rtr == "write" and result.kept is False
    assert len(result.broken) == 1 and "RFC 5044 7.1.2 rule 4" in result.broken[0]
    assert printed(conversation.frames(segments))[-1]["broken"] == list(result.broken)


@given(
    st.sampled_from([*OF_PEERS, *OF_DRAFT, "mpa-rev2-enhanced", "depths-left-to-ulp"]),
    st.integers(0, 1 << 16),
    st.sampled_from(
        [
            Loss(0.2),
            Reordering(0.3),
            Duplication(0.2),
            CaptureLoss(0.2),
            Resegmentation("tiny"),
        ]
    ),
)
def test_a_valid_connection_is_never_blamed(name: str, seed: int, impairment: Any) -> None:
    """Whatever happens to its segments, no broken rule is reported.

    The negotiation is reported, or unknown.  Both reading paths report the same.
    """
    conversation = conversation_of(name, seed)
    segments = impair(conversation.segments(), impairment, seed=seed)
    frames, dialect = conversation.frames(segments), conversation.options.dialect
    found = next(each for each in plain(frames, dialect) if each["type"] == "connection")
    (wanted,) = (
        each for each in plain(conversation.frames(), dialect) if each["type"] == "connection"
    )
    assert found["kept"] in (True, None) and not found["broken"]
    for key in KEYS[:-1]:
        assert found[key] in (wanted[key], None)
    assert {key: found[key] for key in KEYS} == {
        key: printed(frames, dialect)[-1][key] for key in KEYS
    }


def test_the_first_fpdu_was_not_captured() -> None:
    """Then it is unknown whether the peers kept to it."""
    conversation = conversation_of("rtr-send", 1)
    segments = conversation.segments()
    # After the startup frames.
    del segments[places(segments)[2]]
    result = negotiation_of(conversation, segments)
    assert (result.rtr, result.kept, result.broken) == (None, None, ())
    assert printed(conversation.frames(segments))[-1]["kept"] is None


@pytest.mark.parametrize("is_captured", [True, False])
def test_straight_path_after_the_rtr_indication(is_captured: bool) -> None:
    """Segments take the straight path once the RTR indication is acknowledged, or overdue."""
    conversation = Conversation(revision=2)
    conversation.startup(rtr="write")
    for _ in range(200):
        conversation.responder.send(b"something")
    segments = conversation.segments()
    rtr = next(n for n, each in enumerate(segments) if each.octets[:2] == b"\0\x0e")
    if not is_captured:
        del segments[rtr]
    flows = Flows()
    straight_at = None
    for place, segment in enumerate(decoded(conversation.frames(segments))):
        flows.receive(segment)
        if any(each.fpdus for each in flows.directions.values()):
            straight_at = place
            break
    assert straight_at is not None and rtr <= straight_at < rtr + 100


def test_a_first_fpdu_with_a_bad_crc() -> None:
    """A receiver discards it, so the Responder sends too early."""
    conversation = conversation_of("rtr-write", 1)
    script = list(conversation.script)
    at = next(n for n, item in enumerate(script) if isinstance(item, FPDUItem))
    item = script[at]
    assert isinstance(item, FPDUItem)
    script[at] = item.override(crc=bytes(4))
    result = negotiation_of(conversation.with_script(script))
    assert (result.rtr, result.kept) == (None, False)
    assert "rule 4" in result.broken[0]


@pytest.mark.parametrize("way", [plain, printed])
def test_an_rtr_indication_that_was_cut_off_is_not_judged(way: Any) -> None:
    """If the snap length cut the first FPDU, it is unknown whether it is the agreed one."""
    conversation = conversation_of("rtr-read")
    longest = max(len(each.octets) for each in conversation.segments()[:5])
    segments = impair(conversation.segments(), SnapLength(54 + max(longest, 44)))
    (end,) = [each for each in way(conversation.frames(segments)) if each["type"] == "connection"]
    assert (end["rtr_agreed"], end["rtr"], end["kept"], end["broken"]) == (["read"], None, None, [])


def test_reply_captured_after_the_rtr_indication() -> None:
    """The order of capture does not count."""
    conversation = Conversation(revision=2)
    conversation.startup(rtr="write")
    for _ in range(20):
        conversation.initiator.send(b"something")
    segments = conversation.segments()
    _, answer, *later = places(segments)
    segments.insert(later[10], segments.pop(answer))
    result = negotiation_of(conversation, segments)
    assert (result.rtr, result.kept) == ("write", True)

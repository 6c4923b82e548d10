# SPDX-License-Identifier: GPL-2.0-or-later
"""What the peers of a connection agreed on, and whether they kept to it (RFC 6581 9)."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import impair
from scapy_mpa.craft.impairments import CaptureLoss, Duplication, Loss, Reordering, Resegmentation
from scapy_mpa.craft.mutations import mutations
from scapy_mpa.craft.presets import conversation_of
from tests.captures import REAL, capture_name
from tests.cli.command import records
from tests.craft.reading import plain, printed
from tests.stream.crafted import of
from tests.stream.scene import Scene
from tests.stream.startup import both_ways, reply, request
from tests.truth import messages
from tests.truth.mpastream import Damage, build_stream, enhanced_data

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
    values = [record[key] for key in KEYS]
    return [(each["src"], each["dst"]) if isinstance(each, dict) else each for each in values]


def depths(ird: tuple[int, int], ord: tuple[int, int]) -> list[Any]:
    """The report for a client and a server that agreed on IRD and ORD alone, and kept to it."""
    return [False, ird, ord, None, None, True, []]


def peers(depth: int, rtr: str) -> list[Any]:
    """The report for peers that agreed on one RTR indication and kept to it."""
    return [True, (depth, depth), (depth, depth), [rtr], rtr, True, []]


@pytest.mark.parametrize(
    ("name", "number", "dialect", "wanted"),
    [
        ("mix_mpa1_crcon", 0, "rfc5044", NOTHING),
        ("mix_mpa2_crcoff", 0, "rfc6581", depths((16, 16), (16, 16))),
        ("connect_pd200_ird4_ord8", 0, "rfc6581", depths((4, 8), (8, 2))),
        ("p2p_rtr_read_crcon", 0, "rfc6581", peers(1, "read")),
        ("reject_pdata", 0, "rfc6581", NOTHING),
        ("listener_absent", 0, None, NOTHING),
        ("ulp_nfs4_rdma_crcoff", 0, "rfc6581", depths((128, 0), (0, 128))),
        ("live_siw_probe_guest_eth0", 7, "rfc6581", NOTHING),  # Rev 2 without S
        ("live_siw_probe_guest_eth0", 11, "rfc5044", NOTHING),  # Rev 1 with S, echoed
        ("live_siw_probe_guest_eth0", 36, "rfc6581", peers(8, "write")),
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
                record = of(listed, "connection")[0]
                assert (record["kept"] is False) == bool(record["broken"]) == is_broken
                if conversation is case.valid:
                    assert record["kept"] is (None if record["ird"] is None else True)


PEERS = {
    **{
        letter: frame(revision=2, enhanced=1, private_data=enhanced_data(4, 4, a=1, b=1))
        for letter, frame in (("Q", request), ("A", reply))
    },
    "0": build_stream(messages.send(1, b"")),
    "1": build_stream(messages.send(1, b""), damage={0: Damage(crc_xor=1)}),
}
"""Startup frames that agree on an RTR indication, the indication, and one with a bad CRC."""
RULE_4 = "(RFC 5044 7.1.2 rule 4)"

SITUATIONS: list[tuple[str, str | None, bool | None, str]] = [
    (">Q <A >0 <f >F <F", "send", True, ""),
    # The order of capture does not count.
    (f">Q <A+9 >0 {'>f ' * 20} >F <F", "send", True, ""),
    # The Responder sends no FPDU before it has received one.  Its acknowledgements show that.
    (">Q <A <f >0 <f >F <F", "send", False, RULE_4),
    (">Q <A <f+1 >0 <f >F <F", "send", False, RULE_4),
    (">Q <A <f <X", None, False, RULE_4),
    # Rule 4 has an exception (RFC 6581 9.3): after an error a Terminate comes before the RST.
    (">Q <A <t <X", None, None, ""),
    # A receiver discards an FPDU with a bad CRC.
    (">Q <A >1 <f >F <F", None, False, RULE_4),
    # If the first FPDU was not captured, or was cut off, nothing is known about it.
    (">Q <A >-0 <f >f >F <F", None, None, ""),
    (">Q <A >0/10 <f >f >F <F", None, None, ""),
]
"""Segments in the words of :mod:`tests.stream.scene`: the RTR indication, whether the peers kept to
what they agreed on, and the clause of the broken rule."""


@pytest.mark.parametrize(("words", "rtr", "kept", "clause"), SITUATIONS)
def test_situations(words: str, rtr: str | None, kept: bool | None, clause: str) -> None:
    """Both reading paths report the RTR indication, and the broken rule once."""
    found = both_ways(Scene(words, PEERS).captured()).negotiated
    assert (found.rtr, found.kept) == (rtr, kept)
    assert [text[-len(clause) :] for text in found.broken] == [clause] * (kept is False)


@given(
    st.sampled_from([*OF_PEERS, *OF_DRAFT, "mpa-rev2-enhanced", "depths-left-to-ulp"]),
    st.integers(0, 1 << 16),
    st.sampled_from(
        [Loss(0.2), Reordering(0.3), Duplication(0.2), CaptureLoss(0.2), Resegmentation("tiny")]
    ),
)
def test_a_valid_connection_is_never_blamed(name: str, seed: int, impairment: Any) -> None:
    """Whatever happens to its segments, no broken rule is reported.

    The negotiation is reported, or unknown.  Both reading paths report the same.
    """
    conversation = conversation_of(name, seed)
    segments = impair(conversation.segments(), impairment, seed=seed)
    frames, dialect = conversation.frames(segments), conversation.options.dialect
    found = of(plain(frames, dialect), "connection")[0]
    (wanted,) = of(plain(conversation.frames(), dialect), "connection")
    assert found["kept"] in (True, None) and not found["broken"]
    for key in KEYS[:-1]:
        assert found[key] in (wanted[key], None)
    assert {key: found[key] for key in KEYS} == {
        key: printed(frames, dialect)[-1][key] for key in KEYS
    }

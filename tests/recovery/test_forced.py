# SPDX-License-Identifier: GPL-2.0-or-later
"""With a forced dialect that a connection does not speak, as much is found, and nothing false."""

import random
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, SctpConversation
from scapy_mpa.craft.presets import PRESETS, conversation_of
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.ift_indication import INDICATION_LENGTH
from tests.craft.reading import plain, printed

OF_REVISION_1 = (Dialect.RFC5044, Dialect.RTR_PROPOSAL_2007, Dialect.SOFTUIWARP)
FOUND = {"fpdu", "ift_frame", "ddp_segment", "startup", "session_control", "adaption_indication"}


def found(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Type, sender, number and frame of each unit found: what does not depend on the dialect."""
    return sorted(
        (each["type"], each["src"], each.get("seq", each.get("tsn")), each["frame"])
        for each in records
        if each["type"] in FOUND
    )


@given(st.sampled_from(sorted(PRESETS)), st.integers(0, 5), st.sampled_from(Dialect))
def test_presets(name: str, seed: int, dialect: Dialect) -> None:
    """Whole connections show their dialect themselves."""
    if name.startswith("osc"):
        # With revisions 0 and 1 the forced dialect is believed.
        assume(dialect not in OF_REVISION_1)
    frames = conversation_of(name, seed).frames()
    for read in (plain, printed):
        forced, free = found(read(frames, dialect)), found(read(frames))
        if name == dialect.value == "softuiwarp":
            # If it must be recognised first, FPDUs are reported in a later frame.
            forced, free = [each[:-1] for each in forced], [each[:-1] for each in free]
        assert forced == free


@given(
    st.sampled_from(sorted(PRESETS)),
    st.integers(0, 5),
    st.integers(4, 20),
    st.sampled_from([None, *Dialect]),
    st.integers(0, 1 << 20),
)
@example("erdma", 0, 4, Dialect.SOFTUIWARP, 0)
def test_pieces_of_presets(
    name: str, seed: int, begin: int, dialect: Dialect | None, salt: int
) -> None:
    """A forced dialect finds as much in part of a capture as none, on both reading paths."""
    frames = conversation_of(name, seed).frames()[begin:]
    rng = random.Random(salt)
    frames = [frame for frame in frames if rng.random() > 0.05]
    forced = plain(frames, dialect)
    has_startup = any(each["type"] == "startup" for each in forced)
    is_believed = dialect is Dialect.SOFTUIWARP and not has_startup
    if not (is_believed or dialect is Dialect.OSC):
        # In SoftUiWARP no length leads over a hole.  Without a startup frame osc is believed, and
        # its Markers differ from those of RFC 5044.
        assert set(found(plain(frames))) <= set(found(forced))
    assert found(forced) == found(printed(frames, dialect))
    kinds = {each["type"] for each in forced if each["type"] in FOUND}
    conversation = conversation_of(name, seed)
    if isinstance(conversation, SctpConversation):
        assert kinds <= {"session_control", "ddp_segment"}
    elif conversation.options.ift is not None:
        assert kinds <= {"ift_frame", "adaption_indication"}
    else:
        assert kinds <= {"fpdu", "startup"}


@pytest.mark.parametrize("octets", range(37, 41))
def test_an_fpdu_as_long_as_an_adaption_indication(octets: int) -> None:
    """Its CRC stands where an indication has its CRC (draft-williams-iwarp-ift-01 4.1)."""
    conversation = Conversation()
    for length in (100, octets, 100):
        conversation.initiator.send(bytes(length))
    conversation.close()
    sent = [n for n, each in enumerate(conversation.segments()) if each.octets and not each.side]
    _, _, first, _ = sent
    assert len(conversation.segments()[first].octets) == INDICATION_LENGTH
    frames = conversation.frames()[first:]
    assert found(plain(frames, Dialect.DRAFT_IFT_01)) == found(plain(frames))

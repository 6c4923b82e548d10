# SPDX-License-Identifier: GPL-2.0-or-later
"""Each mutation: its catalogue entry, what it changes, and the reported errors.

Entries of ``catalogue.md`` exist, and the commands of ``docs/mutations.md`` run.
"""

import pathlib
import re
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.craft import IFTConversation, SctpConversation
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.mutations import Action, Case, Mutation, catalogue, find, mutations, register
from scapy_mpa.craft.mutations.corpus import dialect_of
from scapy_mpa.craft.script import FPDUItem, FrameItem, IndicationItem, StartupItem
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.terminate import is_defined
from tests.cli.command import parsed, run
from tests.craft.mutations import anatomy
from tests.craft.reading import file_of
from tests.recovery.reading import plain

ALL = mutations()
IFT = "draft-williams-iwarp-ift-01"
SEEDS = range(4)

# -- the catalogue -------------------------------------------------------------------------------

SECTIONS = {
    "RFC 4960": "6.8",
    "RFC 5044": "3 4.1 4.2 4.3 4.4 4.5 5.1 5.2 6 7.1 7.1.1 7.1.2 7.1.3 7.1.4 7.2 8 C.1",
    "RFC 5041": "4.1 4.2 4.3 4.4 5.1.1 5.1.2 5.2 5.3 5.4 6.1 6.2.1 6.2.2 7.1 7.2",
    "RFC 5040": "4.1 4.2 4.3 4.4 4.5 4.6 4.7 4.8 5.1 5.2.1 5.2.2 5.3 5.4 5.5 6.1 6.2.1 7.1 7.2",
    "RFC 5043": "5.1 5.2 5.2.1 5.2.2 5.2.3 6 6.1 6.2 6.3 6.4 6.5 6.6 7.1 7.2 8 9 10 11.1 11.2 11.3",
    "RFC 6581": "4.1 4.2 4.3 6 7 8 9 9.1 9.2 9.3 10",
    "draft-ietf-rddp-mpa-01": "6.1 6.1.1",
    "rtr-frame-proposal-2007": "1 2 3 5",
    "draft-williams-iwarp-ift-01": "4.1 4.2 5.1 6 8 8.1 8.2 8.3 9",
    "draft-ietf-storm-mpa-peer-connect-01": "5 6 8 9",
    "erdma": "startup",
    "osc": "marker crc",
    "softuiwarp": "pad",
    "RFC 7306": "4.1 4.2 5.1.1 5.1.2 5.2.1 5.2.2 5.3 5.4 6.1 6.2 6.3 6.4 7 8.1 8.2 10.1 10.2",
}
"""Sections of each standard that state requirements."""


def entry_is_complete(mutation: Mutation) -> None:
    """The clause belongs to the named standard, the broken rule is a sentence, and the expected
    codes are defined."""
    expectation = mutation.expectation
    if expectation.action is not Action.ANYTHING:
        document, section = mutation.clause.rsplit(" ", 1)
        assert section in SECTIONS[document].split()
    assert mutation.breaks[0].isupper() and mutation.breaks.endswith(".")
    assert all(is_defined(*each) for each in expectation.terminates)
    if expectation.action is Action.ERROR:
        assert expectation.codes
    if not expectation.is_error:
        assert not expectation.codes and not expectation.terminates


def is_reproducible(mutation: Mutation) -> None:
    """Name and seed give the same octets and times each time. Another seed gives others."""
    one, again, other = (file_of(mutation.case(seed).conversation.frames()) for seed in (7, 7, 8))
    assert one == again
    assert one != other


def frames_are_named(case: Case) -> None:
    """The frames that the case names exist, and the first differs from that of the valid one."""
    segments, valid = case.conversation.segments(), case.valid.segments()
    frames = case.frames(segments)
    assert frames and all(1 <= number <= len(segments) for number in frames)
    padded = [*valid, *[None] * len(segments)]
    first = next(at for at, each in enumerate(segments) if each != padded[at])
    # If an item is left out at the end, an acknowledgement before it may differ.
    assert first <= frames[-1]


# -- what changes -----------------------------------------------------------------------------

LINES = re.findall(
    r"^([^#:\n]+): (.+)$",
    pathlib.Path(__file__).with_name("changes.txt").read_text(encoding="utf-8"),
    re.MULTILINE,
)

CHANGED = {
    pattern: set(fields.split())
    for fields, patterns in LINES
    if not fields.endswith(" items")
    for pattern in patterns.split()
}
"""The fields that differ in each changed item, by mutation. The first match counts."""

SEVERAL = {
    name: int(count[0]) if count[0].isdigit() else None
    for count, names in LINES
    if count.endswith(" items")
    for name in names.split()
}
"""By mutation that changes more or less than one item, the number of items in a row; None if it
varies."""

OTHER_CRCS = {
    "rfc5044/4.4/crc-missing": -4,
    "draft-w*/5.1/*-crc-missing": -4,
    "draft-w*/5.1/*-crc-unannounced": 4,
    "osc/crc/field-with-crcs-off": 4,
}
"""The number of added octets; negative if octets are removed."""


def first_match(name: str, patterns: Iterable[str]) -> str | None:
    """The first pattern that matches a name."""
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), None)


def pairs(case: Case) -> list[tuple[Placed, Placed]]:
    """The items that differ, before and after, if none was added or removed."""
    before, after = case.valid.layout(), case.conversation.layout()
    return [
        (one, other) for one, other in zip(before, after, strict=True) if one.item is not other.item
    ]


def items_stay(mutation: Mutation, case: Case) -> None:
    """Untouched items are the same, and so are their octets except Markers and CRC.

    One item is touched, unless the mutation needs more.
    """
    assert case.valid.options is case.conversation.options
    assert case.valid.script != case.conversation.script
    pattern = first_match(mutation.name, SEVERAL)
    wanted = 1 if pattern is None else SEVERAL[pattern]
    assert wanted in (None, len(case.touched))
    before, after = case.valid.layout(), case.conversation.layout()
    shifted = len(after) - len(before)
    for placed in after:
        if placed.number in case.touched:
            continue
        is_later = placed.number >= case.touched.stop
        old = before[placed.number - (shifted if is_later else 0)]
        assert placed.item == old.item
        if placed.octets == old.octets:
            continue
        # The item has moved, and so have its Markers.
        assert is_later
        assert placed.phase is not None and placed.phase != old.phase
        new_octets, old_octets = (
            anatomy.without_markers(each.octets, each.phase)[0] for each in (placed, old)
        )
        assert new_octets[:-4] == old_octets[:-4]
        assert anatomy.fpdu(placed.octets, placed.phase)["crc"]


def fields_of(placed: Placed, conversation: Conversation) -> anatomy.Fields:
    """The fields of an item, read from its octets."""
    item = placed.item
    if isinstance(item, StartupItem):
        return anatomy.startup(placed.octets)
    if isinstance(item, IndicationItem):
        return anatomy.indication(placed.octets)
    if isinstance(item, FrameItem):
        own = conversation.options.announced[item.side]
        return anatomy.frame(placed.octets, header_crc=own.hc, payload_crc=own.pc)
    return anatomy.fpdu(placed.octets, placed.phase)


def only_fields_change(case: Case, pattern: str) -> None:
    """In touched items exactly the fields of the table differ."""
    found = pairs(case)
    assert found
    for old, new in found:
        differing = anatomy.differences(
            fields_of(old, case.valid), fields_of(new, case.conversation)
        )
        # A pad changes with what precedes it. All other fields of the table must differ.
        assert differing and differing <= CHANGED[pattern]


def only_places_of_markers_change(case: Case, pattern: str) -> None:
    """Without its Markers, the FPDU has the same octets as before, and its CRC is right."""
    ((old, new),) = pairs(case)
    assert isinstance(new.item, FPDUItem) and new.item.overrides is not None
    places = new.item.overrides.marker_places
    assert places is not None
    starts, ends = (0, *(place + 4 for place in places)), (*places, len(new.octets))
    bare = b"".join(new.octets[at:end] for at, end in zip(starts, ends, strict=True))
    conforming, markers = anatomy.without_markers(old.octets, old.phase)
    assert bare[:-4] == conforming[:-4]
    assert anatomy.fpdu(new.octets, None)["crc"]
    assert abs(len(places) - len(markers)) == (0 if "misplaced" in pattern else 1)


def lengths_fit(case: Case, pattern: str) -> None:
    """Length field, pad and CRC agree with the octets. Only the length itself is wrong."""
    after = case.conversation.layout()
    for number in case.touched:
        octets = after[number].octets
        if isinstance(after[number].item, StartupItem):
            assert int.from_bytes(octets[18:20], "big") == len(octets) - 20
            continue
        fields = anatomy.fpdu(octets)
        assert fields["crc"]
        length = fields["ulpdu_length"]
        assert len(octets) == (length + 5 & ~3) + 4
        assert not any(octets[2 + length : -4])


def crc_is_missing_or_unannounced(case: Case, pattern: str) -> None:
    """Exactly four octets are added or removed."""
    ((one, other),) = pairs(case)
    assert len(other.octets) - len(one.octets) == OTHER_CRCS[pattern]
    longer, shorter = sorted((one.octets, other.octets), key=len, reverse=True)
    at = 6 + (14 if one.octets[6] >> 7 else 18) if "header" in case.mutation.name else -4
    assert longer[:at] + (longer[at + 4 :] if at > 0 else b"") == shorter


def pad_is_that_of_rfc5044(case: Case, pattern: str) -> None:
    """For a ULPDU of 4 n + 3 octets, SoftUiWARP pads 1 octet. The mutation pads 3, by RFC 5044
    4.1."""
    ((one, other),) = pairs(case)
    assert len(one.octets) % 4 == 2
    assert other.octets == one.octets[:-4] + bytes(2) + one.octets[-4:]


CHECKS = {
    only_fields_change: " ".join(CHANGED),
    only_places_of_markers_change: "rfc5044/4.3/marker-missing rfc5044/4.3/marker-misplaced "
    "rfc5044/4.3/marker-too-many rfc5044/7.1.2/rule-7-first-marker-missing "
    "osc/marker/misplaced-as-in-rfc5044",
    # Here fields cannot be compared, since other octets are read as them.
    lengths_fit: "rfc5044/3/ulpdu-over-64768 rfc6581/6/*-s-set-without-data rfc6581/6/*-rev-1 "
    "rfc6581/10/* draft-ietf-storm-mpa-peer-connect-01/6/*-s-set-without-data rfc5041/4.4/* "
    "rfc5040/4.2/read-request-with-payload rfc5040/4.4/read-request-cut "
    "rfc5040/4.8/terminate-control-cut rfc7306/5.2.[12]/*-longer rfc7306/5.2.[12]/*-shorter",
    crc_is_missing_or_unannounced: " ".join(OTHER_CRCS),
    pad_is_that_of_rfc5044: "softuiwarp/pad/as-in-rfc5044",
}


def nothing_else_changes(mutation: Mutation, case: Case) -> None:
    """A mutation changes what its table says. A mutation without a table moves items.

    Over SCTP, what a receiver notices shows the change.
    """
    items_stay(mutation, case)
    if isinstance(case.valid, SctpConversation):
        return
    known = first_match(mutation.name, SEVERAL)
    for check, patterns in CHECKS.items():
        pattern = first_match(mutation.name, patterns.split())
        if pattern is not None:
            known = pattern
            check(case, pattern)
    assert known is not None


# -- what is reported ----------------------------------------------------------------------------

CITED = re.compile(
    r"\((RFC [0-9]{4}|draft-[a-z-]+-01|rtr-frame-proposal-2007) [0-9A-C]"
    r"|\(erdma startup\)|\((osc|softuiwarp)\)"
)
"""Patterns of cited clauses."""


def errors(conversation: Conversation, path: pathlib.Path) -> list[dict[str, Any]]:
    """The errors that the command line reports, with the dialect that a manifest names."""
    conversation.write(path)
    dialect = dialect_of(conversation)
    spoken = () if dialect is None else ("--dialect", dialect)
    result = run("dissect", "--check", "--json", *spoken, path)
    records = parsed(result.stdout)
    found = [record for record in records if record["type"] == "error"]
    ends = [record for record in records if record["type"] == "connection"]
    assert sum(record["errors"] for record in ends) == len(found)
    is_terminated = any(each["end"] and each["end"]["cause"] == "terminate" for each in ends)
    assert result.exit_code == (bool(found) or is_terminated)
    return found


NOTICED_BY = {
    # A frame that claims more octets than follow is not whole when the connection ends.
    **{
        f"{IFT}/5.1/{what}": f"({IFT} 6)"
        for what in ("payload-size-longer", "payload-size-largest", "header-crc-missing")
    },
    # What has another magic number is no indication.
    **{f"{IFT}/4.1/phase-{phase}-magic-wrong": f"({IFT} 4.2)" for phase in (0, 1)},
    # The Initiator speaks before it has the Reply.
    "rtr-frame-proposal-2007/2/before-reply": "(RFC 5044 7.1.2 rule 3)",
}
"""Clauses by which a receiver notices, where these are others."""


def is_named(mutation: Mutation, error: dict[str, Any]) -> bool:
    """True if an error has the expected code, Terminate or clause."""
    expectation = mutation.expectation
    if error["code"] is not None and not mutation.is_overheard:
        return error["code"] in expectation.codes
    terminates = [f"{layer}/{etype}/0x{code:02x}" for layer, etype, code in expectation.terminates]
    clauses = [f"({mutation.clause}{more}" for more in (")", " rule ", " rules ")]
    clauses.append(NOTICED_BY.get(mutation.name, clauses[0]))
    return any(each in error["text"] for each in clauses) or any(
        each in error["text"] for each in terminates
    )


def is_flagged(mutation: Mutation, case: Case, path: pathlib.Path) -> None:
    """An error is reported if a receiver must notice, and the octets on the wire show it.

    It names the clause by which a receiver notices: for a wrong length or place, often that of the
    CRC. A conversation that a receiver must accept has no error.
    """
    found = errors(case.conversation, path)
    if mutation.is_reported:
        assert any(is_named(mutation, error) for error in found), found
        assert all(CITED.search(error["text"]) for error in found)
    else:
        assert not found


def reads_to_the_end(mutation: Mutation, path: pathlib.Path) -> None:
    """Any octets are read to the end. Some octets differ from those of the valid conversation."""
    for seed in range(25):
        case = mutation.case(seed)
        frames = [frame.octets for frame in case.conversation.frames()]
        assert frames != [frame.octets for frame in case.valid.frames()]
        case.conversation.write(path)
        result = run("dissect", "--check", "--json", path)
        assert result.exit_code in (0, 1)
        assert parsed(result.stdout)[-1]["type"] == "connection"


# -- DDP and RDMAP over other carriers -----------------------------------------------------------


def in_frames(conversation: Conversation, **options: Any) -> Conversation:
    """The same DDP segments in frames of iWARP Framing for TCP."""
    other = IFTConversation(sp=True, **options)
    other.negotiate()
    for item in conversation.script:
        if isinstance(item, FPDUItem):
            other.append(FrameItem(item.side, item.ulpdu))
    return other


def in_chunks(conversation: Conversation) -> Conversation:
    """The same DDP segments in DATA chunks."""
    other = SctpConversation()
    other.startup()
    for item in conversation.script:
        if isinstance(item, FPDUItem):
            other.append(item)
    # Only a Terminate shows that the capture is complete.
    other.close()
    return other


def errors_above(conversation: Conversation) -> list[str]:
    """The reported errors of DDP and RDMAP."""
    records = plain(file_of(conversation.frames()), checks=True)
    # Over SCTP and in frames, DDP itself says which version there is.
    return sorted(
        each["text"].replace("RFC 5044 C.1", "RFC 5041 4.1")
        for each in records
        if each["type"] == "error"
    )


# -- tests ---------------------------------------------------------------------------------------


@pytest.mark.examples
@pytest.mark.parametrize("mutation", ALL, ids=lambda mutation: mutation.name)
def test_mutation(mutation: Mutation, tmp_path: pathlib.Path) -> None:
    """The catalogue entry is complete, only its rule is broken, and a receiver's errors are
    reported."""
    path = tmp_path / "case.pcapng"
    entry_is_complete(mutation)
    is_reproducible(mutation)
    cases = [mutation.case(seed) for seed in SEEDS]
    for case in cases[:3]:
        frames_are_named(case)
    if mutation.expectation.action is Action.ANYTHING:
        reads_to_the_end(mutation, path)
        return
    for case in cases:
        nothing_else_changes(mutation, case)
    for case in cases[:3]:
        assert not errors(case.valid, path)
        is_flagged(mutation, case, path)


def test_names() -> None:
    """Names are unique, and tables list only existing mutations."""
    patterns = (*SEVERAL, *" ".join(CHECKS.values()).split())
    assert not [pattern for pattern in patterns if not mutations(pattern)]
    assert len({mutation.name for mutation in ALL}) == len(ALL)
    assert all(find(mutation.name) is mutation for mutation in ALL)


CARRIED = (
    *("rfc5041/4.1/dv-wrong-tagged", "rfc5041/4.3/msn-skipped"),
    *("rfc5040/4.1/opcode-reserved-tagged", "rfc5040/5.4/message-after-terminate"),
    *("rfc7306/5.2.1/atomic-request-longer", "rfc7306/5.2.2/atomic-response-unrequested"),
)
"""Two mutations of each RFC above MPA: of a segment, of the order of segments, or of messages."""


@pytest.mark.parametrize("name", CARRIED)
def test_over_other_carriers(name: str) -> None:
    """Frames and DATA chunks have the same errors as MPA, and none in the valid conversation.

    Without RDMAP nothing can be checked against the mode (draft-williams-iwarp-ift-01 4.2, R).
    """
    case = find(name).case(1)
    wanted = errors_above(case.conversation)
    assert wanted
    for carry in (in_frames, in_chunks):
        assert errors_above(carry(case.conversation)) == wanted
        assert not errors_above(carry(case.valid))
    assert not errors_above(in_frames(case.conversation, r=False))


def test_a_shorter_ulpdu_length() -> None:
    """A shorter ULPDU_Length also gives a shorter FPDU, pad included."""
    for seed in range(300):
        ((one, other),) = pairs(find("rfc5044/4.1/ulpdu-length-shorter").case(seed))
        length = anatomy.fpdu(other.octets)["ulpdu_length"]
        assert length > 0 and (length + 5 & ~3) + 4 < len(one.octets)


RARE = (
    # A FPDUPTR of two equal octets, such as 0x0404, is not chosen for a change of the octet order.
    ("osc/marker/fpduptr-in-network-order", 12),
    # The last frame is not chosen: only the end of the connection would show its larger size.
    (f"{IFT}/5.1/header-size-longer", 104),
    (f"{IFT}/5.1/payload-crc-missing", 17),
    (f"{IFT}/5.1/payload-crc-missing", 21),
    (f"{IFT}/5.1/payload-size-longer", 44),
)
"""Mutations and seeds that draw what must not be chosen."""


@pytest.mark.parametrize(("name", "seed"), RARE)
def test_rare_draws(name: str, seed: int, tmp_path: pathlib.Path) -> None:
    """Each seed draws something that shows the error."""
    mutation = find(name)
    case = mutation.case(seed)
    nothing_else_changes(mutation, case)
    is_flagged(mutation, case, tmp_path / "mutated.pcapng")


def test_names_of_own_mutations() -> None:
    """Taken or invalid names are refused. The document registers a mutation."""
    known = find("rfc5044/4.4/crc-wrong")
    assert replace(known, name="draft-of-mine/1.2/crc-wrong").clause == "draft-of-mine 1.2"
    with pytest.raises(LocalProtocolError, match="two mutations"):
        register(replace(known))
    with pytest.raises(LocalProtocolError, match="is no name"):
        replace(known, name="crc wrong")
    with pytest.raises(LocalProtocolError, match="there is no mutation"):
        find("rfc5044/4.4/nothing")


TEXT = (Path(__file__).parents[3] / "docs" / "mutations.md").read_text(encoding="utf-8")
SHELL = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
CATALOGUE = Path(catalogue.__file__).with_name("catalogue.md").read_text(encoding="utf-8")


def test_every_row_is_a_mutation() -> None:
    """Every row of the table can be read, and has a change."""
    assert CATALOGUE.count("\n| `") == len(catalogue.rows())
    assert catalogue.rows().keys() == {each.name for each in mutations()}


def test_commands_run(here: Path) -> None:
    """The commands that are shown without output run in order."""
    assert SHELL
    assert run("fuzz", "-o", ".", "--case", "rfc5044/4.4/crc-wrong").exit_code == 0
    next(here.iterdir()).rename("trace.pcap")
    for line in "".join(SHELL).splitlines():
        program, *arguments = line.partition("#")[0].replace("'", "").split()
        assert program == "scapy-mpa"
        assert run(*arguments).exit_code == 0

# SPDX-License-Identifier: GPL-2.0-or-later
"""A mutation changes what it says, and nothing else."""

from __future__ import annotations

import dataclasses
from fnmatch import fnmatchcase

import pytest

from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.mutations import Action, Case, Mutation, find, mutations
from scapy_mpa.craft.script import FPDUItem, FrameItem, IndicationItem, StartupItem
from scapy_mpa.craft.sctp.script import ChunkItem, ControlItem, chunk_of
from tests.craft.mutations import anatomy

SEEDS = range(4)
IFT = "draft-williams-iwarp-ift-01"

CHANGED: dict[str, set[str]] = {
    # Startup frames
    "rfc5044/7.1.1/*-key-*": {"key"},
    "rfc5044/7.1.1/*-reserved-set": {"reserved"},
    "rfc5044/7.1.1/*-s-set": {"s"},
    "rfc5044/7.1.1/*-rev-unknown": {"rev"},
    "rfc5044/7.1.1/*-pd-length-over-512": {"pd_length", "private_data"},
    "rfc5044/7.1.1/*-m-*": {"m"},
    "rfc5044/7.1.1/*-c-*": {"c"},
    "rfc5044/7.1.1/request-r-set": {"r"},
    "erdma/startup/*-m-set": {"m"},
    "erdma/startup/*-c-set": {"c"},
    "osc/marker/[!m]*": {"markers"},
    "osc/crc/wrong": {"crc"},
    "draft-ietf-rddp-mpa-01/*-private-data-*": {"pd_length", "private_data"},
    "draft-ietf-rddp-mpa-01/*-reserved-set": {"reserved", "s"},
    "draft-ietf-rddp-mpa-01/*-pd-length-*": {"pd_length"},
    "draft-ietf-rddp-mpa-01/*-rev-1": {"rev"},
    "rtr-frame-proposal-2007/1/key-*": {"key"},
    "rtr-frame-proposal-2007/1/rev-not-1": {"rev"},
    "rtr-frame-proposal-2007/1/pd-length-*": {"pd_length", "private_data"},
    "rtr-frame-proposal-2007/2/s-set": {"s"},
    "rtr-frame-proposal-2007/2/r-set": {"r"},
    "rtr-frame-proposal-2007/2/reserved-set": {"reserved"},
    "rtr-frame-proposal-2007/2/c-*": {"c"},
    "rtr-frame-proposal-2007/*-s-cleared": {"s"},
    "rfc5044/7.1.2/rule-5-*": {"key"},
    "rfc5044/7.1.2/rule-9-*": {"pd_length"},
    "rfc5044/7.1.2/rule-8-*": {"key"},
    "rfc6581/6/*-s-cleared": {"s"},
    "rfc6581/9.2/rtr-with-payload": {"rest", "ulpdu_length"},
    "rfc6581/9.2/r*": {"control_flags"},
    "draft-ietf-storm-mpa-peer-connect-01/8/ulp-*": {"rest", "ulpdu_length"},
    "draft-ietf-storm-mpa-peer-connect-01/8/*": {"control_flags"},
    "rfc6581/9.1/reply-ord-*": {"ord"},
    "rfc6581/9.1/reply-ird-*": {"ird"},
    # FPDUs
    "rfc5044/4.2/*": {"markers"},
    "rfc5044/4.3/fpduptr-*": {"markers"},
    "rfc5044/7.1.2/rule-7-first-marker-not-zero": {"markers"},
    "rfc5044/4.3/marker-not-in-crc": {"crc"},
    "rfc5044/4.1/ulpdu-length-*": {"ulpdu_length"},
    "rfc5044/4.1/pad-*": {"rest"},
    "rfc5044/4.4/crc-[!m]*": {"crc"},
    # DDP
    "rfc5041/4.1/dv-*": {"dv"},
    "rfc5041/4.1/reserved-set": {"reserved"},
    "rfc5041/4.1/l-missing*": {"l"},
    "rfc5041/4.1/l-too-early*": {"l"},
    "rfc5041/4.2/stag-*": {"stag"},
    "rfc5041/7.1/stag-*": {"stag"},
    "rfc5041/7.1/to-*": {"to"},
    "rfc5041/5.2/stag-of-no-octets": {"stag", "to", "rest", "ulpdu_length"},
    "rfc5041/4.3/qn-*": {"qn"},
    "rfc5041/4.3/msn-*": {"msn"},
    "rfc5041/*/mo-*": {"mo"},
    "rfc5041/5.2/message-too-long": {"mo"},
    # RDMAP
    "rfc5040/4.1/rv-*": {"rv"},
    "rfc5040/4.1/reserved-set": {"rsv"},
    "rfc*/4.1/opcode-*": {"opcode"},
    "rfc*/4.1/*-on-queue-*": {"qn", "msn"},
    "rfc5040/4.1/invalidate-stag-not-zero": {"word"},
    "rfc5040/7.2/invalidate-stag-invalid": {"word"},
    "rfc5040/4.4/read-request-mo-not-zero": {"mo"},
    "rfc5040/4.4/read-request-l-missing": {"l"},
    "rfc5040/7.2/read-request-source-stag-invalid": {"src_stag"},
    "rfc5040/7.2/read-request-source-*": {"src_to"},
    "rfc5040/4.4/read-request-sink-wraps": {"sink_to"},
    "rfc5040/5.2.1/read-request-of-nothing": {"size", "src_stag", "src_to"},
    "rfc5040/5.2.2/response-shorter": {"rest", "ulpdu_length"},
    # Terminates
    "rfc5040/4.8/terminate-layer-*": {"layer"},
    "rfc5040/4.8/terminate-etype-*": {"etype"},
    "rfc5040/4.8/terminate-code-*": {"code"},
    "rfc5040/4.8/terminate-reserved-set": {"terminate_reserved"},
    "rfc5040/4.8/terminate-copies-cut": {"rest", "ulpdu_length"},
    "rfc5040/4.8/terminate-d-without-header": {"rest", "ulpdu_length", "mdr"},
    "rfc5040/4.8/terminate-r-without-header": {"rest", "ulpdu_length"},
    "rfc5040/4.8/terminate-m-cleared": {"mdr"},
    "rfc5040/4.8/terminate-trailing": {"rest", "ulpdu_length"},
    "rfc5040/4.8/terminate-l-missing": {"l"},
    # RFC 7306
    "rfc7306/4.1/rv-0": {"rv"},
    "rfc7306/6.3/*": {"rest", "ulpdu_length"},
    "rfc7306/5.2.1/atomic-operation-undefined": {"operation"},
    "rfc7306/5.2.1/atomic-request-reserved-set": {"operation"},
    "rfc7306/8.2/*": {"remote_to"},
    "rfc7306/5.2.2/atomic-response-unrequested": {"identifier"},
    # iWARP Framing for TCP
    f"{IFT}/4.1/*-magic-wrong": {"magic"},
    f"{IFT}/4.2/*-bc-version-2": {"version", "bc_version"},
    f"{IFT}/4.2/*-bc-version-0": {"bc_version"},
    f"{IFT}/4.2/*-version-*": {"version"},
    f"{IFT}/4.2/*-crc-*": {"crc"},
    f"{IFT}/4.2/*-reserved-flag-set": {"reserved_flags"},
    f"{IFT}/4.2/*-reserved-not-zero": {"reserved"},
    f"{IFT}/4.2/*-marker-interval-set": {"interval"},
    **{f"{IFT}/4.2/phase-?-{flag}-*": {flag} for flag in ("ph", "r", "ih", "ip", "sp", "sm", "rm")},
    f"{IFT}/4.2/vtag-*": {"vtag"},
    f"{IFT}/5.1/header-crc-[!mu]*": {"header_crc"},
    f"{IFT}/5.1/payload-crc-[!mu]*": {"payload_crc"},
    f"{IFT}/5.1/header-size-*": {"header_size"},
    f"{IFT}/5.1/payload-size-*": {"payload_size"},
    f"{IFT}/5.1/padded": {"rest"},
    f"{IFT}/8/frame-in-payload": {"rest"},
}
"""By name, the fields that differ in each item that is not as it was.  The first that fits holds;
others are looked at below, one by one."""

MARKER_PLACES = (
    "rfc5044/4.3/marker-missing",
    "rfc5044/4.3/marker-misplaced",
    "rfc5044/4.3/marker-too-many",
    "rfc5044/7.1.2/rule-7-first-marker-missing",
    "osc/marker/misplaced-as-in-rfc5044",
)
CRC_MISSING = "rfc5044/4.4/crc-missing"
OTHER_CRCS = {
    f"{IFT}/5.1/*-crc-missing": -4,
    f"{IFT}/5.1/*-crc-unannounced": 4,
    "osc/crc/field-with-crcs-off": 4,
}
"""How many octets there are more than there should be."""
OTHER_PAD = "softuiwarp/pad/as-in-rfc5044"
LENGTHS = (
    "rfc6581/6/*-s-set-without-data",
    "rfc6581/6/*-rev-1",
    "rfc6581/10/*",
    "draft-ietf-storm-mpa-peer-connect-01/6/*-s-set-without-data",
    "rfc5041/4.4/*",
    "rfc5041/4.1/l-twice",
    "rfc5040/4.2/read-request-with-payload",
    "rfc5040/4.4/read-request-cut",
    "rfc5040/4.8/terminate-control-cut",
    "rfc7306/5.2.1/atomic-request-longer",
    "rfc7306/5.2.1/atomic-request-shorter",
    "rfc7306/5.2.2/atomic-response-longer",
    "rfc7306/5.2.2/atomic-response-shorter",
)
"""What changes how the octets are to be read, so that fields cannot be compared."""

SEVERAL: dict[str, int | None] = {
    "rfc5044/8/*": None,
    "rfc5044/c.1/versions-differ": None,
    "rfc5044/7.1.2/rule-1-no-startup-frames": 0,
    "rfc5044/7.1.2/rule-2-no-request": 0,
    "rfc5044/7.1.2/rule-2-octets-*": 1,
    "rtr-frame-proposal-2007/2/missing": 0,
    "rtr-frame-proposal-2007/2/before-reply": 2,
    "rtr-frame-proposal-2007/2/twice": 1,
    "rtr-frame-proposal-2007/2/from-responder": 1,
    "rfc5044/7.1.2/rule-2-reply-first": 2,
    "rfc5044/7.1.2/rule-3-fpdu-before-reply": 2,
    "rfc5044/7.1.2/rule-3-octets-before-reply": 1,
    "rfc5044/7.1.2/rule-3-request-twice": 1,
    "rfc5044/7.1.2/rule-3-rejected": None,
    "rfc5044/7.1.2/rule-4-*": None,
    "rfc5044/7.1.2/rule-10-*": None,
    "rfc6581/9.1/ird-exceeded": None,
    "rfc5041/4.1/l-twice": 2,
    "rfc5041/4.3/msn-[!d]*": None,
    "rfc5041/5.3/segments-swapped": 2,
    "rfc5040/5.2.2/responses-swapped": 2,
    "rfc5040/5.2.2/response-unrequested": 1,
    "rfc5040/5.4/*": 1,
    f"{IFT}/4.2/phase-1-missing": 0,
    f"{IFT}/4.2/phase-0-unanswered": 0,
    f"{IFT}/9/markers-agreed": 2,
    "rfc5043/6.1/initiate-unanswered": 0,
    "rfc5043/6.2/no-terminate": 0,
}
"""Where it is not just one item that differs: how many there are in a row, None if that depends."""

OF_SCTP: dict[str, set[str] | int] = {
    "rfc5043/11.1/*": {"adaptations"},
    "rfc5043/8/*": {"streams"},
    "rfc5043/5.2.3/*-private-data*": {"private_data"},
    "rfc5043/6/ddp-ssn-skipped": {"skip"},
    "rfc5043/6.1/ddp-ssn-not-from-0": {"skip"},
    "rfc5043/6.1/initiate-unanswered": -1,
    "rfc5043/6.2/both-initiate": {"function_code"},
    "rfc5043/9/fragmented": {"fragments"},
    "rfc5043/10/ordered": {"unordered"},
    "rfc6581/7/accept-answers-enhanced": {"function_code", "control_flags", "ird", "ord"},
    "rfc6581/7/enhanced-accept-answers-initiate": {"function_code", "ird", "ord"},
    "rfc6581/7/enhanced-reject-answers-initiate": {"function_code", "ird", "ord"},
    "rfc6581/7/enhanced-private-data-over-512": {"private_data"},
    "rfc6581/7/enhanced-initiate-without-data": {"private_data", "control_flags", "ird", "ord"},
    "rfc6581/9.1/enhanced-accept-*": {"ord"},
    "rfc6581/9.2/enhanced-accept-*": {"control_flags"},
    "rfc5043/6.2/no-terminate": -2,
    "rfc5043/*": 1,
}
"""Over SCTP, by name: the fields of the item that differ, or how many items are put in.  The first
that fits holds."""

NAMED = [mutation for mutation in mutations() if mutation.expectation.action is not Action.ANYTHING]
"""All but random fuzzing, which may change anything."""


def cases(mutation: Mutation) -> list[Case]:
    """Some cases of a mutation."""
    return [mutation.case(seed) for seed in SEEDS]


def fitting(name: str, patterns: dict[str, object] | tuple[str, ...]) -> str | None:
    """The first pattern that a name matches."""
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), None)


def pairs(case: Case) -> list[tuple[Placed, Placed]]:
    """The items that differ, before and after, where none has been added or left out."""
    before, after = case.valid.layout(), case.conversation.layout()
    return [
        (one, other) for one, other in zip(before, after, strict=True) if one.item is not other.item
    ]


@pytest.mark.parametrize("mutation", NAMED, ids=lambda mutation: mutation.name)
def test_other_items_stay(mutation: Mutation) -> None:
    """Items that were not touched are the same, and their octets but for Markers and CRC.

    One item is touched, unless it cannot be done so.
    """
    for case in cases(mutation):
        assert case.valid.options is case.conversation.options
        assert case.valid.script != case.conversation.script
        pattern = fitting(mutation.name, SEVERAL)
        wanted = 1 if pattern is None else SEVERAL[pattern]
        assert wanted in (None, len(case.touched))
        before, after = case.valid.layout(), case.conversation.layout()
        shifted = len(after) - len(before)
        for placed in after:
            if placed.number in case.touched:
                continue
            behind = placed.number >= case.touched.stop
            other = before[placed.number - (shifted if behind else 0)]
            assert placed.item == other.item
            if placed.octets == other.octets:
                continue
            # It has moved, and Markers with it.
            assert behind
            offsets = placed.phase, other.phase
            assert offsets[0] is not None and offsets[0] != offsets[1]
            moved, there = (
                anatomy.without_markers(each.octets, offset)[0]
                for each, offset in zip((placed, other), offsets, strict=True)
            )
            assert moved[:-4] == there[:-4]
            assert anatomy.fpdu(placed.octets, offsets[0])["crc"]


@pytest.mark.parametrize(
    "mutation",
    [each for each in NAMED if fitting(each.name, CHANGED)],
    ids=lambda mutation: mutation.name,
)
def test_only_those_fields_change(mutation: Mutation) -> None:
    """Of the items that were touched only the fields change that the name says, CRC and all."""
    pattern = fitting(mutation.name, CHANGED)
    assert pattern is not None
    for case in cases(mutation):
        found = pairs(case)
        assert found
        for one, other in found:
            if isinstance(one.item, StartupItem):
                fields = anatomy.startup(one.octets), anatomy.startup(other.octets)
            elif isinstance(one.item, IndicationItem):
                fields = anatomy.indication(one.octets), anatomy.indication(other.octets)
            elif isinstance(one.item, FrameItem):
                assert case.valid.options.ift is not None
                own = case.valid.options.ift[one.item.side]
                first, second = (
                    anatomy.frame(each.octets, header_crc=own.hc, payload_crc=own.pc)
                    for each in (one, other)
                )
                fields = first, second
            else:
                fields = (
                    anatomy.fpdu(one.octets, one.phase),
                    anatomy.fpdu(other.octets, other.phase),
                )
            assert anatomy.differences(*fields) <= CHANGED[pattern]
            # A pad grows and shrinks with what is before it; of all else nothing is left out.
            assert anatomy.differences(*fields)


@pytest.mark.parametrize("name", MARKER_PLACES)
def test_markers_elsewhere(name: str) -> None:
    """An FPDU with its Markers elsewhere has the same octets without them, and a CRC that fits."""
    (mutation,) = mutations(name)
    for case in cases(mutation):
        ((one, other),) = pairs(case)
        assert isinstance(other.item, FPDUItem) and other.item.overrides is not None
        places = other.item.overrides.marker_places
        assert places is not None
        bare = b"".join(
            other.octets[start:end]
            for start, end in zip(
                (0, *(place + 4 for place in places)), (*places, len(other.octets)), strict=True
            )
        )
        there, markers = anatomy.without_markers(one.octets, one.phase)
        assert bare[:-4] == there[:-4]
        assert anatomy.fpdu(other.octets, None)["crc"]
        assert abs(len(places) - len(markers)) == (0 if "misplaced" in name else 1)


@pytest.mark.parametrize(
    "mutation",
    [each for each in NAMED if fitting(each.name, LENGTHS)],
    ids=lambda mutation: mutation.name,
)
def test_what_is_longer_or_shorter(mutation: Mutation) -> None:
    """Where the length is what is wrong, ULPDU_Length, pad and CRC or PD_Length still fit."""
    for case in cases(mutation):
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


def test_a_shorter_ulpdu_length() -> None:
    """A ULPDU_Length that says fewer octets does not say as many with a pad."""
    for seed in range(300):
        ((one, other),) = pairs(find("rfc5044/4.1/ulpdu-length-shorter").case(seed))
        length = anatomy.fpdu(other.octets)["ulpdu_length"]
        assert length > 0 and (length + 5 & ~3) + 4 < len(one.octets)


def test_crc_missing() -> None:
    """Where the CRC field is missing, everything before it is there."""
    for case in cases(find(CRC_MISSING)):
        ((one, other),) = pairs(case)
        assert other.octets == one.octets[:-4]


@pytest.mark.parametrize("pattern", OTHER_CRCS)
def test_crcs_missing_or_unannounced(pattern: str) -> None:
    """Four octets are not there, or there, and all others are."""
    for mutation in mutations(pattern):
        for case in cases(mutation):
            ((one, other),) = pairs(case)
            more = OTHER_CRCS[pattern]
            assert len(other.octets) - len(one.octets) == more
            longer, shorter = sorted((one.octets, other.octets), key=len, reverse=True)
            at = 6 + (14 if one.octets[6] >> 7 else 18) if "header" in mutation.name else -4
            rest = longer[at + 4 :] if at > 0 else b""
            assert longer[:at] + rest == shorter


def test_the_pad_of_rfc5044() -> None:
    """Of a ULPDU with 3 octets over, SoftUiWARP pads 1 octet, and RFC 5044 4.1 pads 3."""
    for case in cases(mutations(OTHER_PAD)[0]):
        ((one, other),) = pairs(case)
        assert len(one.octets) % 4 == 2
        assert other.octets == one.octets[:-4] + bytes(2) + one.octets[-4:]


@pytest.mark.parametrize(
    "mutation",
    [each for each in NAMED if fitting(each.name, OF_SCTP)],
    ids=lambda mutation: mutation.name,
)
def test_only_that_of_a_chunk_changes(mutation: Mutation) -> None:
    """Over SCTP one item is put in, or has other fields; all the others are the same objects."""
    pattern = fitting(mutation.name, OF_SCTP)
    assert pattern is not None
    for case in cases(mutation):
        before, after = case.valid.script, case.conversation.script
        added = len(after) - len(before)
        wanted = OF_SCTP[pattern]
        if isinstance(wanted, int):
            assert added == wanted
            at = case.touched.start
            behind = at + max(added, 0)
            assert [id(each) for each in after[:at] + after[behind:]] == [
                id(each) for each in before[:at] + before[at + max(-added, 0) :]
            ]
            continue
        assert not added
        ((one, other),) = [
            (old, new) for old, new in zip(before, after, strict=True) if old is not new
        ]
        assert not isinstance(one, ChunkItem)
        if isinstance(other, ChunkItem):
            assert isinstance(one, (FPDUItem, ControlItem))
            one = chunk_of(one)
        assert type(one) is type(other)
        differ = {
            field.name
            for field in dataclasses.fields(one)
            if getattr(one, field.name) != getattr(other, field.name)
        }
        assert differ == wanted


def test_all_are_looked_at() -> None:
    """Each mutation is subject to a test that knows what it does, or only moves items."""
    for mutation in NAMED:
        known = (
            CHANGED,
            MARKER_PLACES,
            LENGTHS,
            SEVERAL,
            OF_SCTP,
            (CRC_MISSING,),
            tuple(OTHER_CRCS),
            (OTHER_PAD,),
        )
        assert any(fitting(mutation.name, each) for each in known), mutation.name
    for patterns in (CHANGED, LENGTHS, SEVERAL, OF_SCTP):
        for pattern in patterns:
            assert mutations(pattern), pattern


def test_fpduptr_of_two_equal_octets() -> None:
    """A FPDUPTR that is the same in either order of octets, such as 0x0404, is not the one that is
    chosen to be in the other."""
    case = find("osc/marker/fpduptr-in-network-order").case(12)
    before, after = case.valid.layout(), case.conversation.layout()
    assert [placed.octets for placed in before] != [placed.octets for placed in after]

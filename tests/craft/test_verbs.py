# SPDX-License-Identifier: GPL-2.0-or-later
"""Conversations: options, dialects, and the messages that the verbs of both sides make.

RFC 5040, RFC 5041, RFC 7306 and RFC 6581 define the messages, RFC 5043 their carrier besides TCP.
Where one thing is overridden, all else is unchanged (RFC 5044 4, 7.1.1).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, SctpConversation, conversation_of
from scapy_mpa.craft.assemble import assemble
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.craft.script import CloseItem, FPDUItem, Item, ResetItem, StartupItem
from scapy_mpa.layers import RPCRDMAPrivateData
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.fpdu import build_fpdu
from scapy_mpa.wire.rdmap_names import AtomicOperation
from scapy_mpa.wire.startup import StartupKind
from tests.capture.reading import shown
from tests.craft.reading import Record, plain
from tests.truth import messages


@pytest.mark.parametrize(("packing", "least"), [("aligned", 1), ("packed", 3)])
def test_packing(packing: Any, least: int) -> None:
    """A packet holds one DATA chunk, or as many as fit (RFC 5043 11.2)."""
    conversation = SctpConversation(packing=packing, mss=500)
    for _ in range(6):
        conversation.initiator.send(bytes(100))
    conversation.close()
    packets = [segment.octets for segment in conversation.segments()]
    assert max(each.count(bytes(100)) for each in packets) == least
    assert max(map(len, packets)) <= 500


def test_tshark_dissects_the_chunks(tmp_path: Path, tshark: str) -> None:
    """Wireshark shows the same TSNs, streams and PPIDs, good checksums, and the indication."""
    conversation = conversation_of("sctp-bundled", seed=3)
    path = tmp_path / "sctp.pcapng"
    conversation.write(path)
    fields = ("data_tsn_raw", "data_sid", "data_payload_proto_id", "checksum.status")
    names = [f"sctp.{each}" for each in fields] + ["sctp.adaptation_layer_indication"]
    lines = shown(tshark, path, *names, options=("-o", "sctp.checksum:CRC 32c"))
    rows = [line.split("\t") for line in lines]
    seen = [
        (int(tsn, 0), int(stream, 0), int(ppid, 0))
        for row in rows
        if row[0]
        for tsn, stream, ppid in zip(*(each.split(",") for each in row[:3]), strict=True)
    ]
    ppids = {"session_control": 17, "ddp_segment": 16}
    found = [
        (each["tsn"], each["stream"], ppids[str(each["type"])])
        for each in plain(conversation.frames())
        if "tsn" in each
    ]
    assert seen == found
    assert {row[3] for row in rows} == {"1"}
    assert [int(row[4], 0) for row in rows[:2]] == [1, 1]


DRAFT = "draft-ietf-storm-mpa-peer-connect-01"


@pytest.mark.parametrize(("revision", "other"), [(2, 1), (2, 0), (1, 2), (1, 0), (0, 1)])
def test_request_and_reply_of_two_revisions(revision: int, other: int) -> None:
    """Only the frame of revision 2 has enhanced data. Headers have the version of the Reply."""
    conversation = Conversation(revision=revision, reply_revision=other, strict=False)
    conversation.startup(b"x", b"y")
    conversation.initiator.send()
    records = [each for each in conversation.truth() if each["type"] == "startup"]
    assert [each["revision"] for each in records] == [revision, other]
    assert [each["ird"] is not None for each in records] == [revision == 2, other == 2]
    assert conversation.options.ddp_version == min(other, 1)


def test_revision_is_that_of_the_dialect() -> None:
    """The revision is the dialect's unless it is given. The default dialect is RFC 5044."""
    for dialect, revision in {
        None: 1,
        "rfc5044": 1,
        "draft-ietf-rddp-mpa-01": 0,
        "rtr-frame-proposal-2007": 1,
        "rfc6581": 2,
        DRAFT: 2,
    }.items():
        options = Conversation(dialect=dialect).options
        assert (options.revision, options.rdmap_version) == (revision, int(revision > 0))
        assert Conversation(dialect=dialect, revision=3).options.revision == 3
        # rtr-frame-proposal-2007 2
        assert options.has_rtr_frame == (dialect == "rtr-frame-proposal-2007")
    for dialect, revision in (("rfc5043", 1), (DRAFT, 2)):
        assert SctpConversation(dialect=dialect).options.revision == revision


def test_private_data_of_a_layer() -> None:
    """A layer may be given as Private Data. Its octets are taken."""
    conversation = Conversation(revision=2)
    conversation.startup(RPCRDMAPrivateData(send_size=1024), RPCRDMAPrivateData())
    item = next(item for item in conversation.script if isinstance(item, StartupItem))
    assert item.private_data == bytes.fromhex("f6ab0e1801010003")


def fpdus(conversation: Conversation) -> list[FPDUItem]:
    """The FPDUs of the script."""
    return [item for item in conversation.script if isinstance(item, FPDUItem)]


def ulpdus(conversation: Conversation) -> list[bytes]:
    """Their ULPDUs."""
    return [item.ulpdu for item in fpdus(conversation)]


def truth(conversation: Conversation, kind: str) -> list[Record]:
    """The records of a type in the conversation's truth."""
    return [each for each in conversation.truth(messages=True) if each["type"] == kind]


def test_ulpdus_are_those_of_the_oracle() -> None:
    """Each verb makes what an independent generator makes, octet for octet."""
    conversation = Conversation()
    left, right, long = conversation.initiator, conversation.responder, bytes(range(256)) * 8
    left.send(b"hello")
    left.send(long, invalidate_stag=9)
    left.send(solicited=True)
    left.send(solicited=True, invalidate_stag=5)
    left.write(b"w" * 5000, stag=7, to=0x1234_5678_9ABC)
    left.read_request(33, 1, 2, 3, 4)
    assert ulpdus(conversation) == [
        *messages.send(1, b"hello", mulpdu=1454),
        *messages.send(2, long, opcode=messages.SEND_INVALIDATE, invalidate_stag=9, mulpdu=1454),
        *messages.send(3, b"", opcode=messages.SEND_SE),
        *messages.send(4, b"", opcode=messages.SEND_SE_INVALIDATE, invalidate_stag=5),
        *messages.write(7, 0x1234_5678_9ABC, b"w" * 5000, 1454),
        *messages.read_request(1, 1, 2, 33, 3, 4),
    ]
    request = fpdus(conversation)[-1]
    before = len(ulpdus(conversation))
    right.read_response(b"x" * 33)
    # It copies length and headers of the FPDU in error (RFC 5040 4.8).
    right.terminate(0, 1, 0, in_error=request)
    assert ulpdus(conversation)[before:] == [
        *messages.read_response(1, 2, b"x" * 33),
        *messages.terminate(0, 1, 0, request.ulpdu),
    ]


COPIED = [
    *[((0, 0, 0), 0b000), ((0, 1, 0), 0b111), ((0, 2, 6), 0b110)],
    *[((1, 0, 0), 0b000), ((1, 2, 2), 0b110), ((2, 0, 2), 0b000)],
]


@pytest.mark.parametrize(("error", "bits"), COPIED)
def test_headers_in_a_terminate(error: tuple[int, int, int], bits: int) -> None:
    """M, D and R are those of RFC 5040 figure 10; an FPDU without a DDP header has none to copy."""
    conversation = Conversation()
    conversation.initiator.read_request(33)
    other = conversation.with_script([*conversation.script, FPDUItem(0, b"?")])
    for each, wanted in ((conversation, bits), (other, 0)):
        each.responder.terminate(*error, in_error=each.script[-1])
        header = ulpdus(each)[-1][18:]
        assert (header[2] >> 5, len(header)) == (wanted, {0: 4, 6: 24, 7: 52}[wanted])


def test_a_terminate_takes_a_message() -> None:
    """A message stands for its first FPDU."""
    conversation = Conversation()
    write = conversation.initiator.write(bytes(3000), stag=7)
    first = fpdus(conversation)[0]
    for in_error in (first, write):
        made = conversation.with_script(conversation.script)
        made.responder.terminate(1, 1, 0, in_error=in_error)
        assert ulpdus(made)[-1] == messages.terminate(1, 1, 0, first.ulpdu)[0]
    for wrong in (5, first.ulpdu, write._replace(number=9)):
        with pytest.raises(LocalProtocolError, match=r"^in_error .* is neither an FPDU nor a mes"):
            conversation.responder.terminate(1, 1, 0, in_error=wrong)


def test_masks_of_atomics() -> None:
    """FetchAdd adds numbers of 64 bits, so Add Mask is zero (RFC 7306 5.1.1). It compares nothing
    (5.2.1).

    CmpSwap compares and swaps all bits.
    """
    conversation = Conversation()
    left = conversation.initiator
    left.atomic_request(AtomicOperation.FETCH_ADD, 3, 8, add_or_swap_data=1)
    left.atomic_request(AtomicOperation.CMP_SWAP, 3, 8, add_or_swap_data=1, compare_data=2)
    left.atomic_request(AtomicOperation.FETCH_ADD, 3, 8, add_or_swap_mask=5)
    every = (1 << 64) - 1
    assert ulpdus(conversation) == [
        *messages.atomic_request(1, 0, 1, 3, 8, 1, 0, 0, every),
        *messages.atomic_request(2, 2, 2, 3, 8, 1, every, 2, every),
        *messages.atomic_request(3, 0, 3, 3, 8, 0, 5, 0, every),
    ]
    for operand in ({"compare_data": 1}, {"compare_mask": 0}):
        with pytest.raises(LocalProtocolError, match=r"RFC 7306 5\.2\.1"):
            left.atomic_request(AtomicOperation.FETCH_ADD, **operand)


def test_responses_are_paired() -> None:
    """A Response answers the oldest Request, or the given one, or none."""
    conversation = Conversation()
    left, right = conversation.initiator, conversation.responder
    first = left.read_request(3, sink_stag=1)
    second = left.read_request(3, sink_stag=2)
    assert right.read_response(b"abc").answers is first
    assert right.read_response(b"abc", 9, 9).answers is None
    assert right.read_response(b"abc", request=second).answers is second
    swap = left.atomic_request(AtomicOperation.CMP_SWAP, request_identifier=77)
    assert right.atomic_response(5).answers is swap
    responses = [each for each in truth(conversation, "message") if each["opcode"] in (2, 11)]
    assert [each["requested"] for each in responses] == [True, False, True, True]
    assert [each["answers"] for each in responses] == [1, None, 2, 3]
    assert responses[-1]["request_identifier"] == "0x4d"


def test_missing_responses() -> None:
    """The Response to an unanswered Request has a record."""
    conversation = Conversation()
    left, right = conversation.initiator, conversation.responder
    left.read(b"abc")
    left.read_request(5, 6, 7)
    right.atomic_request(request_identifier=8)
    missing = [each for each in truth(conversation, "message") if not each["fpdus"]]
    names = "src", "opcode", "answers", "length", "missing", "stag", "request_identifier"
    assert [[each[name] for name in names] for each in missing] == [
        ["10.0.0.2:4000", 2, 2, 5, [["0x7", 5]], "0x00000006", None],
        ["10.0.0.1:40000", 11, 1, 12, [[0, 12]], None, "0x8"],
    ]


@pytest.mark.parametrize(
    ("rtr", "flags", "opcode"), [("send", "AB", 3), ("write", "AC", 0), ("read", "AD", 1)]
)
def test_rtr(rtr: Any, flags: str, opcode: int) -> None:
    """The RTR indication follows the Reply (RFC 6581 9.2)."""
    conversation = Conversation(revision=2)
    conversation.startup(b"hi", ird=3, ord=4, rtr=rtr)
    request, reply = truth(conversation, "startup")
    assert (request["control_flags"], request["ird"], request["ord"]) == (flags, 3, 4)
    assert (reply["control_flags"], reply["ird"], reply["ord"]) == (flags, 4, 3)
    assert (request["pd_length"], request["private_data"]) == (6, b"hi".hex())
    assert truth(conversation, "fpdu")[0]["opcode"] == opcode
    conversation.responder.send()


STARTUPS = StartupItem(0, StartupKind.REQUEST), StartupItem(1, StartupKind.REPLY)
REJECTED = StartupItem(1, StartupKind.REPLY, rejected=True)
FIRST, LATER = (FPDUItem(0, messages.send(msn, b"", mulpdu=99)[0]) for msn in (1, 7))
WRITTEN = FPDUItem(0, messages.write(1, 0, b"", 99)[0])


SCRIPTS = [
    *[((), 1, None), (STARTUPS, 1, None), (STARTUPS[:1], 1, None)],
    *[((FIRST,), 2, None), ((*STARTUPS, FIRST, LATER, WRITTEN), 8, None)],
    *[((*STARTUPS, WRITTEN), 1, None), ((*STARTUPS, FPDUItem(0, b"?")), 1, None)],
    *[((STARTUPS[0], REJECTED), 0, "rejected"), ((*STARTUPS, CloseItem(0)), 0, "closed")],
    *[((*STARTUPS, ResetItem(1)), 0, "closed"), ((STARTUPS[0], REJECTED, *STARTUPS), 1, None)],
]


@pytest.mark.parametrize(("script", "msn", "error"), SCRIPTS)
def test_verbs_go_on_from_any_script(script: tuple[Item, ...], msn: int, error: str | None) -> None:
    """Verbs do what the script requires, whoever has written it: nothing but a Send is added.

    :param msn: MSN of the Send.
    :param error: what the error of a strict conversation says; None: there is none.
    """
    conversation = Conversation(handshake=False)
    conversation.script += script
    if error is not None:
        with pytest.raises(LocalProtocolError, match=error):
            conversation.initiator.send(b"more")
        return
    assert conversation.initiator.send(b"more").msn == msn
    assert [*map(type, conversation.script)] == [*map(type, script or STARTUPS), FPDUItem]
    # The Responder has received an FPDU.
    conversation.responder.send()


def test_without_startup_frames() -> None:
    """A script may have no startup frames, and no handshake."""
    conversation = Conversation(handshake=False)
    conversation.startup()
    conversation.initiator.send(b"a")
    bare = conversation.with_script(fpdus(conversation))
    assert [each.seq for each in bare.segments()] == [1001, 5001]


def send(conversation: Conversation) -> object:
    """The Initiator sends an empty Send."""
    return conversation.initiator.send()


BROKEN = [
    ([lambda it: it.responder.send()], r"RFC 5044 7\.1\.2 rule 4"),
    ([lambda it: it.responder.terminate(2, 0, 5)], "rule 4"),
    ([lambda it: it.responder.fpdu(b""), lambda it: it.responder.send()], "rule 4"),
    ([lambda it: it.close(), send], "closed"),
    ([lambda it: it.initiator.terminate(2, 0, 2), send], "Terminate"),
    ([lambda it: it.startup(), lambda it: it.startup()], r"RFC 5044 7\.1\.2"),
    ([lambda it: it.startup(rejected=True), send], r"rejected.*7\.1\.2 rule 3"),
    ([lambda it: it.initiator.write(bytes(9), to=(1 << 64) - 8)], "RFC 5041"),
    ([lambda it: it.initiator.send(bytes(64751))], "RFC 5044 3"),
    ([lambda it: it.startup(bytes(513))], r"RFC 5044 7\.1\.1"),
    ([send, lambda it: it.initiator.rtr_frame()], "rtr-frame-proposal-2007 2, 5"),
]


@pytest.mark.parametrize(("acts", "clause"), BROKEN)
def test_rules(acts: list[Callable[[Conversation], object]], clause: str) -> None:
    """Breaking a rule is refused with its clause, unless ``strict`` is off."""
    *before, last = acts
    strict, loose = (Conversation(mulpdu=0xFFFF, strict=each) for each in (True, False))
    for act in before:
        act(strict)
    with pytest.raises(LocalProtocolError, match=clause) as caught:
        last(strict)
    assert "strict=False" in str(caught.value)
    for act in acts:
        act(loose)
    loose.segments()


def test_what_the_responder_may_send_first() -> None:
    """After any FPDU of the Initiator the Responder may send (RFC 5044 7.1.2 rule 4).

    With revision 2, a Terminate may come first (RFC 6581 9.3), and nothing else.
    """
    conversation = Conversation()
    conversation.initiator.fpdu(b"?", crc=b"")
    conversation.responder.send()
    conversation = Conversation(revision=2)
    with pytest.raises(LocalProtocolError, match="rule 4"):
        conversation.responder.send()
    conversation.responder.terminate(2, 0, 5)


def test_reprs() -> None:
    conversation = Conversation()
    conversation.initiator.send(b"hello")
    conversation.initiator.read_request(5)
    octets = conversation.initiator.octets(b"0123456789abcdefg")
    assert repr(conversation.initiator) == "<initiator 10.0.0.1:40000, 1 Requests outstanding>"
    assert repr(octets) == "<OctetsItem initiator: 17 octets, b'0123456789abcdef'...>"


PHASES = st.one_of(st.none(), st.integers(0, 127).map(lambda word: 4 * word))


HELLO = 'initiator send "before"\ninitiator send 601\ninitiator send "after!"'
"""Three Sends."""
SECOND = 4
"""The index of the second Send: after handshake, Request, Reply and one Send."""


@given(st.binary(max_size=3000), PHASES, st.booleans())
def test_nothing_overridden(ulpdu: bytes, phase: int | None, crc: bool) -> None:
    """Assembling with overrides and ``build_fpdu`` give the same octets."""
    octets = build_fpdu(ulpdu, phase, crc=None if crc else bytes(4))
    assert assemble(FPDUItem(0, ulpdu), phase, crc=crc) == octets


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a CRC": ({"crc": b"oops"}, "good bad 2 good"),
    "a pad": ({"pad": b"\xee\0\0"}, "good good good"),
    "a header": ({"qn": 7, "msn": 99}, "good good good"),
    "a length that leads to the same end": ({"ulpdu_length": 18 + 602}, "good good good"),
    "a Marker": ({"markers": {0: b"\0\0\0\x10"}}, "good good 3 good"),
    # Reserved and low bits mean nothing to a receiver (RFC 5044 4.2).
    "a Marker that means the same": ({"markers": {0: b"\xff\xff\1\xdf"}}, "good good good"),
}
"""What is wrong with the second FPDU.

Its changed fields, and the CRC verdicts of all FPDUs with the codes of errors.
"""


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_fpdu(what: str) -> None:
    """The truth leaves out an override. The dissector finds it."""
    fields, wanted = WRONG[what]
    valid = parse_scenario("markers both\n" * ("Marker" in what) + HELLO)
    items: list[Any] = list(valid.script)
    change = items[SECOND].with_header if what == "a header" else items[SECOND].override
    items[SECOND] = item = change(**fields)
    wrong = valid.with_script(items)
    truth = wrong.truth(payload=True)
    kept = sum(each["type"] == "fpdu" for each in truth)
    assert kept == (3 if item.overrides is None else 2)
    found = plain(wrong.frames())
    for each in truth:
        assert any(each.items() <= record.items() for record in found), each
    shown = [
        each.get("crc", each.get("code")) for each in found if each["type"] in ("fpdu", "error")
    ]
    assert " ".join(map(str, shown)) == wanted


def test_markers_of_an_unaligned_stream() -> None:
    """Markers keep their offsets, and CRCs are right, if FPDUs do not begin at multiples of 4
    octets."""
    conversation = Conversation(markers=True)
    conversation.startup()
    conversation.initiator.octets(b"x")
    conversation.initiator.fpdu(bytes(1500))
    stream = b"".join(each.octets for each in conversation.layout()[3:])
    for place in (512, 1024):
        assert stream[place : place + 4] == (place - 1).to_bytes(4, "big")


def test_copies_are_independent() -> None:
    """A copy of a conversation continues independently."""
    one = parse_scenario(HELLO)
    other = one.with_script(one.script)
    message = other.initiator.send(b"more")
    assert message.msn == 4
    assert (len(one.script), len(other.script)) == (6, 7)
    assert one.initiator.send(b"more").msn == 4

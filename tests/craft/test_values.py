# SPDX-License-Identifier: GPL-2.0-or-later
"""For any value of the right type there is a conversation that can be written, or our own error."""

import inspect
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from scapy.layers.l2 import Ether

from scapy_mpa.craft import (
    ChunkItem,
    Conversation,
    Endpoint,
    FPDUItem,
    IFTConversation,
    Interleaved,
    SctpConversation,
    Side,
    conversation_of,
    recorded,
)
from scapy_mpa.craft import impairments as known
from scapy_mpa.craft.impairments import impair
from scapy_mpa.layers import FPDU, DDPUntagged, IFTFrame, MPAReply
from scapy_mpa.wire.errors import LocalProtocolError
from tests.cli.command import RPING

KINDS: Final = Conversation, IFTConversation, SctpConversation

ODD: Final[dict[str, list[Any]]] = {
    "int": [-1, 0, 2, 1 << 8, 1 << 16, 1 << 32, 1 << 64, 10**5000],
    "float": [-1, 1e300, 1.5, float("nan"), float("inf"), -float("inf"), 10**5000],
    "str": ["", "x", "\n" * 5000],
    "bytes": [b"", b"x", bytearray(b"abc"), memoryview(b"abc")],
    "None": [None],
}
"""Odd values by the type that an annotation names."""

REQUIRED: Final[dict[str, Any]] = {
    **{"data": b"12345678", "size": 5, "layer": 0, "etype": 0, "error_code": 0, "octets": b""},
    **{"ulpdu": bytes(20), "qn": 0, "msn": 1, "seconds": 1, "sink_stag": 1, "sink_to": 1},
    **{"request_identifier": 1, "rate": 0.5},
}
"""Values of required parameters, while another parameter is odd."""

FURTHER: Final = {
    "terminate": {"ddp_segment_length": "int", "ddp_header": "bytes"},
    "fpdu": {"ulpdu_length": "int", "pad": "bytes", "crc": "bytes"},
    "frame": {"header_size": "int", "vtag": "int", "header_crc": "bytes"},
    "negotiate": {"vtag": "int", "marker_interval": "int"},
    "atomic": {"add_or_swap_data": "int", "request_identifier": "int"},
}
"""Parameters that verbs pass on, with their types."""

OF_SIDES: Final = (
    *("send", "write", "immediate", "read", "read_request", "read_response", "atomic"),
    *("atomic_response", "terminate", "octets", "fpdu", "frame", "rtr_frame", "set_msn"),
)
OF_BOTH: Final = ("startup", "negotiate", "pause", "close", "reset", "moved")
MPA_ONLY: Final = ("octets", "rtr_frame")

IMPAIRMENTS: Final = (
    *("Loss", "Reordering", "Duplication", "Overlap", "CaptureLoss"),
    *("Resegmentation", "SnapLength", "LateStart"),
)


def parameters_of(call: Callable[..., object]) -> dict[str, str]:
    """The parameters with names, and their annotations."""
    known = inspect.signature(call).parameters.values()
    variable = inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL
    return {each.name: str(each.annotation) for each in known if each.kind not in variable}


def options_of(kind: type[Conversation]) -> dict[str, str]:
    """The options of a kind of conversation, with those that it passes on."""
    foreign = {"markers", "crc", "rtr_frame", "revision", "reply_revision", "dialect"}
    options = {**parameters_of(Conversation), **parameters_of(kind)}
    return {
        name: annotation
        for name, annotation in options.items()
        if kind is not IFTConversation or name not in foreign
    }


def has(kind: type[Conversation], name: str) -> bool:
    """True if a kind of conversation has the verb."""
    conversation = kind()
    if name in MPA_ONLY and kind is not Conversation:
        return False
    return hasattr(conversation, name) or hasattr(conversation.initiator, name)


def try_all(act: Callable[[Any], Any], name: str, annotation: str) -> None:
    """Only our own error is raised. Conversations with accepted values can be written.

    A flag is true or false: nothing else is taken for one.
    """
    for wrong in ("off", 0, None) if annotation == "bool" else ():
        with pytest.raises(LocalProtocolError, match=f"^{name} '?{wrong}'? is neither True nor F"):
            act(wrong)
    types = re.findall(r"\w+", annotation)
    for value in (value for each in ODD if each in types for value in ODD[each]):
        try:
            made = act(value)
        except LocalProtocolError as error:
            # The message is one line, however long the value is.
            assert str(error).isprintable() and len(str(error)) < 1000
        else:
            made.frames()
            if not isinstance(made, IFTConversation | SctpConversation):
                made.truth(messages=True)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in KINDS for name in options_of(kind)]
)
def test_options(kind: type[Conversation], name: str) -> None:
    """Odd values of each option of a conversation."""

    def act(value: Any) -> Conversation:
        conversation = kind(**{name: value})
        conversation.initiator.send(b"hello")
        conversation.close()
        return conversation

    try_all(act, name, options_of(kind)[name])


KNOWN = [(kind, verb) for kind in KINDS for verb in (*OF_SIDES, *OF_BOTH) if has(kind, verb)]


@pytest.mark.parametrize(("kind", "verb"), KNOWN)
def test_verbs(kind: type[Conversation], verb: str) -> None:
    """Odd values of each parameter of each verb that the conversation has."""

    def speaker(conversation: Conversation) -> Any:
        return conversation if verb in OF_BOTH else conversation.initiator

    parameters = parameters_of(getattr(speaker(kind()), verb)) | FURTHER.get(verb, {})
    wanted = {name: REQUIRED[name] for name in parameters if name in REQUIRED}

    def act(parameter: str, value: Any) -> Conversation:
        conversation = kind(strict=False)
        made = getattr(speaker(conversation), verb)(**{**wanted, parameter: value})
        return made if isinstance(made, Conversation) else conversation

    for parameter, annotation in parameters.items():
        try_all(partial(act, parameter), parameter, annotation)


@pytest.mark.parametrize("name", IMPAIRMENTS)
def test_impairments(name: str) -> None:
    """Odd values of each parameter of an impairment."""
    parameters = parameters_of(getattr(known, name))
    required = {**REQUIRED, "octets": 100, "segments": 1}
    wanted = {each: required[each] for each in parameters if each in required}
    conversation = Conversation()
    conversation.initiator.write(bytes(5000))

    class Impaired:
        def __init__(self, parameter: str, value: Any) -> None:
            impairment = getattr(known, name)(**{**wanted, parameter: value})
            self.segments = impair(conversation.segments(), impairment)

        def frames(self) -> object:
            return conversation.frames(self.segments)

        def truth(self, **options: bool) -> object:
            return conversation.truth(self.segments, **options)

    for parameter, annotation in parameters.items():
        try_all(partial(Impaired, parameter), parameter, annotation)


@pytest.mark.parametrize("name", ["address", "port", "mac", "isn"])
def test_endpoints(name: str) -> None:
    """Odd values of each parameter of an endpoint."""

    def act(value: Any) -> Conversation:
        return Conversation(Endpoint(**{"address": "10.0.0.1", "port": 1, name: value}))

    try_all(act, name, parameters_of(Endpoint)[name])


def side() -> Side:
    """A side that may send."""
    return Conversation().initiator


WRONG_VALUES = [
    (lambda: Conversation(dialect="rfc1149"), "there is no dialect"),
    (lambda: Conversation(dialect="rfc5043"), "dialect rfc5043 is an SctpConversation"),
    (lambda: Conversation(dialect="draft-williams-iwarp-ift-01"), "is an IFTConversation"),
    (lambda: SctpConversation(dialect="erdma"), "not spoken in the dialect erdma"),
    (lambda: Interleaved([(it := Conversation(), it.segments())] * 2), "same endpoints"),
    (lambda: recorded(RPING, 99), "connection 99 is not one with"),
    *((partial(recorded, RPING, fpdus=fpdus), r"fpdus .* 1 to") for fpdus in (0, -1)),
    (lambda: Conversation(rtt=1000.5), "rtt is 0 to 1000 seconds, not 1000.5"),
    (lambda: Conversation(crc="off"), "crc 'off' is neither"),
    (lambda: Conversation(packing="x"), "packing 'x' is none of aligned, packed, "),
    (lambda: Conversation(start_time=-1), "start_time is 0 to 18446744073 seconds, not -1"),
    (lambda: side().set_msn(0, 1 << 32), "MSN 4294967296 is not in 0 to 4294967295"),
    (lambda: Endpoint("::", 1, isn=-1), "initial sequence number -1 is not in 0 to 4294967295"),
    (lambda: Endpoint("::", 1, isn=1 << 32), "4294967296 is not in 0 to 4294967295"),
    *((partial(known.Loss, rate), "a rate is a share") for rate in (1.5, -0.1, float("nan"))),
    (lambda: known.Loss(0.1, distance=2), "a distance 2 is not in 3 to"),
    (lambda: known.Overlap(0.1, reach=0), "an overlap 0 is not in 1 to"),
    (lambda: known.LateStart(-1), "a number of segments -1 is not in 0 to"),
    (lambda: side().fpdu(FPDU()), r"ulpdu is not a whole FPDU; give packet\[FPDU\].payload"),
    (lambda: side().fpdu(Ether() / FPDU(b"\0\1?")), "not a whole FPDU"),
    (lambda: IFTConversation().initiator.frame(IFTFrame()), "not a whole IFTFrame"),
    (
        lambda: Conversation().startup(reply_private_data=MPAReply()),
        r"reply_private_data is not a whole MPAReply; give packet\[MPAReply\].private_data",
    ),
    (lambda: Conversation(markers=(True,)), r"markers \(True,\) is neither"),
    (lambda: Conversation(mulpdu=60), r"MULPDU 60 is not in 70 \(an Atomic Request, "),
    (lambda: Conversation(revision=0).initiator.atomic(), "RV 0 is not valid for Atomic Request"),
    (
        lambda: Conversation(revision=2, rtr_frame=True).startup(),
        r"an Rtr Frame goes with revision 1 \(rtr-frame-proposal-2007\)",
    ),
    (
        lambda: Conversation(rtr_frame=True).startup(rejected=True, rtr_private_data=b"x"),
        "follows only a Reply that accepts, if S is set",
    ),
    (
        lambda: Conversation().with_script([5]).segments(),
        "item 0 of the script, 5: TCP has no such item",
    ),
    (lambda: Conversation().with_script([FPDUItem(2, b"x")]).frames(), "side 2 is not in 0 to 1"),
    *(
        (
            lambda wrong=wrong: (
                Conversation().with_script([FPDUItem(0, b"x").override(**wrong)]).segments()
            ),
            f"item 0 of the script.*{text}",
        )
        for wrong, text in (
            ({"markers": {0: b""}}, "0 Markers"),
            ({"markers": {0: "oops"}, "marker_places": (0,)}, "a Marker 'oops' is neither"),
            ({"marker_places": (-4,)}, "the place of Marker 0: -4 is not in 0 to 7"),
            ({"marker_places": (0, 12)}, "the place of Marker 1: 12 is not in 4 to 11"),
            ({"marker_places": (4, 4)}, "the place of Marker 1: 4 is not in 8 to 11"),
            ({"pad": "x"}, "a pad 'x' is neither octets"),
        )
    ),
    (lambda: ChunkItem(0, 16, b"x", fragments=0), "fragments 0 is not in 1 to 65535"),
    (lambda: conversation_of(5), "there is no preset 5; `scapy-mpa craft --list` shows"),
    (lambda: Conversation().startup(rtr="x"), "rtr 'x' is none of send, write, rea"),
    (lambda: SctpConversation(rtr_frame=True), "DDP over SCTP has no Rtr Frames"),
    (lambda: SctpConversation(mss=100), "128 or more"),
    (lambda: SctpConversation().startup(bytes(513)), r"exceed 512 \(RFC 5043 5.2.3\)"),
    (lambda: conversation_of("sctp-reject").initiator.send(b"x"), "closed"),
    (lambda: side().read_request(1 << 32), r"one does not fit its field \(RFC 5040 4.4\)"),
    (lambda: Endpoint("fe80::1%eth0", 1), "'fe80::1%eth0' has a zone, which packets"),
    (lambda: known.Resegmentation("x"), "segments are tiny, super, or .*, not 'x'"),
    *(
        (
            lambda cut=cut: known.impair(conversation_of("sctp").segments(), cut),
            "is about TCP, and this is SCTP",
        )
        for cut in (
            known.Resegmentation("tiny"),
            known.Overlap(0.0),
            known.StartupCut(SctpConversation()),
        )
    ),
]


WRONG_TYPES = [
    (lambda: Conversation("10.0.0.1:4"), "'10.0.0.1:4' is no Endpoint; give Endpoint"),
    (lambda: Conversation(revision="2"), "revision is a whole number, not '2'"),
    (lambda: Conversation(rtt="x"), "rtt is 0 to 1000 seconds, not 'x'"),
    (lambda: Conversation().pause("1"), r"a pause is 0 to \d+ seconds, not '1'"),
    (lambda: known.Loss("1%"), "a rate is a share from 0 to 1, not '1%'"),
    (
        lambda: Conversation(revision=2).startup(ird="8"),
        "IRD and ORD are whole numbers, not '8' and 16",
    ),
]


@pytest.mark.parametrize(
    ("error", "act", "text"),
    [
        *((LocalProtocolError, *each) for each in WRONG_VALUES),
        *((TypeError, *each) for each in WRONG_TYPES),
    ],
)
def test_messages_of_errors(error: type[Exception], act: Callable[[], object], text: str) -> None:
    """The message says what is wrong, and what to give."""
    with pytest.raises(error, match=text):
        act()


@pytest.mark.parametrize("wrong", [lambda right: 3, lambda right: None, lambda right: "abcd"])
def test_function_for_a_crc_must_return_octets(wrong: Callable[[bytes], Any]) -> None:
    """The result must be octets. Otherwise the message names the item."""
    conversation, framed = Conversation(), IFTConversation()
    conversation.initiator.fpdu(b"x", crc=wrong)
    framed.initiator.frame(b"x", payload_crc=wrong)
    for each in (conversation, framed):
        with pytest.raises(
            LocalProtocolError, match=r"item 3 of the script.*CRC.*is neither octets"
        ):
            each.frames()


def test_startup_with_enhanced_data_in_the_reply() -> None:
    """Enhanced data are exchanged if either side has some."""
    for given in ({"reply_ird": 5}, {"reply_ord": 5}, {"reply_control_flags": "A"}):
        conversation = Conversation(strict=False)
        conversation.startup(**given)
        reply = conversation.script[-1]
        assert {name: getattr(reply, name[6:]) for name in given} == given


REFUSED = [
    (Conversation(), {"reply_private_data": bytes(1 << 15)}, "exceed"),
    (SctpConversation(), {"reply_private_data": bytes(1 << 15)}, "exceed"),
    (Conversation(rtr_frame=True), {"rtr_private_data": bytes(513)}, "exceed"),
    (Conversation(revision=2), {"rtr": "write", "rejected": True}, r"RFC 6581 9\.2"),
]


@pytest.mark.parametrize(("conversation", "given", "text"), REFUSED)
def test_a_refused_startup_leaves_nothing(
    conversation: Conversation, given: dict[str, Any], text: str
) -> None:
    """Startup frames are sent all, or not at all."""
    before = [*conversation.script]
    with pytest.raises(LocalProtocolError, match=text):
        conversation.startup(**given)
    assert [*conversation.script] == before
    conversation.startup()


@pytest.mark.parametrize("kind", KINDS)
def test_equal_endpoints_are_refused(kind: type[Conversation]) -> None:
    """Equal endpoints are refused in any spelling, since no dissector can distinguish the sides."""
    one, other = Endpoint("fd00::1", 4000, isn=7), Endpoint("FD00:0::1", 4000)
    with pytest.raises(LocalProtocolError, match=r"both ends are \[fd00::1\]:4000; give one"):
        kind(one, other)
    conversation = kind(one, Endpoint("fd00::1", 4001))
    with pytest.raises(LocalProtocolError, match="both ends are"):
        conversation.moved(responder=other)


@pytest.mark.parametrize("start", [0, 4_294_967_295, 18_446_744_073])
def test_earliest_and_latest(start: int, tmp_path: Path) -> None:
    """The earliest and the latest accepted times can be written."""
    Conversation(start_time=start, rtt=0).write(tmp_path / "a.pcapng")


@pytest.mark.parametrize("make", [bytearray, memoryview])
def test_octets_of_any_kind(make: Callable[[bytes], Any]) -> None:
    """Octets are copied when they are given. Layers count as octets."""
    conversation = Conversation()
    buffer = bytearray(b"hello")
    conversation.initiator.send(make(buffer))
    buffer[:] = b"other"
    conversation.initiator.fpdu(DDPUntagged() / b"layer")
    conversation.initiator.fpdu((FPDU() / DDPUntagged() / b"under")[FPDU].payload)
    found = [getattr(each, "ulpdu", b"")[-5:] for each in conversation.script[-3:]]
    assert found == [b"hello", b"layer", b"under"]
    conversation.initiator.octets(FPDU() / b"whole")

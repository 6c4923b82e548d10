# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenarios: each step of the text has its effect, and errors name their line."""

import random
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, Endpoint, FPDUItem, IFTConversation
from scapy_mpa.craft.scenario import ScenarioError, parse_scenario
from scapy_mpa.craft.scenario.options import OPTIONS
from scapy_mpa.craft.scenario.parse import MOST_STEPS
from scapy_mpa.craft.scenario.steps import SIDE_STEPS, STEPS
from scapy_mpa.craft.scenario.values import Chance
from scapy_mpa.craft.scenario.words import words_of
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.rdmap_names import AtomicOperation
from tests.stream.work import peak

IFT = "draft-williams-iwarp-ift-01"
OPTION_ROWS: dict[str, dict[str, Any]] = {
    "endpoints [fd00::1]:1000 [fd00::2]:2000\n"
    "macs 02:00:00:00:00:11 02:00:00:00:00:22\nisns 0xFFFFFFF0 7": {
        "initiator": Endpoint("fd00::1", 1000, "02:00:00:00:00:11", 0xFFFFFFF0),
        "responder": Endpoint("fd00::2", 2000, "02:00:00:00:00:22", 7),
    },
    "dialect rfc6581": {"dialect": "rfc6581"},
    "revision 2": {"revision": 2},
    "reply-revision 0": {"reply_revision": 0},
    "markers both": {"markers": True},
    "markers neither": {"markers": False},
    "crc responder": {"crc": (False, True)},
    "mss 1_440": {"mss": 1440},
    "mulpdu 1200": {"mulpdu": 1200},
    "rtr-frame both": {"rtr_frame": True},
    "packing packed": {"packing": "packed"},
    "vlan 0x64": {"vlan": 100},
    "ack-every 3": {"ack_every": 3},
    "start-time 1000000000.5": {"start_time": 1_000_000_000.5},
    "rtt 0.001": {"rtt": 0.001},
    "ddp-version 0": {"ddp_version": 0},
    "rdmap-version 0": {"rdmap_version": 0},
    "handshake off": {"handshake": False},
    "strict off": {"strict": False},
    "seed 5": {},
    f"dialect {IFT}\nvtags 0x1111 0x2222": {"vtags": (0x1111, 0x2222)},
    f"dialect {IFT}\nmarker-interval 512": {"marker_interval": 512},
    **{
        f"dialect {IFT}\n{flag} initiator": {flag: (True, False)}
        for flag in ("hc", "pc", "sp", "r", "ih", "ip", "sm", "rm")
    },
}


@pytest.mark.parametrize("text", OPTION_ROWS)
def test_options(text: str) -> None:
    """Each option has the effect of the argument with its name."""
    kind = IFTConversation if IFT in text else Conversation
    parsed = parse_scenario(f"{text}\nclose")
    assert type(parsed) is kind
    wanted = kind(**OPTION_ROWS[text])
    assert parsed.options == wanted.options
    assert [each.endpoint for each in parsed.sides] == [each.endpoint for each in wanted.sides]


STEPS_OF_VERBS = (
    'initiator octets "HELLO"',
    'startup private-data "a # b" reply-private-data hex:00',
    "startup ird 3 ord 4 control-flags AD",
    "startup reply-ird 1 reply-ord 2 reply-control-flags A",
    "startup rejected",
    "revision 2\n\nstartup rtr read",
    "revision 2\nrtr-frame both\n\nstartup",
    'rtr-frame both\n\nstartup rtr-private-data "go"',
    'dialect erdma\n\nstartup extension "12345678" reply-extension "abcdefgh"',
    'initiator rtr-frame private-data "ready" key "MPA ID RtR Frame"',
    'initiator send "hello" solicited invalidate-stag 0x10',
    "responder write hex:00ff stag 9 to 0x1000",
    'initiator read "abc" sink-stag 1 sink-to 2 src-stag 3 src-to 4',
    "responder read-request 10 sink-stag 1 sink-to 2 src-stag 3 src-to 4\n"
    'initiator read-response "0123456789"',
    'initiator immediate "12345678" solicited',
    "initiator atomic fetch-add stag 1 to 8 add-or-swap-data 1 original 41",
    "responder atomic-request cmp-swap compare-data 42 compare-mask 0xFF add-or-swap-mask 15 "
    "request-identifier 77\ninitiator atomic-response original 42",
    "responder fpdu hex:0000 ulpdu-length 3 pad hex:ffff crc hex:00000000",
    "pause 0.25\nresponder terminate 2 0 2",
    f"dialect {IFT}\n\nnegotiate first responder",
    f"dialect {IFT}\n\ninitiator frame hex:414300000000000000000000000200000000 vtag 7 "
    "header-crc hex:00000000 header-size 18 payload-size 4 payload-crc hex:01020304",
)
"""Steps, perhaps after options and an empty line."""
VALUES = {
    **{"fetch-add": AtomicOperation.FETCH_ADD, "cmp-swap": AtomicOperation.CMP_SWAP},
    "responder": 1,
}


def value(word: str) -> Any:
    """The value that a word stands for."""
    if word.startswith('"'):
        return word[1:-1].encode()
    if word.startswith("hex:"):
        return bytes.fromhex(word[4:])
    if word[0].isdigit():
        return float(word) if "." in word else int(word, 0)
    return VALUES.get(word, word)


def call(text: str, conversation: Any) -> None:
    """Call the verbs of steps, with parameters of the names in them."""
    for line in text.rpartition("\n\n")[2].splitlines():
        verb, *words = re.findall(r'"[^"]*"|\S+', line)
        who, step = conversation, STEPS.get(verb)
        if step is None:
            who, verb, words = getattr(conversation, verb), words[0], words[1:]
            step = SIDE_STEPS[verb]
        wanted = len(step.wanted.split())
        named, rest = {}, iter(words[wanted:])
        for name in rest:
            named[name.replace("-", "_")] = True if name in step.switches else value(next(rest))
        getattr(who, verb.replace("-", "_"))(*map(value, words[:wanted]), **named)


STEP_ROWS: dict[str, Callable[[Any], object]] = {
    'initiator flush\nrepeat 2 initiator send ""   # twice': lambda it: (
        it.initiator.flush(),
        it.initiator.send(),
        it.initiator.send(),
    ),
    'initiator write "x" stag 7\nresponder terminate 1 1 0 quoting': lambda it: (
        it.initiator.write(b"x", 7),
        it.responder.terminate(1, 1, 0, in_error=it.script[-1]),
    ),
    '# 1\n\tinitiator\t\tsend "\\"\\\\\\n\\r\\t\\0\\x80 ä"#2\nclose#3 ': lambda it: (
        it.initiator.send(b'"\\\n\r\t\0\x80 \xc3\xa4'),
        it.close(),
    ),
    "responder close half": lambda it: it.close(1, both=False),
    "initiator reset": lambda it: it.reset(0),
    "close": lambda it: it.close(),
    **{text: partial(call, text) for text in STEPS_OF_VERBS},
}
"""Steps, perhaps after options and an empty line, and verbs with the same effect."""


@pytest.mark.parametrize("text", STEP_ROWS)
def test_steps(text: str) -> None:
    """Each step has the effect of the verb with its name."""
    options, _, steps = text.rpartition("\n\n")
    begin = f"strict off\n{options}\ninitiator flush\n"
    parsed, wanted = parse_scenario(begin + steps), parse_scenario(begin)
    STEP_ROWS[text](wanted)
    assert parsed.script == wanted.script
    assert parsed.frames() == wanted.frames()


def test_all_words_are_used() -> None:
    """The tables have each option, step, keyword and switch."""
    lines = [line for text in [*OPTION_ROWS, *STEP_ROWS] for line in text.splitlines()]
    used = {word.text for line in lines for word in words_of(line)}
    steps = {**SIDE_STEPS, **STEPS}
    assert used >= {*OPTIONS, *steps}
    assert used >= {word for step in steps.values() for word in (*step.keywords, *step.switches)}


WRONG = {
    "": "f: no step; say what happens, such as `initiator send 1000`",
    "# x\n\nbogus 1": "f:3: no option or step 'bogus'; known are initiator, responder, startup, ",
    "initiator": "f:1: initiator does what? send, write, ",
    "initiator sned 1": "f:1: no step 'sned'; did you mean send?",
    "initiator send": "f:1: initiator send wants data: initiator send DATA [invalidate-stag ",
    "initiator send abc": "f:1: data are wanted, not 'abc': a size such as 1000, a string in ",
    "initiator send hex:0": "f:1: hex: is followed by pairs of hexadecimal digits, not 'hex:0'",
    "initiator send 9 solicitd": "f:1: initiator send does not know 'solicitd'; did you mean ",
    "initiator send 9 invalidate-stag": "f:1: invalidate-stag wants a value: initiator send DATA",
    "initiator send 9 invalidate-stag 4294967296": "f:1: invalidate-stag: a number from 0 to 4294",
    "initiator send 9 solicited solicited": "f:1: solicited twice",
    "initiator send 300000000": "f:1: a number from 0 to 268435456 is wanted",
    "repeat 9 initiator send 100000000": "f:1: more than 268435456 octets of data in one scenario",
    'initiator send "abc': 'f:1: a string ends with "',
    'initiator send "abc"x': 'f:1: a string ends with "',
    'initiator send x"abc"': "f:1: a blank must separate a string from other words",
    r'initiator send "\q"': r"f:1: no escape \q in a string; there are \n ",
    "initiator immediate 7": "f:1: Immediate Data has exactly 8 octets, 7 are given",
    "initiator fpdu 70000": "f:1: ULPDU_Length 70000 is not in 0 to 65535",
    "initiator atomic nope": "f:1: one of fetch-add, cmp-swap is wanted, not 'nope'",
    "initiator read-response 5": "f:1: the responder has no RDMA Read Request outstanding",
    "initiator atomic-response": "f:1: the responder has no Atomic Request outstanding: give a ",
    'startup rtr-private-data "x"': "f:1: an Rtr Frame with Private Data follows only a Reply ",
    f"dialect {IFT}\nr neither\ninitiator send 1": "f:3: there is no RDMAP in DDP mode: send a ",
    "initiator close quarter": "f:1: initiator close does not know 'quarter'; known are half",
    "flush": "f:1: no option or step 'flush'; ",
    '"close"': 'f:1: no option or step "close"; did you mean close?',
    "close now": "f:1: close does not know 'now'; nothing comes after it",
    "close\ninitiator send 1": "f:2: the TCP connection is closed; to send it all the same, say "
    "`strict off` before the first step",
    "startup control-flags X": "f:1: control flags 'X', IRD 16, ORD 16: letters out of ABCD",
    "startup ird 4": "f:1: IRD, ORD, control flags and RTR go with revision 2 (RFC 6581 6); ",
    "revision 0\nstartup rtr send": "f:2: IRD, ORD, control flags and RTR go with revision 2 ",
    "dialect erdma\nstartup reply-ord 1": "f:2: IRD, ORD, control flags and RTR go with ",
    "revision 2\nstartup control-flags B": "f:2: control flags B of the Request are set, ",
    "revision 2\nstartup control-flags A reply-control-flags C": "f:2: control flags C of the ",
    "dialect draft-ietf-storm-mpa-peer-connect-01\nstartup control-flags AD": "f:2: control flag ",
    "revision 7\nstartup": "f:2: revision 7 is not one of 0, 1, 2 (RFC 5044 7.1.1); ",
    "dialect erdma\ncrc both\nstartup": "f:3: C is set, which erdma does not accept",
    "ddp-version 3\ninitiator write 1": "f:2: DV 3 is not valid (RFC 5041 4.1); ",
    "rdmap-version 2\ninitiator send 1": "f:2: RV 2 is not valid for Send (RFC 5040 4.1); ",
    "reply-revision 2\ninitiator send 1": "f:2: revision 2 of the Reply exceeds the Request's 1 (",
    "revision 0\nddp-version 1\ninitiator send 1": "f:3: RV 0 on a connection of version 1 (",
    "ddp-version 0\nrdmap-version 0\ninitiator send 1": "f:3: DV 0 on a connection of version 1 (",
    "initiator read-request 9 src-to 0xFFFFFFFFFFFFFFFF": "f:1: SrcTO 0xffffffffffffffff and 9 ",
    "initiator terminate 5 5 5": "f:1: no standard defines layer 5 / error type 5 / code 0x05 (",
    "initiator send 1\ninitiator terminate 1 2 1 quoting": "f:2: a Terminate quotes an FPDU ",
    'startup control-flags "A"': 'f:1: control-flags: a word without quotes is wanted, not "A"',
    "pause nan": "f:1: seconds from 0 to 1000000 are wanted, not 'nan'",
    'pause "1"': 'f:1: seconds from 0 to 1000000 are wanted, not "1"',
    "repeat 3": "f:1: repeat wants a number and a step: ",
    "repeat 3 repeat 3 close": "f:1: repeat wants a number and a step: ",
    "repeat 3 mss 100": "f:1: repeat wants a number and a step: ",
    "repeat 262144 pause 0\nclose": "f:2: more than 262144 steps in one scenario",
    "revision": "f:1: 0 values after revision; one is wanted",
    "isns 1": "f:1: 1 values after isns; both initiator and responder want one",
    "revision 256": "f:1: a number from 0 to 255 is wanted, not '256'",
    "revision 1\nrevision 1": "f:2: revision is given twice",
    "mss 70000": "f:1: a number from 1 to 65495 is wanted, not '70000'",
    "mulpdu 9": "f:1: a number from 70 to 65535 is wanted, not '9'",
    "seed 18446744073709551616": "f:1: a number from 0 to 18446744073709551615 is wanted",
    "close\nmss 1460": "f:2: mss is an option: options come before the first step",
    "markers maybe": "f:1: one of neither, initiator, responder, both is wanted, not 'maybe'",
    "macs a b": "f:1: 'a' is no Ethernet address",
    "endpoints 10.0.0.1 10.0.0.2:1": "f:1: address and port are wanted, such as 10.0.0.1:4000 or ",
    "endpoints 10.0.0:1 10.0.0.2:1": "f:1: '10.0.0' is no IPv4 or IPv6 address",
    "hc both": "f:1: hc is no option of MPA; name its dialect first",
    "markers both\ndialect rfc5043": "f:2: markers is no option of rfc5043; ",
    "dialect draft-williams-iwarp-ift-01\nstartup": "f:2: iWARP Framing for TCP has no startup ",
    "dialect draft-williams-iwarp-ift-01\ninitiator fpdu 20": "f:2: iWARP Framing for TCP has no ",
    "dialect draft-williams-iwarp-ift-01\nnegotiate first me": "f:2: first: one of initiator, ",
    "dialect rfc5043\ninitiator octets 3": "f:2: SCTP has nothing like <OctetsItem ",
    "dialect rfc5043\ninitiator fpdu 20 crc hex:00000000": "f:2: a DDP Segment Chunk has no fields",
    "dialect rfc5043\nstartup rejected\nstartup": "f:3: an SCTP conversation has one session",
    "dialect rfc5043\nstrict off\ninitiator rtr-frame": "f:3: DDP over SCTP has no Rtr Frames",
    "negotiate": "f:1: there is no negotiate in this dialect",
    "endpoints 10.0.0.1:1 [fd00::1]:2": "f:1: both addresses must be IPv4, or both IPv6",
    "start-time -1": "f:1: seconds from 0 to 4294967295 are wanted, not '-1'",
    "rtt inf": "f:1: seconds from 0 to 1000 are wanted, not 'inf'",
    "responder terminate 0 1 0 quoting": "f:1: there is no FPDU to quote right before this step",
    "close " + "x " * 64: "f:1: more than 64 words in one line; no step takes so many",
    'initiator send "\\': "f:1: a string ends with",
    'initiator send "\ud800"': r"f:1: the character '\ud800' has no octets in UTF-8",
}


TOO_MUCH = {
    "mss 1\ninitiator send 2000000": "f:2: more than 2097152 FPDUs or segments in one scenario",
    "mulpdu 70\ninitiator send 268435456": "f:2: more than 2097152 FPDUs or segments in one ",
    "mss 1\nrepeat 262144 close": "f:2: more than 2097152 FPDUs or segments in one scenario; send "
    "less, or make them larger (mss, mulpdu)",
}


@pytest.mark.parametrize(
    ("text", "message"),
    [*WRONG.items(), *(pytest.param(*each, marks=pytest.mark.slow) for each in TOO_MUCH.items())],
)
def test_errors(text: str, message: str) -> None:
    """An error is one line that says where it is and what is expected there."""
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "f")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    # It has no names of Python.
    assert not re.search(r"[a-z]_[a-z]|\w\(\)", str(caught.value))


WITH_A_WORD = (
    *("X", "initiator X", "initiator send X", "initiator send 1 X", "initiator send hex:X"),
    *("initiator send X{", 'initiator send "X', 'initiator send "X"X', 'initiator send X"'),
    *('initiator send 1 "X"', "initiator send 1 invalidate-stag X", "initiator atomic X"),
    *("startup control-flags X", "startup ird X", "pause X", "repeat X close", "revision X"),
    *("endpoints X X", "endpoints X:1 X:2", "macs X X", "dialect X", "markers X"),
)


@pytest.mark.parametrize("line", WITH_A_WORD)
@pytest.mark.parametrize("word", ["\x1bz", "9z", "\u202e"])
def test_words_of_any_length(line: str, word: str) -> None:
    """A message quotes only the beginning of a long word, in harmless characters."""
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(line.replace("X", word * 100_000), "f")
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 700


@pytest.mark.parametrize("piece", ["a", r"\x41", r"\n", "ä", '" "'])
def test_memory_of_strings(piece: str) -> None:
    """Memory is a few times the size of the text, for any number of escapes and words."""
    line = f'"{piece * 100_000}"'

    def read() -> None:
        with suppress(ScenarioError):
            words_of(line)

    assert peak(read) < 8 * len(line) + 20_000


def test_only_line_ends_of_editors_count() -> None:
    """Only line ends of editors count. Other line ends of Python may stand in strings."""
    conversation = parse_scenario('initiator send "a\x85\u2028\f"\r\n# \x1c\rclose\n')
    (item,) = (each for each in conversation.script if isinstance(each, FPDUItem))
    assert item.payload == "a\x85\u2028\f".encode()
    with pytest.raises(ScenarioError, match=r"^f:3: "):
        parse_scenario("# \u2028 \x0b\r# \x85\r\nnothing", "f")


def test_most_steps() -> None:
    """The largest allowed number of steps is accepted, in a few seconds."""
    conversation = parse_scenario(f"repeat {MOST_STEPS - 1} initiator flush\nclose")
    assert len(conversation.script) == MOST_STEPS + 1


KINDS = Dialect.DRAFT_IFT_01, Dialect.RFC5043
"""Dialects with conversations of their own."""

WORDS = st.one_of(
    st.sampled_from(
        [
            *("initiator", "responder", "repeat", "hex:00", '"x"', "half", "fetch-add", "strict"),
            *("on", "off", "both", "stream", "10.0.0.1:1", "[fd00::1]:2", "AD", "read", "0.5"),
            *OPTIONS,
            *STEPS,
            *SIDE_STEPS,
            *(each for step in SIDE_STEPS.values() for each in step.keywords),
            *STEPS["startup"].keywords,
        ]
    ),
    st.integers(-1, 70).map(str),
    st.sampled_from(["70000", "4294967295", "0xFFFFFFFFFFFFFFFF"]),
    st.text(max_size=5),
)
LINES = st.one_of(
    st.lists(WORDS, max_size=8),
    st.tuples(
        st.sampled_from(["initiator", "responder"]), st.sampled_from(list(SIDE_STEPS)), WORDS, WORDS
    ),
)


@given(st.lists(LINES.map(" ".join), max_size=8), st.booleans(), st.sampled_from([None, *KINDS]))
def test_any_text(lines: list[str], loose: bool, dialect: Dialect | None) -> None:
    """Any text gives a conversation that can be written, or our own error with the line."""
    spoken = [] if dialect is None else [f"dialect {dialect.value}"]
    text = "\n".join([*spoken, *["strict off"][:loose], *lines])
    try:
        conversation = parse_scenario(text, "f")
    except ScenarioError as error:
        assert str(error).startswith("f:")
        return
    try:
        conversation.frames()
    except LocalProtocolError:
        pytest.fail(f"cannot be written: {text!r}")


@pytest.mark.parametrize("size", [0, 1, 3, 1 << 20, (1 << 20) + 3, (2 << 20) + 1])
def test_several_draws_give_the_octets_of_one(size: int) -> None:
    """The octets depend on the seed alone, not on the number of draws."""
    assert Chance(7).octets(size) == random.Random(7).randbytes(size)

# SPDX-License-Identifier: GPL-2.0-or-later
"""The output of ``dissect``, and its options."""

import re
from pathlib import Path

import pytest

from scapy_mpa.cli.words import WORDS
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.records.tables import CAPTURE, CAPTURE_END, RECORD_TYPES
from tests.cli.command import FIVE_CONNECTIONS, PCAPS, PROBE, ROOT, Record, lines_of, records, run

TERMINATE = PCAPS / "term_sendnorecv.pcap"


MADE = ROOT / "tests" / "records"
RECORDS = lines_of((MADE / "records.jsonl").read_text())


def test_words() -> None:
    """The line of each type of record."""
    shown = [WORDS[each["type"]](each) for each in RECORDS]
    assert shown == (MADE / "words.txt").read_text().splitlines()


HEADERLESS = {"tagged": False, "to": None, "qn": 1, "msn": 1, "mo": 0, "header": None}
NO_MPA = {"dialect": None, "revision": None, "errors": 0}


UNUSUAL = [
    (0, {"rejected": True}, "Reply rev 2 M0 C1 rejected IRD 4 "),
    (2, {"last": False}, " 2 octets, seq 5000"),
    (2, {"crc": "bad"}, " L, CRC bad, seq 5000"),
    (2, {"out_of_order": True}, " L, out of order, seq 5000"),
    (2, {"located_by": "search"}, " L, by search, seq 5000"),
    (2, {**HEADERLESS, "opcode": 1, "payload_length": 28}, " 28 octets L (cut off), seq 5000"),
    (2, {**HEADERLESS, "opcode": 1, "payload_length": 27}, " 27 octets L (malformed), seq 5000"),
    (2, {**HEADERLESS, "opcode": 7, "payload_length": 4}, " 4 octets L (cut off), seq 5000"),
    (2, {**HEADERLESS, "opcode": 8, "payload_length": 4, "mo": 4}, " 4 octets L, seq 5000"),
    (2, {**HEADERLESS, "opcode": 8, "payload_length": 4, "last": False}, " 4 octets, seq 5000"),
    (3, {"fpdus": 0, "messages": 2}, "Send missing messages qn 0 msn 4 to 5, 1 octet cut off"),
    (3, {"missing": [[None, None]]}, "2 DDP segments, lacks its beginning, perhaps, "),
    (4, {"request_identifier": 9, "answers": None}, ", request identifier 9, answers one of "),
    (4, {"latency": 0.5}, ", answers msn 3 after 500000.0 us"),
    (6, {"out_of_order": True}, " PD 2, out of order, DDP-SSN 0, TSN 77"),
    (10, {"seq": None, "tsn": 105}, "it is 'wrong', TSN 105"),
    (11, {"dialect": "rfc5043"}, ", RNICs RDMAC to RDMAC or permissive, 5/1 DDP "),
    (11, {"dialect": "rfc5043"}, ", 0/1460 chunks ahead, "),
    (11, {"rtr_agreed": ["write"], "kept": True}, " octets, no RTR, "),
    (11, {"rtr_agreed": ["write"], "kept": None}, " octets, 6/0 bad CRC, "),
    (12, {"r": True, "hc": True}, "Adaption indication phase 1 RDMA HC PC SP VTag 0xabcd "),
    (11, {**NO_MPA, "fpdus": {"src": 0, "dst": 0}}, ", no MPA, 200/100 octets"),
]


@pytest.mark.parametrize(("number", "change", "words"), UNUSUAL)
def test_unusual_properties(number: int, change: Record, words: str) -> None:
    """Unusual properties follow the numbers."""
    record = {**RECORDS[number], **change}
    assert words in WORDS[record["type"]](record)


OF_OTHERS = {
    *("session_control", "ddp_segment", "adaption_indication", "ift_frame"),
    *(CAPTURE, CAPTURE_END),
}
"""Types of records that exist only for DDP over SCTP or IFT, and those of no connection."""


@pytest.mark.parametrize("kinds", ["startup", "fpdu", "message", "error", "startup, connection"])
def test_type(kinds: str) -> None:
    """``--type`` prints the named types, separated by commas, and nothing else.

    Without it messages are not printed, since their FPDUs are.
    """
    found, everything = records("--type", kinds, PROBE), records(PROBE)
    assert {record["type"] for record in found} == set(kinds.split(", "))
    if kinds != "message":
        assert found == [record for record in everything if record["type"] in kinds]
    printed = {record["type"] for record in everything}
    assert printed == set(RECORD_TYPES) - OF_OTHERS - {"message", "gap", "overlap"}
    lists = [word for kind in kinds.split(", ") for word in ("--type", kind)]
    assert records(*lists, PROBE) == found


def test_messages_follow_the_fpdu_that_completes_them() -> None:
    """A message is printed after its last FPDU, and before its connection's own record."""
    found = records("--type", "fpdu,message,connection", FIVE_CONNECTIONS)
    fpdus = 0
    for before, record in zip([None, *found], found, strict=False):
        fpdus += record["type"] == "fpdu"
        if record["type"] == "message":
            assert before is not None
            assert before["type"] == "fpdu"
            assert before["last"]
            assert (before["connection"], before["src"]) == (record["connection"], record["src"])
            assert record["complete"]
    assert sum(record["fpdus"] for record in found if record["type"] == "message") == fpdus


CUT_OFF = [
    ("private-data", 90, "PD 512 (16 captured)"),
    ("sctp-reject", 90, "IRD 16 ORD 16 PD 64 (20 captured), DDP-SSN 0, TSN 1000"),
    ("mpa-rev2-enhanced", 80, "IRD 32 ORD 16 PD 5 (2 captured)"),
]


@pytest.mark.parametrize(("preset", "snap", "shown"), CUT_OFF)
def test_private_data_that_was_cut_off(preset: str, snap: int, shown: str, tmp_path: Path) -> None:
    """A line shows how many octets there are by PD_Length, and how many were captured."""
    run("craft", preset, "--snap", snap, "-o", tmp_path / "cut.pcap")
    line, *_ = run("dissect", tmp_path / "cut.pcap").stdout.splitlines()
    assert line.endswith(shown)


def test_several_files() -> None:
    """Each file has its own heading and state. Connections are numbered on. JSON has no
    headings."""
    files = (FIVE_CONNECTIONS, TERMINATE, TERMINATE)
    text = run("dissect", *files).stdout
    headings = re.findall(r"^==> (.*) <==$", text, re.MULTILINE)
    assert headings == [str(file) for file in files]
    second, third = text.split(f"==> {TERMINATE} <==\n")[1:]
    alone = run("dissect", TERMINATE).stdout
    assert second == alone.replace("#0 ", "#5 ")
    assert third == alone.replace("#0 ", "#6 ")
    assert records("--connection", 6, *files) == [
        {**record, "connection": 6} for record in records(TERMINATE)
    ]


def test_layers() -> None:
    """Lines are the same. The layers stand below each startup frame and FPDU."""
    verbose = run("dissect", "-V", TERMINATE)
    assert verbose.exit_code == 1
    lines = verbose.stdout.splitlines()
    plain = [line for line in lines if not line.startswith(" " * 8)]
    assert plain == run("dissect", TERMINATE).stdout.splitlines()
    shown = re.findall(r"###\[ (MPA.*) \]###", verbose.stdout)
    assert shown == ["MPA Request", "MPA Reply", "MPA FPDU", "MPA FPDU"]
    assert lines[-1] == plain[-1]


def test_headers(tmp_path: Path) -> None:
    """For messages that are an RDMAP header, its fields follow those of the DDP header."""
    path = tmp_path / "headers.pcap"
    parse_scenario(
        "initiator immediate hex:0102030405060708\n"
        "initiator atomic fetch-add stag 0x10 to 0x20 original 41 add-or-swap-data 5\n"
        "initiator atomic cmp-swap stag 0x11 to 0x21 add-or-swap-data 8 compare-data 7 original 7\n"
        "initiator read 4 sink-stag 1 sink-to 2 src-stag 3 src-to 4"
    ).write(path)
    lines = run("dissect", "--type", "fpdu", path).stdout
    for shown in (
        "Immediate Data qn 0 msn 1 mo 0 8 octets L 0x0102030405060708,",
        "52 octets L FetchAdd 0x5 at stag 0x00000010 to 0x20,",
        "12 octets L was 0x29,",
        "52 octets L CmpSwap 0x8 if 0x7 at stag 0x00000011 to 0x21,",
        "28 octets L reads 4 of stag 0x00000003,",
    ):
        assert shown in lines

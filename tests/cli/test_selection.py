# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that select a part of a capture give what plain Python selects from all of it.

Times are among them.
"""

import io
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.utils import rdpcap

from scapy_mpa.capture import Frame, open_capture
from scapy_mpa.cli.reading import Reading
from scapy_mpa.cli.selection import Selection, Span, ranges, spans
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.records.tables import CAPTURE, CAPTURE_END, RECORD_TYPES
from scapy_mpa.stream.segment import SECOND
from tests.cli.command import LOSSY, PCAPS, PROBE, RPING, Record, lines_of, records, run
from tests.truth import pcapfile

ENDS_OF_CAPTURE = (CAPTURE, CAPTURE_END)
IPV6 = PCAPS / "rping_ipv6_mpa2_crcon.pcap"
ALL = ("--type", ",".join(RECORD_TYPES))


@lru_cache
def whole(path: Path) -> list[Record]:
    """All records of a capture."""
    return lines_of(run("dissect", "--json", *ALL, path).stdout)


class Place(NamedTuple):
    """A frame: its number, seconds after the first, and its IPv4 endpoints."""

    frame: int
    time: float
    ends: frozenset[str]


@lru_cache
def read(path: Path) -> list[Place]:
    """The frames of a capture, as Scapy reads it."""
    packets = rdpcap(str(path))
    return [
        Place(number, float(packet.time - packets[0].time), frozenset(_endpoints(packet)))
        for number, packet in enumerate(packets, 1)
    ]


def _endpoints(packet: Any) -> list[str]:
    if TCP not in packet:
        return []
    ip, tcp = packet[IP], packet[TCP]
    return [f"{ip.src}:{tcp.sport}", f"{ip.dst}:{tcp.dport}"]


def frames(record: Record) -> set[int]:
    """The frame with which a record was found, and those that brought its octets."""
    brought = [frame for part in record.get("parts", ()) for frame in part["frames"]]
    return {record["frame"], *record.get("frames", ()), *brought}


def date(path: Path, seconds: float) -> str:
    """The date of so many seconds after the first frame."""
    first = float(rdpcap(str(path), 1)[0].time)
    return datetime.fromtimestamp(first + seconds, timezone.utc).isoformat()


def is_of(record: Record, numbers: Iterable[int]) -> bool:
    """True if a record belongs to one of these connections, or to none."""
    return record.get("connection") in (*numbers, None)


def has(record: Record, pattern: str) -> bool:
    """True if an endpoint matches, or if there is none."""
    ends = [record[name] for name in ("src", "dst") if name in record]
    return not ends or any(re.fullmatch(pattern, each) for each in ends)


def sides(record: Record, name: str) -> list[Any]:
    """The values of both sides of a connection."""
    return list(record[name].values()) if record["type"] == "connection" else []


Pick = Callable[[Record], bool]

OF_CONNECTIONS: list[tuple[Path, str, Pick]] = [
    (PROBE, "--connection 53", lambda each: is_of(each, [53])),
    (PROBE, "--connection 9,11-13 --connection 53", lambda each: is_of(each, [9, 11, 12, 13, 53])),
    (PROBE, "--connection 120-", lambda each: is_of(each, range(120, 127))),
    (PROBE, "--connection ' -1 , 5'", lambda each: is_of(each, [0, 1, 5])),
    (PROBE, "--port 7176", lambda each: has(each, r".*:7176")),
    (PROBE, "--port 7176 --port 54884", lambda each: has(each, r".*:(7176|54884)")),
    (PROBE, "--host 10.0.2.15 --port 7174", lambda each: has(each, r"10\.0\.2\.15:7174")),
    (PROBE, "--host 10.0.2.2 --port 7174", lambda each: "src" not in each),
    (PROBE, "--host 10.0.2.0/29 --connection 0-20", lambda each: is_of(each, range(21))),
    (PROBE, "--host 10.0.2.0/31 --host ::/0", lambda each: "src" not in each),
    (IPV6, "--host FD00:7:0::1", lambda each: True),
    (IPV6, "--host '[fd00:7::1]' --host 0.0.0.0/0", lambda each: True),
    (IPV6, "--host fd00:8::/32 --host 0.0.0.0/0", lambda each: "src" not in each),
]
"""A capture, options, and which records belong to the connections that they select."""

WITHIN: list[tuple[Path, str, Callable[[Place], bool]]] = [
    (LOSSY, "--frames 100-200", lambda at: 100 <= at.frame <= 200),
    (LOSSY, "--frames -9,460-", lambda at: at.frame <= 9 or at.frame >= 460),
    (LOSSY, "--frames 9 --frames 12", lambda at: at.frame in (9, 12)),
    (LOSSY, "--between 0.1 0.5", lambda at: 0.1 <= at.time <= 0.5),
    (PROBE, "--frames 1000", lambda at: at.frame == 1000),
    (PROBE, "--frames 700-720,90", lambda at: at.frame in (90, *range(700, 721))),
    (PROBE, "--between 5.5 20", lambda at: 5.5 <= at.time <= 20),
    (PROBE, "--between -1 7 --between 99 999999", lambda at: at.time <= 7 or at.time >= 99),
    (PROBE, f"--between {date(PROBE, 3)} {date(PROBE, 60)}", lambda at: 3 <= at.time <= 60),
    (PROBE, "--frames 300- --between 5.5 20", lambda at: at.frame >= 300 and 5.5 <= at.time <= 20),
]
"""A capture, options, and which frames they select."""


def found_within(path: Path, is_selected: Callable[[Place], bool]) -> Pick:
    """Select the records that have octets of a selected frame."""
    chosen = {each.frame for each in read(path) if is_selected(each)}
    return lambda each: each["type"] not in ENDS_OF_CAPTURE and bool(chosen & frames(each))


def sent_within(path: Path, is_selected: Callable[[Place], bool]) -> Pick:
    """Select the connections that have a segment in a selected frame."""
    seen = {each.ends for each in read(path) if is_selected(each)}
    return lambda each: {each.get("src"), each.get("dst")} in seen


OF_ENDS: list[tuple[Path, str, Pick]] = [
    (PROBE, "--where 'errors>=2'", lambda each: each.get("errors", 0) >= 2),
    (LOSSY, "--where 'retransmitted>0'", lambda each: any(sides(each, "retransmitted"))),
    (LOSSY, "--where 'fpdus.src>50'", lambda each: sides(each, "fpdus")[:1] > [50]),
]
OF_RECORDS: list[tuple[Path, str, Pick]] = [
    *((path, options, found_within(path, chosen)) for path, options, chosen in WITHIN),
    *OF_ENDS,
    (PROBE, "--where type=error", lambda each: each["type"] == "error"),
    (PROBE, "--where 'not_followed.not TCP=6'", lambda each: each["type"] == CAPTURE_END),
    (
        PROBE,
        "--connection 40-60 --where out_of_order=false --frames 500-",
        lambda each: (
            40 <= each.get("connection", 0) <= 60
            and each.get("out_of_order") is False
            and max(frames(each)) >= 500
        ),
    ),
]
"""The same for records."""
IN_WINDOW = [(path, options, sent_within(path, chosen)) for path, options, chosen in WITHIN]
"""The same for connections."""


def is_finding(record: Record) -> bool:
    """True if a record is an error or a Terminate, or says that there was one."""
    is_terminated = (record.get("end") or {}).get("cause") == "terminate"
    is_wrong = record.get("errors") or record.get("crc") == "bad"
    is_terminate = record.get("message") == "Terminate"
    return bool(record["type"] == "error" or is_wrong or is_terminated or is_terminate)


@pytest.mark.parametrize(("path", "options", "pick"), OF_CONNECTIONS + OF_RECORDS)
def test_dissect(path: Path, options: str, pick: Pick) -> None:
    """JSON has the selected records, and text as many lines. Only these records decide the exit
    status."""
    expected = [each for each in whole(path) if pick(each)]
    result = run("dissect", "--json", *ALL, *shlex.split(options), path)
    assert lines_of(result.stdout) == expected
    assert result.exit_code == any(map(is_finding, expected))
    lines = run("dissect", *shlex.split(options), path).stdout.splitlines()
    usual = [each for each in expected if "src" in each and each["type"] != "message"]
    assert len(lines) == len(usual)


@pytest.mark.parametrize(("path", "options", "pick"), OF_CONNECTIONS + OF_ENDS + IN_WINDOW)
def test_summary(path: Path, options: str, pick: Pick) -> None:
    """Only selected connections are shown. The status is 1 if one of them has an error, at any
    time."""
    of_summary = (CAPTURE, "connection", CAPTURE_END)
    expected = [each for each in whole(path) if each["type"] in of_summary and pick(each)]
    numbers = sorted(each["connection"] for each in expected if "connection" in each)
    result = run("summary", "--json", *shlex.split(options), path)
    assert lines_of(result.stdout) == expected
    assert result.exit_code == any(map(is_finding, expected))
    table = run("summary", "--all", "--wide", *shlex.split(options), path).stdout
    rows = [int(line.split()[0]) for line in table.splitlines()[1:]]
    assert rows == numbers
    assert numbers or table == "no connections are selected\n"


@lru_cache
def cleaned(path: Path) -> list[tuple[bytes, frozenset[str]]]:
    """The frames of a capture that is cleaned as a whole, and the endpoints of each."""
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "all.pcap"
        assert run("clean", path, "-q", "-o", target).exit_code == 0
        octets = [bytes(packet) for packet in rdpcap(str(target))]
        return [(each, found) for each, (*_, found) in zip(octets, read(target), strict=True)]


OF_CLEAN = [*OF_CONNECTIONS[:2], *OF_CONNECTIONS[4:9], *OF_ENDS, *IN_WINDOW]


@pytest.mark.parametrize(("path", "options", "pick"), OF_CLEAN)
def test_clean(tmp_path: Path, path: Path, options: str, pick: Pick) -> None:
    """The frames of the selected connections are those of the capture cleaned as a whole."""
    target = tmp_path / "some.pcap"
    assert run("clean", path, "-q", "-o", target, *shlex.split(options)).exit_code == 0
    picked = [each for each in whole(path) if each["type"] == "connection" and pick(each)]
    ends = [{each["src"], each["dst"]} for each in picked]
    expected = [octets for octets, found in cleaned(path) if found in ends]
    assert bool(expected) == bool(picked)
    assert [bytes(packet) for packet in rdpcap(str(target))] == expected


@pytest.mark.parametrize("kind", ["fpdu", "message"])
def test_selection_by_payload(kind: str) -> None:
    """``--where payload~`` works whether payload is printed or not."""
    key = b"rdma-ping-1: ".hex()
    printed = records("--payload", "--type", kind, RPING)
    expected = [each for each in printed if key in each["payload"]]
    assert expected
    options = "--type", kind, "--where", f"payload~{key}"
    assert records("--payload", *options, RPING) == expected
    for each in expected:
        del each["payload"]
    assert records(*options, RPING) == expected


def test_connections_that_go_on() -> None:
    """``summary --every`` shows those that have a segment from the selected frames."""
    frames: list[Frame] = []
    for port in 1, 2, 3:
        ends = f"endpoints 10.0.0.1:{port} 10.0.0.2:4000"
        frames += parse_scenario(f"{ends}\ninitiator send 4").frames()
    chosen = Selection(frames=ranges(["-3"], 1), is_of_connections=True)
    capture = open_capture(io.BytesIO(pcapfile.pcap(each.octets for each in frames)))
    reading = Reading(capture, selection=chosen, live=True)
    assert {each.connection.number for _ in reading.rows() for each in reading.standing()} == {0}


def test_clean_of_pipes_and_damaged_captures(tmp_path: Path) -> None:
    """Nothing is written if a pipe would have to be read twice.

    The readable beginning of a damaged capture is written, though connections may be missing.
    """
    target = tmp_path / "clean.pcapng"
    read_end, write_end = os.pipe()
    os.write(write_end, RPING.read_bytes())
    os.close(write_end)
    for name in ("-", f"/dev/fd/{read_end}"):
        result = run("clean", "--between", 1, 2, name, "-o", target, stdin=RPING.read_bytes())
        assert (result.exit_code, target.exists()) == (2, False)
        assert "save it to a file first" in result.stderr
    os.close(read_end)
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(RPING.read_bytes()[:-30])
    result = run("clean", "-q", "--connection", "0,2", cut, "-o", target)
    assert (result.exit_code, len(rdpcap(str(target)))) == (2, 50)
    assert "inside a frame" in result.stderr and "no connection" not in result.stderr


VALUES = st.text() | st.text("0123456789-:.,/ TZ+") | st.text("cr=<>!~[](){}*\\0x.")


@given(
    st.sampled_from(["--connection", "--host", "--frames", "--where", "--between"]), VALUES, VALUES
)
def test_any_text(option: str, text: str, other: str) -> None:
    """Any text gives a result, or one line that says what is wrong."""
    key = other if option == "--between" else f"crc{text}"
    more = [other] if option == "--between" else ["--where", key]
    result = run("summary", option, text, *more, RPING)
    assert result.exit_code in (0, 2)
    assert (result.exit_code == 2) == bool(result.stderr)


NOTHING = [
    (("--host", "1.2.3.4"), True),
    (("--port", 9), True),
    (("--between", 9000, 9001), True),
    (("--frames", 1), True),
    (("--where", "ulpdu_length>60000"), True),
    (("--where", "any=795c0a00", "--type", "message"), True),
    (("--where", "any=795c0a00", "--json"), True),
    (("--where", "type=capture", "--json"), False),
    # A type without records needs no message.
    (("--port", 7174, "--type", "overlap"), False),
    ((), False),
]


@pytest.mark.parametrize(("options", "is_reported"), NOTHING)
def test_nothing_is_selected(options: tuple[object, ...], is_reported: bool) -> None:
    """If nothing is selected, one line says why, for any number of files."""
    message = run("dissect", *options, RPING, RPING).stderr
    what = "hosts, ports, times, frames and conditions"
    line = f"scapy-mpa: nothing was found for the selected {what}\n"
    assert message == line * is_reported


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)

zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def span(begin: str, end: str) -> Span:
    """The time between two moments."""
    return spans([(begin, end)])[0]


@given(st.datetimes(timezones=zones), st.integers(0, 999), st.sampled_from("T "))
def test_dates(date: datetime, more: int, between: str) -> None:
    """Dates as Python writes them, with nanoseconds, in any zone. The default is UTC."""
    time_ns = (date - EPOCH) // MICROSECOND * 1000 + more
    text = date.isoformat(between, "microseconds")
    clock, zone = text[:26], text[26:]
    for written in (f"{clock}{more:03d}{zone}", f"{clock}{more:03d}{zone.replace(':', '')}"):
        found = span(written, written)
        assert found.holds(time_ns, 5) and not found.holds(time_ns + 1, 5)
        assert not found.holds(time_ns - 1, 5)
    whole = date.replace(microsecond=0, tzinfo=timezone.utc)
    seconds = (whole - EPOCH) // MICROSECOND * 1000
    for written in (f"{clock[:19]}Z", clock[:19]):
        assert span(written, written).begin.earliest == seconds
    day = (whole.replace(hour=0, minute=0, second=0) - EPOCH) // MICROSECOND * 1000
    assert span(clock[:10], clock[:16]).begin.earliest == day


@given(st.integers(1 - 10**12, 10**12 - 1), st.integers(0, 9), st.integers(-(2**63), 2**63))
def test_seconds(number: int, digits: int, first: int) -> None:
    """Seconds since the first frame. With six digits or fewer, all times shown so are included."""
    seconds = Decimal(number).scaleb(-digits)
    time_ns = first + int(seconds * SECOND)
    found = span(f"{seconds:f}", f"{seconds:f}")
    slack = 500 if digits <= 6 else 0
    for ahead in (-501, -500, -1, 0, 1, 500, 501):
        assert found.holds(time_ns + ahead, first) == (abs(ahead) <= slack)

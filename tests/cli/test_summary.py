# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of ``summary``: connections, and with ``--timing`` latencies and rates."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.capture import open_capture
from scapy_mpa.cli import timing
from scapy_mpa.craft import Conversation
from scapy_mpa.craft.mutations import find
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import ConnectionId, MessageRecovered
from scapy_mpa.wire.rdmap_names import Opcode
from tests.cli.command import LOSSY, PCAPS, PROBE, cells, parsed, run
from tests.truth import pcapfile

ABSENT = PCAPS / "listener_absent.pcap"

TABLE = """\
#  Initiator          Responder         Dialect  Rev  M    CRC  FPDUs  Octets  Seconds  OoO  Ahead\
  Late  Rexmit  Stalls  Gaps    IRD    ORD  RTR  Err  Ended
0  192.168.7.1:46132  192.168.7.2:7175  rfc6581    2  0/0  on     1/1   56/88    0.162  0/0    0/0\
   0/0     0/0       0   0/0  16/16  16/16  -      0  terminated by R
"""
"""Octets: 24 of the Request and 32 of an FPDU; 40 of the Reply and 48 of the Terminate."""


def test_table() -> None:
    """The table of one connection that carried MPA."""
    result = run("summary", "--wide", PCAPS / "term_sendnorecv.pcap")
    assert result.stdout == TABLE
    assert result.exit_code == 1


def test_check(tmp_path: Path) -> None:
    """``--check`` counts what a receiver above MPA must not accept, as a finding."""
    path = tmp_path / "qn.pcapng"
    find("rfc5041/7.1/qn-unknown").case(1).conversation.write(path)
    for options, errors in ((), 0), (("--check",), 1):
        assert cells(*options, path)["Err"] == str(errors)
        records = run("summary", "--json", *options, path)
        assert parsed(records.stdout)[0]["errors"] == errors
        assert run("summary", *options, path).exit_code == records.exit_code == errors


def test_tcp_without_mpa_is_counted() -> None:
    """Connections of other protocols are counted in one line."""
    assert run("summary", ABSENT).stdout == "1 TCP connection without MPA (--all lists it)\n"
    *_, last = run("summary", "--wide", PROBE).stdout.splitlines()
    # One connection carries HTTP, one sends nothing. One ends within the header of its Request,
    # which is an error (RFC 5044 8).
    assert last == "2 TCP connections without MPA (--all lists them)"


def test_loss_before_the_capture() -> None:
    """Segments that fill a hole are late.  What a side left open is marked."""
    shown = cells(LOSSY)
    assert (shown["Late"], shown["Rexmit"]) == ("17/0", "0/32")
    assert "reset by I!\n" in run("summary", LOSSY).stdout


def test_roles_that_are_not_known(tmp_path: Path) -> None:
    """The table does not claim to know the Initiator, nor who sent the Requests."""
    path = tmp_path / "late.pcap"
    with open_capture(LOSSY) as capture:
        frames = [frame.octets for frame in capture.raw_frames]
    path.write_bytes(pcapfile.pcap(frames[119:]))
    table, timing = run("summary", "--timing", path).stdout.split("\n\n")
    assert table.split("\n")[1].split()[1:3] == ["192.168.7.2:7175?", "192.168.7.1:47945?"]
    assert "reset by R?!\n" in table
    *rows, last = timing.splitlines()[1:]
    assert last == "not counted: 1 Response whose Request is not known"
    found = [row.split()[:4] for row in rows]
    assert found == [["0", "I?", "Read", "0"], ["0", "R?", "Read", "2"]]


def test_all_lists_them() -> None:
    """``--all`` makes a row of each connection."""
    heading, row = run("summary", "--all", "--wide", ABSENT).stdout.splitlines()
    assert heading.startswith("#  Initiator")
    cells = "0 192.168.7.1:53075 192.168.7.2:7999 - - -/- - 0/0"
    assert row.split()[:8] == cells.split()
    assert len(run("summary", "--all", "--wide", PROBE).stdout.splitlines()) == 1 + 127


def timings(path: Path) -> list[list[str]]:
    """The lines of the second table, split into cells."""
    table = run("summary", "--timing", path).stdout.partition("\n\n")[2]
    return [line.split() for line in table.splitlines()[1:]]


@pytest.mark.parametrize("count", [1, 2, 20, 100])
def test_percentiles(count: int, tmp_path: Path) -> None:
    """A percentile is the smallest latency that so many per cent do not exceed.

    Read number n takes 100 n + 1003 us, to the second segment of its Response.
    """
    conversation = Conversation()
    for number in range(count):
        conversation.initiator.read(bytes(2000), sink_to=number * 2000)
    now, made, done, ends = 1_700_000_000_000_000, [], 0, []
    for segment in conversation.segments():
        is_done = segment.side == 1 and 100 < len(segment.octets) < 1000
        done += is_done
        now += 100 * done + 3 if is_done else 1000
        made.append(replace(segment, time_ns=now * 1000))
        ends += [now] * is_done
    path = tmp_path / "reads.pcap"
    conversation.write(path, made)
    latencies = [100 * number + 1003 for number in range(1, count + 1)]
    ((number, by, kind, found, *ranks, rate, at_once, unanswered),) = timings(path)
    wanted = [latencies[-(-count * share // 100) - 1] for share in (50, 95, 99, 100)]
    assert (number, by, kind, int(found)) == ("0", "I", "Read", count)
    assert (at_once, unanswered) == ("1", "0")
    assert [float(each) for each in ranks] == wanted
    assert rate == (f"{(count - 1) * 10**6 / (ends[-1] - ends[0]):.0f}" if count > 1 else "-")


ANSWER = MessageRecovered(
    *(ConnectionId(0, bytes(12)), 1, 2, 10, Opcode.READ_RESPONSE),
    **{"answers": 1, "request_frame": 1, "captured": 2, "has_last": True, "stag": 1},
)
"""It came in frame 2, and its Request in frame 1."""


LEFT_OUT = [
    ({"answers": None, "has_last": False}, 1, "whose Request is not known"),
    ({"conflicts": 1}, 1, "whose segments contradict each other"),
    ({"request_frame": 3}, 1, "whose time is before that of the Request"),
    ({"request_frame": 4}, 1, "whose time is no longer remembered"),
    ({}, 0, "after the first 0"),
]


@pytest.mark.parametrize(("changes", "most", "why"), LEFT_OUT)
def test_responses_left_out(
    changes: dict[str, Any], most: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Responses that do not count are reported, those of connections that are shown."""
    monkeypatch.setattr(timing, "_MOST", most)
    clock = Clock()
    for frame in (1, 2, 3):
        clock.note(frame, 10 * frame)
    table = timing.Timing(clock)
    table.take([ANSWER._replace(**changes)] * 2)
    _, row, line = table.lines({0})
    assert row.split()[:4] == ["0", "I?", "Read", "0"]
    assert (row.split()[-1], line) == ("0", f"not counted: 2 Responses {why}")
    assert list(table.lines({1})) == ["no Responses to RDMA Reads or Atomics"]


@pytest.mark.parametrize(
    ("responses", "at_once"),
    [
        ("1-2 3-4", "1"),
        ("1-4 2-5 3-6", "3"),
        ("1-? 2-?", "2"),
        # A Response shows that earlier Requests were answered, of both kinds (RFC 5040 5.2.2).
        ("1-2 3-? 4-5 6-? 7-8", "1"),
        ("1-3 2-? 4-5 6-7", "2"),
        ("1-5 2-? 3-? 4-6", "4"),
        ("1-? A3-4 5-?", "1"),
    ],
)
def test_requests_outstanding_at_once(responses: str, at_once: str) -> None:
    """Of RDMA Reads: the frames of Request and Response, ``?`` if that lacks its end.

    ``A`` is an Atomic.
    """
    clock = Clock()
    for frame in range(1, 10):
        clock.note(frame, 10 * frame)
    table = timing.Timing(clock)
    for each in responses.split():
        begin, end = each.removeprefix("A").split("-")
        opcode = Opcode.ATOMIC_RESPONSE if each[0] == "A" else Opcode.READ_RESPONSE
        captured = int(end) if end != "?" else None
        changes = {"opcode": opcode, "request_frame": int(begin), "captured": captured}
        table.take([ANSWER._replace(**changes, has_last=end != "?")])
    row = next(line for line in table.lines({0}) if "Read" in line)
    assert row.split()[-2] == at_once


@pytest.mark.parametrize(
    ("steps", "count"), [("repeat 3 initiator read 100", 3), ("initiator read-request 100", 0)]
)
def test_slowest_of_the_selected_connections(steps: str, count: int, tmp_path: Path) -> None:
    """Only selected connections count. Without a latency the table is left out."""
    path = tmp_path / "reads.pcap"
    run("craft", "-", "-o", path, "--connections", 4, stdin=steps.encode())
    shown = run("summary", "--top", 5, "--where", "connection=2", path).stdout
    rows = [line.split()[0] for line in shown.partition("Latency us")[2].splitlines()[1:]]
    assert rows == ["2"] * count
    assert ("Latency us" in shown) is bool(count)


@pytest.mark.parametrize(
    ("name", "sides"), [("sctp_enhanced", ["I", "R"]), ("ift_speculative", ["I"])]
)
def test_sides_in_other_dialects(name: str, sides: list[str]) -> None:
    """The Initiator is known without startup frames of MPA, too."""
    assert [row[1] for row in timings(PCAPS / "crafted" / f"{name}.pcap")] == sides

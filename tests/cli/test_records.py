# SPDX-License-Identifier: GPL-2.0-or-later
"""Records: their schema, the first and the last, times and octets of messages, and their order."""

import json
import random
from datetime import datetime, timezone
from pathlib import Path

import fastjsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import walk
from scapy_mpa.cli import sorting
from scapy_mpa.cli.sorting import HELD_NS, Sorter
from scapy_mpa.craft import Conversation
from scapy_mpa.records.tables import RECORD_TYPES
from tests.captures import CRAFTED, PCAPS, REAL, capture_name
from tests.cli.command import LOSSY, Record, lines_of, records, run
from tests.cli.test_ring import frames_of
from tests.schema import validator

ONE, OTHER = PCAPS / "rping_mpa2_crcon.pcap", PCAPS / "term_sendnorecv.pcap"
OF_CAPTURES = ("capture", "capture_end")
EXACT = 1 << 53
"""The largest integers that readers with only floating-point numbers keep exactly."""


def exact(text: str) -> int:
    """An integer that every reader keeps exactly."""
    assert abs(int(text)) <= EXACT
    return int(text)


def test_schema_has_all_types() -> None:
    """The schema has every type, and distinguishes them."""
    printed = json.loads(run("schema").stdout)
    wanted = [{"$ref": f"#/definitions/{kind}_record"} for kind in RECORD_TYPES]
    assert sorted(map(str, printed["oneOf"])) == sorted(map(str, wanted))
    check = fastjsonschema.compile(printed)
    for record in lines_of(run("summary", "--json", ONE).stdout):
        check(record)
        for key in record:
            with pytest.raises(fastjsonschema.JsonSchemaValueException):
                check({name: record[name] for name in record if name != key})
        with pytest.raises(fastjsonschema.JsonSchemaValueException):
            check({**record, "more": None})


@pytest.mark.examples
@pytest.mark.parametrize("path", REAL + CRAFTED, ids=capture_name)
def test_lines_match_the_schema(path: Path) -> None:
    """Lines match the schema under any options. Numbers fit in 53 bits."""
    options = ("--json", "--type", ",".join(RECORD_TYPES), "--payload", "--check")
    for line in run("dissect", *options, path).stdout.splitlines():
        record = json.loads(line, parse_int=exact)
        validator(record["type"])(record)


def around(path: Path) -> tuple[Record, Record]:
    """The first and the last record of a capture whose frames were all followed."""
    times = [at for at, _ in frames_of(path)]
    begin = None
    if times:
        second = datetime.fromtimestamp(times[0] // 1_000_000, timezone.utc)
        begin = f"{second:%FT%T}.{times[0] % 1_000_000:06}000Z"
    return (
        {"type": "capture", "version": 1, "file": str(path), "timestamp": begin},
        {"type": "capture_end", "file": str(path), "frames": len(times), "not_followed": {}},
    )


@pytest.mark.parametrize("command", ["dissect", "summary"])
def test_first_and_last_record(command: str, tmp_path: Path) -> None:
    """Each file has both, and all others stand between them. A capture without frames has only
    these two."""
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(ONE.read_bytes()[:24])
    found = lines_of(run(command, "--json", ONE, empty, OTHER).stdout)
    kinds = [each["type"] for each in found]
    for path in (ONE, empty, OTHER):
        begin, end = around(path)
        assert found[0] == begin
        at = kinds.index("capture_end")
        assert found[at] == end
        assert (at > 1) == (path != empty)
        assert not set(OF_CAPTURES) & set(kinds[1:at])
        del found[: at + 1], kinds[: at + 1]
    assert not found


LONG = {
    "Send": random.Random(1).randbytes(4000),
    "RDMA Read Response": random.Random(3).randbytes(4000),
}


def messages(path: Path) -> dict[str, Record]:
    """The long messages of a capture, by name."""
    found = records("--type", "message", "--payload", path)
    return {each["message"]: each for each in found if each["fpdus"] > 1}


@pytest.mark.parametrize("name", LONG)
def test_octets_of_messages(name: str, tmp_path: Path) -> None:
    """Octets are complete over any number of DDP segments. Missing ones are zeros, and
    ``missing`` lists them."""
    talk = Conversation(markers=True)
    talk.initiator.send(LONG["Send"])
    talk.initiator.read(LONG["RDMA Read Response"])
    talk.initiator.send(b"last")
    talk.close()
    path = tmp_path / "hole.pcap"
    talk.write(path)
    whole = messages(path)[name]
    assert whole["payload"] == LONG[name].hex()
    hole = whole["parts"][1]
    segments = talk.segments()
    del segments[hole["frames"][0] - 1]
    talk.write(path, segments)
    begin = int(str(hole["offset"]), 0)
    end = begin + hole["length"]
    found = messages(path)[name]
    assert found["missing"] == [[hole["offset"], hole["length"]]]
    assert not found["complete"]
    assert found["payload"] == (LONG[name][:begin] + bytes(end - begin) + LONG[name][end:]).hex()


REORDERED = PCAPS / "netem_reorder25_at_client_A.pcap.gz"
TYPES = ("--type", "startup,fpdu,message,gap,error,connection")


def captured(record: Record) -> int:
    """The frame of the record's last octet, or that with which it was found if it has none."""
    return int((record.get("captured") or record)["frame"])


@pytest.mark.parametrize("path", [LOSSY, REORDERED], ids=["lossy", "reordered"])
def test_same_records_in_order(path: Path) -> None:
    """Records of one frame keep their order."""
    found = records(*TYPES, path)
    assert records(*TYPES, "--sort", "frame", path) == sorted(found, key=captured)
    lines = run("dissect", *TYPES, "--sort", "frame", path).stdout.splitlines()
    assert [int(line.split()[0]) for line in lines] == sorted(map(captured, found))


def test_late_records_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that is too late stands where it was found, marked ``late``."""
    monkeypatch.setattr(walk, "_ROWS", 1)
    monkeypatch.setattr(sorting, "HELD_OCTETS", 0)
    found = records(*TYPES, "--sort", "frame", LOSSY)
    late = [each.pop("late") for each in found if "late" in each]
    assert late and all(late)
    assert sorted(found, key=str) == sorted(records(*TYPES, LOSSY), key=str)
    text = run("dissect", *TYPES, "--sort", "frame", LOSSY).stdout
    assert len([line for line in text.splitlines() if line.endswith(", late")]) == len(late)


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 4))))
def test_any_order(given: list[tuple[int, int]]) -> None:
    """A text waits for HELD_NS. Each comes once, and in order unless it is late.

    Those of a file wait for its end, also before 1970.
    """
    sorter, out, on_time, now = Sorter(is_live=True), b"", [], 0
    of_file = Sorter(is_live=False)
    for frame, wait in given:
        if not sorter.is_late(frame):
            on_time.append(frame)
        sorter.add(frame, now, bytes([frame]))
        of_file.add(frame, now - 10**18, bytes([frame]))
        assert not of_file.due(now)
        now += wait * HELD_NS // 4
        out += sorter.due(now)
    out += sorter.rest()
    assert sorted(out) == list(of_file.rest()) == sorted(frame for frame, _ in given)
    if len(on_time) == len(given):
        assert list(out) == sorted(on_time)

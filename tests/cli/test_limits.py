# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that set limits, and what is reported of octets dropped because of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.cli.summary import summary
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.stream.limits import Limits
from tests.cli.command import FIVE_CONNECTIONS, parsed, run

RAISED_BY = "it can be raised by --limit-half, --limit-total or --limit-connections"


def values(*arguments: str) -> list[Any]:
    """The values of the options, in the order of the fields of Limits."""
    context = summary.make_context("test", [*arguments, "file"])
    names = ("half", "total", "connections", "idle")
    return [context.params[f"limit_{name}"] for name in names]


def test_defaults() -> None:
    """The defaults are those of the stream core."""
    assert Limits(*values()) == Limits()


def test_sizes() -> None:
    """Sizes have powers of 1000 and of 1024."""
    sizes = {"1": 1, "1500": 1500, "500k": 500_000, "16M": 16_000_000, "2G": 2_000_000_000}
    sizes |= {"64Ki": 1 << 16, "16Mi": 1 << 24, "1Gi": 1 << 30}
    for text, octets in sizes.items():
        assert values("--limit-half", text, "--limit-total", text)[:2] == [octets] * 2


def test_gaps(tmp_path: Path) -> None:
    """Dropped octets are gaps. They are counted, and the message says what to do."""
    path = tmp_path / "cut.pcap"
    sends = "initiator send 8000\nresponder send 8000\n" * 3
    parse_scenario(f"mss 500\npacking stream\nmulpdu 9000\n{sends}").write(path)
    limited = ("--limit-half", 1000, path)
    found = parsed(run("dissect", "--json", *limited).stdout)
    gaps = [record for record in found if record["type"] == "gap"]
    assert gaps
    assert {record["reason"] for record in gaps} == {"limit"}
    for command in (["dissect"], ["summary"], ["clean", "-q", "-o", tmp_path / "clean.pcapng"]):
        assert run(*command, path).stderr == ""
        result = run(*command, *limited)
        assert result.exit_code == 0
        assert result.stderr == (
            f"scapy-mpa: {path}: {len(gaps)} gaps because of a limit; {RAISED_BY}\n"
        )
    (record,) = parsed(run("summary", "--json", *limited).stdout)
    assert record["gaps"]["src"] + record["gaps"]["dst"] == len(gaps)


@pytest.mark.parametrize("command", ["dissect", "summary"])
def test_connections(command: str) -> None:
    """Connections that a limit ended are reported in the same way."""
    result = run(command, "--json", "--limit-connections", 4, FIVE_CONNECTIONS)
    ended = [each for each in parsed(result.stdout) if each.get("ended") == "limit"]
    assert ended
    assert f"{len(ended)} connection" in result.stderr
    assert RAISED_BY in result.stderr

# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line as tests run it: inside this process, or as a process of its own."""

import json
import os
import subprocess
import sys
from typing import Any

from click.testing import CliRunner, Result

from scapy_mpa.cli.group import cli
from tests.captures import PCAPS, ROOT

RPING = PCAPS / "rping_mpa2_crcon.pcap"
"""A plain connection without errors."""
PROBE = PCAPS / "live_siw_probe_guest_eth0.pcap.gz"
"""127 connections with many errors."""
LOSSY = PCAPS / "netem_loss15_heavy_crcoff_at_server_B.pcap.gz"
FIVE_CONNECTIONS = PCAPS / "2vm_perf_write_bw_q4_crcon.pcap.gz"
PYTHON = [sys.executable, "-c"]
COMMAND = [sys.executable, "-m", "scapy_mpa"]

Record = dict[str, Any]


def run(*arguments: object, stdin: bytes | None = None) -> Result:
    """Run a command inside this process."""
    result = CliRunner().invoke(cli, [str(each) for each in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def records(*arguments: object) -> list[Record]:
    """The records of connections that ``dissect --json`` prints."""
    return parsed(run("dissect", "--json", *arguments).stdout)


def parsed(text: str) -> list[Record]:
    """Lines of JSON, without the first and the last record of each capture."""
    return [each for each in lines_of(text) if each.get("type") not in ("capture", "capture_end")]


def lines_of(text: str) -> list[Record]:
    """Lines of JSON."""
    return [json.loads(line) for line in text.splitlines()]


def cells(*arguments: object) -> dict[str, str]:
    """The only row of the table that ``summary --wide`` prints, by heading."""
    headings, row = run("summary", "--wide", *arguments).stdout.splitlines()
    return dict(zip(headings.split(), row.split(), strict=False))


def environment(**variables: str) -> dict[str, str]:
    """The environment of a process that finds this checkout from any directory."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **variables}


def process(
    *arguments: object, start: list[str] = COMMAND, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """Run a command, or code after ``PYTHON``, as a process of its own."""
    return subprocess.run(
        [*start, *map(str, arguments)],
        check=False,
        timeout=60,
        **{"capture_output": True, "env": environment(), **options},
    )

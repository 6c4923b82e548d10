# SPDX-License-Identifier: GPL-2.0-or-later
"""How a command starts."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.command import COMMAND, PCAPS, environment, process

_PROGRAM = """
import sys
from scapy_mpa.cli.start import import_crc32c_alone
import_crc32c_alone()
import crc32c
print(crc32c.crc32c(b"123456789"), "importlib.metadata" in sys.modules)
"""


def test_commands_take_the_shortcut() -> None:
    """A command that reads a capture has not looked through the installed packages either."""
    capture = PCAPS / "rping_mpa2_crcon.pcap"
    program = (
        "import sys\n"
        "from scapy_mpa.cli.main import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    print('importlib.metadata' in sys.modules, file=sys.stderr)\n"
    )
    for command in ("dissect", "summary"):
        done = subprocess.run(
            [sys.executable, "-c", program, command, str(capture)], capture_output=True, check=True
        )
        assert done.stderr == b"False\n"


def test_crc32c_comes_without_its_package() -> None:
    """The function is there and right, and the installed packages were not looked through."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    )
    # The check value of CRC-32C in the catalogue of CRC algorithms (RFC 3720 B.4 has others).
    assert done.stdout.split() == [str(0xE3069283), "False"]


@pytest.mark.parametrize("command", ["dissect", "summary"])
@pytest.mark.parametrize(
    "names",
    [
        ["rping_mpa2_crcon.pcap"],
        ["p2p_rtr_read_crcon.pcap", "reject_pdata.pcap", "mix_mpa0_crcoff.pcap"],
        ["README.md"],
        ["no-such-file.pcap", "listener_absent.pcap"],
    ],
    ids=" ".join,
)
def test_files_alone_are_read_as_with_options(command: str, names: list[str]) -> None:
    """Without options everything is as with an option that says what holds anyway."""
    files = [PCAPS / name for name in names]
    plain = process(command, *files)
    parsed = process(command, "--limit-idle", 7200, *files)
    assert plain.stdout == parsed.stdout
    assert plain.stderr == parsed.stderr
    assert plain.returncode == parsed.returncode


def test_files_alone_need_no_parser() -> None:
    """What parses options is imported only where there may be some to parse.

    Either way cycles are collected while the command runs.
    """
    program = (
        "import gc, sys\n"
        "from scapy_mpa.cli.main import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    print(end.code, 'click' in sys.modules, gc.isenabled(), file=sys.stderr)\n"
    )
    capture = str(PCAPS / "rping_mpa2_crcon.pcap")
    octets = (PCAPS / "rping_mpa2_crcon.pcap").read_bytes()
    for arguments, outcome in (
        (["dissect", capture], b"0 False True\n"),
        (["summary", capture, "-"], b"0 False True\n"),
        (["dissect", "--json", capture], b"0 True True\n"),
        (["summary", "--help"], b"0 True True\n"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            capture_output=True,
            check=True,
            input=octets,
            env=environment(),
        )
        assert done.stderr == outcome


@pytest.mark.parametrize("arguments", [[], ["dissect"], ["summary"], ["dissekt", "x.pcap"]])
def test_what_is_missing_is_said(arguments: list[str]) -> None:
    """A command line that lacks something, or has a wrong word, is answered with its usage."""
    done = process(*arguments)
    assert done.returncode == 2
    assert b"Usage: scapy-mpa" in done.stdout + done.stderr


def test_shells_are_given_completions() -> None:
    """What is typed so far may look like files and nothing else."""
    done = subprocess.run(
        [*COMMAND, "dissect", "x.pcap"],
        capture_output=True,
        check=False,
        env=environment(
            _SCAPY_MPA_COMPLETE="bash_complete", COMP_WORDS="scapy-mpa summ", COMP_CWORD="1"
        ),
    )
    assert done.stdout == b"plain,summary\n"


def test_table_needs_little() -> None:
    """What a table of ordinary connections has no use for is not imported for it."""
    program = (
        "import sys\n"
        "from scapy_mpa.cli.main import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    parts = 'dataclasses', 'heapq', 'inspect', 'zlib', 'scapy_mpa.cli.lines', "
        "'scapy_mpa.records', 'scapy_mpa.stream.recovery', 'scapy_mpa.stream.halves.half', "
        "'scapy_mpa.stream.fpdus.framing', 'scapy_mpa.stream.inference.sight', "
        "'scapy_mpa.stream.startup.startup_phase', 'scapy_mpa.capture.pcapng'\n"
        "    print([part for part in parts if part in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "summary", str(PCAPS / "rping_mpa1_crcon.pcap")],
        capture_output=True,
        check=True,
        env=environment(),
        timeout=60,
    )
    assert done.stderr == b"[]\n"


_UNREAD = """
import sys, typing
import scapy_mpa.cli.overview
for name, module in sorted(sys.modules.items()):
    for made in vars(module).values() if name.startswith("scapy_mpa.") else ():
        if isinstance(made, type) and issubclass(made, tuple) and made.__module__ == name:
            fields = vars(made).get("__annotations__", {}).items()
            text = [field for field, what in fields if isinstance(what, typing.ForwardRef)]
            print(made, text, file=sys.stderr if text else sys.stdout)
"""


def test_named_tuples_need_no_compiler() -> None:
    """No annotation of those of a table is text, which would be compiled whenever one starts."""
    done = subprocess.run(
        [sys.executable, "-c", _UNREAD], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("\n") > 30
    assert done.stderr == ""

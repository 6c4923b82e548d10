# SPDX-License-Identifier: GPL-2.0-or-later
"""How a command starts."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scapy_mpa.cli.main import _serve
from tests.cli.command import COMMAND, PCAPS, RPING, environment, process, run

CAPTURES = ("scapy_mpa.capture", "scapy_mpa.stream", "scapy_mpa.wire")
PARSER = ("scapy", "click", "importlib.metadata")
SELDOM = ("dataclasses", "datetime", "inspect", "zlib", "scapy_mpa.cli.lines")
SELDOM += ("scapy_mpa.capture.pcapng",)

NOT_IMPORTED = [
    # Help is given without importing what reads captures.
    (("dissect", "--help"), ("scapy", *CAPTURES)),
    # What parses options is imported only where there may be some to parse.
    (("dissect", RPING), PARSER),
    (("summary", RPING, "-"), PARSER),
    # Scapy takes most of a second to import; only layer trees are worth that.
    (("dissect", "--json", "--type", "fpdu,message", "--payload", RPING), ("scapy",)),
    (("summary", "--json", RPING), ("scapy",)),
    # What a table of ordinary connections has no use for.
    (("summary", PCAPS / "rping_mpa1_crcon.pcap"), SELDOM),
]
"""Command lines, and what is not imported for them."""

_MAIN = """
import gc, sys
from scapy_mpa.cli.main import main
try:
    main()
except SystemExit as end:
    print(end.code, gc.isenabled(), *sys.modules, file=sys.stderr)
"""


def python(program: str, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    """A program that must end well; a capture is its standard input."""
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        input=RPING.read_bytes(),
        capture_output=True,
        check=True,
        env=environment(),
        timeout=60,
    )


def imported_by(*arguments: object) -> set[str]:
    """The modules that a command has imported at its end; cycles are collected by then."""
    done = python(_MAIN, *arguments)
    status, is_collecting, *modules = done.stderr.decode().split()
    assert (status, is_collecting) == ("0", "True")
    return set(modules)


@pytest.mark.parametrize(
    ("arguments", "missing"), NOT_IMPORTED, ids=lambda each: " ".join(map(str, each))
)
def test_what_is_not_imported(arguments: tuple[object, ...], missing: tuple[str, ...]) -> None:
    """A command is to start soon."""
    assert not imported_by(*arguments) & set(missing)


def test_what_is_imported() -> None:
    """There is something to leave out: what others need is imported by its name."""
    modules = imported_by(
        "dissect", "--json", PCAPS / "netem_loss15_heavy_crcoff_at_server_B.pcap.gz"
    )
    assert modules >= {"click", "scapy_mpa.records", "scapy_mpa.stream.recovery", *CAPTURES}


def test_a_shell_has_all_of_crc32c() -> None:
    """What else starts has its function alone."""
    assert process("shell", "-c", "from crc32c import CRC32CHash").returncode == 0


ALONE = (
    ["rping_mpa2_crcon.pcap"],
    ["p2p_rtr_read_crcon.pcap", "reject_pdata.pcap", "mix_mpa0_crcoff.pcap"],
    ["README.md"],
    ["no-such-file.pcap", "listener_absent.pcap"],
)


@pytest.mark.parametrize("command", ["dissect", "summary"])
def test_files_alone_are_read_as_with_options(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without options everything is as with an option that says what holds anyway."""
    for names in ALONE:
        files = [str(PCAPS / name) for name in names]
        monkeypatch.setattr(sys, "argv", ["scapy-mpa", command, *files])
        with pytest.raises(SystemExit) as plain:
            _serve()
        printed = capsys.readouterr()
        parsed = run(command, "--limit-idle", 7200, *files)
        assert (printed.out, printed.err) == (parsed.stdout, parsed.stderr)
        assert plain.value.code == parsed.exit_code


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
    done = python(_UNREAD)
    assert done.stdout.count(b"\n") > 30
    assert done.stderr == b""

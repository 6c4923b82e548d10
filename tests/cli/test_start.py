# SPDX-License-Identifier: GPL-2.0-or-later
"""The start of commands."""

import sys

import pytest

from scapy_mpa.cli.main import _serve
from tests.cli.command import LOSSY, PCAPS, PYTHON, RPING, environment, process, run

CAPTURES = ("scapy_mpa.capture", "scapy_mpa.stream", "scapy_mpa.wire")
PARSER = ("scapy", "click", "importlib.metadata")
RARE = ("dataclasses", "datetime", "inspect", "zlib", "scapy_mpa.cli.lines")
RARE += ("scapy_mpa.capture.pcapng",)

NOT_IMPORTED = [
    # Help needs no module that reads captures.
    (("dissect", "--help"), ("scapy", *CAPTURES)),
    # The parser of options is imported only if there may be options.
    (("dissect", RPING), PARSER),
    (("summary", RPING, "-"), PARSER),
    # Scapy takes most of a second to import. Only layer trees need it.
    (("dissect", "--json", "--type", "fpdu,message", "--payload", RPING), ("scapy",)),
    (("summary", "--json", RPING), ("scapy",)),
    # A table of ordinary connections does not need these.
    (("summary", PCAPS / "rping_mpa1_crcon.pcap"), RARE),
]
"""Command lines, and the modules that they do not import."""

_MAIN = """
import gc, sys
from scapy_mpa.cli.main import main
try:
    main()
except SystemExit as end:
    print(end.code, gc.isenabled(), *sys.modules, file=sys.stderr)
"""


def imported_by(*arguments: object) -> set[str]:
    """The modules that a command has imported at its end. The garbage collector is on then."""
    done = process(_MAIN, *arguments, start=PYTHON, input=RPING.read_bytes())
    status, is_collecting, *modules = done.stderr.decode().split()
    assert (status, is_collecting) == ("0", "True")
    return set(modules)


@pytest.mark.parametrize(
    ("arguments", "missing"), NOT_IMPORTED, ids=lambda each: " ".join(map(str, each))
)
def test_modules_not_imported(arguments: tuple[object, ...], missing: tuple[str, ...]) -> None:
    """Commands start fast because they import little."""
    assert not imported_by(*arguments) & set(missing)


def test_modules_imported() -> None:
    """The modules left out above exist: other commands import them by these names."""
    modules = imported_by("dissect", "--json", LOSSY)
    assert modules >= {"click", "scapy_mpa.records", "scapy_mpa.stream.recovery", *CAPTURES}


FILES_ALONE = (
    ["rping_mpa2_crcon.pcap"],
    ["p2p_rtr_read_crcon.pcap", "reject_pdata.pcap", "mix_mpa0_crcoff.pcap"],
    ["README.md"],
    ["no-such-file.pcap", "listener_absent.pcap"],
)


@pytest.mark.parametrize("command", ["dissect", "summary"])
def test_files_without_options(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files without options give the same as with the default of an option."""
    for names in FILES_ALONE:
        files = [str(PCAPS / name) for name in names]
        monkeypatch.setattr(sys, "argv", ["scapy-mpa", command, *files])
        with pytest.raises(SystemExit) as plain:
            _serve()
        printed = capsys.readouterr()
        parsed = run(command, "--limit-idle", 7200, *files)
        assert (printed.out, printed.err) == (parsed.stdout, parsed.stderr)
        assert plain.value.code == parsed.exit_code


def test_shell_completion() -> None:
    """An incomplete command line gets completions, although it may look like files only."""
    words = {"COMP_WORDS": "scapy-mpa summ", "COMP_CWORD": "1"}
    own = environment(_SCAPY_MPA_COMPLETE="bash_complete", **words)
    done = process("dissect", "x.pcap", env=own)
    assert done.stdout == b"plain,summary\n"

# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa shell`` as a person uses it, and as a script does."""

import os
import re
from pathlib import Path

import pytest

from scapy_mpa.craft import Conversation
from scapy_mpa.session import rdmpa
from scapy_mpa.shell import Loaded, banner, names, run_code
from tests.cli.command import PCAPS, environment, run
from tests.cli.running import on_terminal, posix
from tests.truth import pcapfile

RPING = str(PCAPS / "rping_mpa2_crcon.pcap")
MIX = str(PCAPS / "mix_mpa1_crcon.pcap")

PRINTED: dict[str, tuple[list[str], str, str]] = {
    # Arguments, standard input, and what is printed; {one} and {two} are packets of captures.
    "code": (
        [RPING, "-c", "print(len(pkts), RDMAPSend in pkts[-1] or FPDU in pkts[-1], IP in pkts[0])"],
        "",
        "{one} True True\n",
    ),
    "several files": (
        [RPING, MIX],
        "print(len(pkts), [len(packets) for packets in files.values()], *files)\n"
        "print(len(pkts.connections()), pkts[-1] == files[list(files)[-1]][-1])\n",
        f"{{both}} [{{one}}, {{two}}] {RPING} {MIX}\n2 True\n",
    ),
    "a script with blocks": (
        [RPING],
        "for packet in pkts[:2]:\n    if MPARequest in packet:\n        print('Request')\n\nx = 1\n"
        "print(x)\n",
        "Request\n1\n",
    ),
    "no capture": (
        [],
        "print(len(pkts), sniff.__module__, Conversation.__module__)\n",
        "0 scapy.sendrecv scapy_mpa.craft.conversation\n",
    ),
}


@pytest.mark.parametrize("what", PRINTED)
def test_code(what: str) -> None:
    """``-c`` or a script on standard input runs without prompts.

    The code has all layers, and the captures in ``pkts`` and, by name, in ``files``.
    """
    arguments, code, printed = PRINTED[what]
    done = run("shell", *arguments, stdin=code.encode())
    one, two = len(rdmpa(RPING)), len(rdmpa(MIX))
    assert done.stdout == printed.format(one=one, two=two, both=one + two)
    assert (done.stderr, done.exit_code) == ("", 0)


def test_capture_on_a_pipe() -> None:
    """``-`` is a capture on standard input. Then the code must be given with ``-c``."""
    octets = Path(RPING).read_bytes()
    done = run("shell", "-", "-c", "print(len(pkts), *files); raise SystemExit(7)", stdin=octets)
    assert (done.stdout, done.exit_code) == (f"{len(rdmpa(RPING))} -\n", 7)
    done = run("shell", "-", stdin=b"")
    assert done.exit_code == 2
    assert "give the code with -c" in done.stderr


@pytest.mark.parametrize(
    ("code", "words"), [("1 / 0", "ZeroDivisionError"), ("1 +", "SyntaxError"), ("\0", "null byte")]
)
def test_code_that_fails(code: str, words: str) -> None:
    """A failure prints a traceback with the line on standard error. The status is 1."""
    done = run("shell", stdin=f"print('before')\n{code}\n".encode())
    assert done.exit_code == 1
    assert words in done.stderr
    if code == "1 / 0":
        assert done.stdout == "before\n"
        assert 'File "<stdin>", line 2' in done.stderr
        assert "scapy_mpa" not in done.stderr


def test_missing_and_unusable_files(tmp_path: Path) -> None:
    """A missing file gives one line on standard error and status 2, and no code runs.

    A capture in which nothing can be followed gives a line, too, but the code runs.
    """
    done = run("shell", tmp_path / "none.pcap", "-c", "print(1)")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.endswith("there is no such file; check the name\n")
    path = tmp_path / "arp.pcap"
    path.write_bytes(pcapfile.pcap([bytes(12) + b"\x08\x06" + bytes(28)] * 3))
    done = run("shell", path, RPING, "-c", "print(len(files))")
    assert (done.exit_code, done.stdout) == (0, "2\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"scapy-mpa: {path}: nothing can be followed in 3 frames: 3 not IP; ")


@pytest.mark.parametrize("captures", [[], [RPING], [RPING, MIX]])
@pytest.mark.usefixtures("here")
def test_banner(captures: list[str]) -> None:
    """The banner shows what was loaded, and five lines to type."""
    Conversation().write("trace.pcap", [])
    loaded = Loaded(captures)
    shown = banner(loaded)
    assert len(shown.splitlines()) < 12
    for name in captures:
        assert name in shown
    lines = re.findall(r"^  (.*?) +# ", shown, re.MULTILINE)
    assert len(lines) == 5
    known = names(loaded)
    for line in lines:
        assert run_code(line, known, "<banner>"), line


@posix
@pytest.mark.parametrize("has_ipython", [False, True])
def test_terminal(has_ipython: bool, tmp_path: Path) -> None:
    """Python's console or IPython shows the banner, has ``pkts`` and the layers, and ends at
    exit()."""
    home = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), str(tmp_path))
    if has_ipython:
        pytest.importorskip("IPython")
    else:
        hidden = tmp_path / "hide"
        hidden.mkdir()
        # IPython cannot be imported.
        (hidden / "sitecustomize.py").write_text("import sys; sys.modules['IPython'] = None\n")
        home["PYTHONPATH"] = os.pathsep.join([str(hidden), environment()["PYTHONPATH"]])
    typed = "len(pkts) * 1000\nFPDU.__name__ * 2\nundefined\nexit()\n"
    home |= {"TERM": "dumb", "IPY_TEST_SIMPLE_PROMPT": "1"}
    shown = on_terminal("shell", RPING, typed=typed, **home).decode()
    count = len(rdmpa(RPING))
    for each in ("Worth typing:", f"pkts: {count} packets of {RPING}", f"{count * 1000}"):
        assert each in shown
    assert "FPDUFPDU" in shown and "NameError" in shown
    assert ("<console>" in shown) != has_ipython

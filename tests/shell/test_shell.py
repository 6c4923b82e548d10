# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa shell`` as a person uses it, and as a script does."""

from __future__ import annotations

import importlib.util
import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.craft import Conversation
from scapy_mpa.session import rdmpa
from scapy_mpa.shell import Loaded, banner, names, run_code
from tests.cli.command import COMMAND, PCAPS, environment, process
from tests.truth import pcapfile

RPING = str(PCAPS / "rping_mpa2_crcon.pcap")
MIX = str(PCAPS / "mix_mpa1_crcon.pcap")

posix = pytest.mark.skipif(os.name != "posix", reason="about POSIX terminals")


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment without anybody's settings."""
    return environment(
        HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path)
    )


def output(*arguments: str, stdin: str = "", status: int = 0) -> str:
    """What a process prints that reads ``stdin`` from a pipe."""
    done = process("shell", *arguments, input=stdin.encode())
    assert done.returncode == status, done.stderr.decode()
    return done.stdout.decode()


def test_code() -> None:
    """``-c`` runs code with the capture in ``pkts`` and all layers by name, and leaves."""
    code = "print(len(pkts), RDMAPSend in pkts[-1] or FPDU in pkts[-1], IP in pkts[0])"
    assert output(RPING, "-c", code) == f"{len(rdmpa(RPING))} True True\n"


def test_several_files() -> None:
    """They are in ``pkts`` one after the other, and in ``files`` by name."""
    code = "print(len(pkts), [len(packets) for packets in files.values()], *files)\n"
    one, two = len(rdmpa(RPING)), len(rdmpa(MIX))
    assert output(RPING, MIX, stdin=code) == f"{one + two} [{one}, {two}] {RPING} {MIX}\n"


def test_what_else_there_is_to_say_of_several_files() -> None:
    """Connections, gaps and errors of all of them."""
    loaded = Loaded([RPING, MIX])
    assert len(loaded.pkts.connections()) == 2
    assert loaded.pkts[-1] == loaded.files[MIX][-1]
    assert Loaded([MIX]).pkts is not None
    assert len(Loaded().pkts) == 0


def test_script_on_a_pipe() -> None:
    """Standard input is run as a script, blocks and all, without prompts."""
    code = (
        "for packet in pkts[:2]:\n    if MPARequest in packet:\n        print('Request')\n\nx = 1\n"
    )
    assert output(RPING, stdin=f"{code}print(x)\n") == "Request\n1\n"
    assert output(stdin="") == ""


def test_capture_on_a_pipe() -> None:
    """``-`` is a capture on standard input; then the code must be elsewhere."""
    with open(RPING, "rb") as file:
        done = process("shell", "-", "-c", "print(len(pkts), *files)", input=file.read())
    assert done.stdout.decode() == f"{len(rdmpa(RPING))} -\n"
    done = process("shell", "-", input=b"")
    assert done.returncode == 2
    assert b"give the code with -c" in done.stderr


@pytest.mark.parametrize(
    ("code", "words"), [("1 / 0", "ZeroDivisionError"), ("1 +", "SyntaxError"), ("\0", "null byte")]
)
def test_code_that_fails(code: str, words: str) -> None:
    """A traceback on standard error that names the line, and status 1."""
    done = process("shell", input=f"print('before')\n{code}\n".encode())
    assert done.returncode == 1
    assert words in done.stderr.decode()
    if code == "1 / 0":
        assert done.stdout == b"before\n"
        assert 'File "<stdin>", line 2' in done.stderr.decode()
        assert "scapy_mpa" not in done.stderr.decode()


def test_code_that_leaves() -> None:
    """``exit`` ends with the status that it asks for."""
    output(stdin="raise SystemExit(7)", status=7)


def test_a_file_that_is_no_capture(tmp_path: Path) -> None:
    """One line on standard error, and 2, before any code is run."""
    done = process("shell", tmp_path / "none.pcap", "-c", "print(1)")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().endswith("there is no such file; check the name\n")


def test_a_capture_of_which_nothing_can_be_followed(tmp_path: Path) -> None:
    """One line on standard error; the code is run all the same."""
    path = tmp_path / "arp.pcap"
    path.write_bytes(pcapfile.pcap([bytes(12) + b"\x08\x06" + bytes(28)] * 3))
    done = process("shell", path, RPING, "-c", "print(len(files))")
    assert (done.returncode, done.stdout) == (0, b"2\n")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"scapy-mpa: {path}: nothing can be followed in 3 frames: 3 not IP; ")


@pytest.mark.parametrize("captures", [[], [RPING], [RPING, MIX]])
def test_banner(captures: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Says what was loaded, and five lines that can be typed."""
    monkeypatch.chdir(tmp_path)
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


def test_names() -> None:
    """Those of Scapy, of the layers and of crafting; ours where both have one."""
    known: dict[str, Any] = names(Loaded())
    assert {"IP", "TCP", "sniff", "FPDU", "RDMAPWrite", "MPASession", "rdmpa"} <= known.keys()
    assert known["Conversation"] is Conversation
    assert known["FPDU"].__module__.startswith("scapy_mpa.")


def typed(lines: list[str], env: dict[str, str], *arguments: str) -> str:
    """What a terminal shows when lines are typed at it, one at each prompt."""
    import pty

    master, slave = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "shell", *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**env, "TERM": "dumb", "IPY_TEST_SIMPLE_PROMPT": "1"},
        start_new_session=True,
    ) as running:
        os.close(slave)
        shown = ""
        upto = time.monotonic() + 60
        prompts = 0
        while time.monotonic() < upto:
            ready, _, _ = select.select([master], [], [], 1)
            if ready:
                try:
                    octets = os.read(master, 1 << 16)
                except OSError:
                    break
                if not octets:
                    break
                shown += octets.decode(errors="replace")
            if len(re.findall(r"^(?:>>> |In \[\d+\]: )", shown, re.MULTILINE)) > prompts and lines:
                prompts += 1
                os.write(master, lines.pop(0).encode() + b"\n")
        running.kill()
        os.close(master)
    return shown


@posix
def test_terminal_without_ipython(home: dict[str, str], tmp_path: Path) -> None:
    """Python's own console shows the banner, knows ``pkts``, and ends at exit()."""
    hidden = tmp_path / "hide"
    hidden.mkdir()
    # Found by nobody who looks for a module.
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'IPython' else find(name, *rest)\n"
    )
    home["PYTHONPATH"] = os.pathsep.join([str(hidden), home["PYTHONPATH"]])
    shown = typed(["len(pkts) * 1000", "undefined", "exit()"], home, RPING)
    assert "Worth typing:" in shown
    assert f"pkts: {len(rdmpa(RPING))} packets of {RPING}" in shown
    assert f"\n{len(rdmpa(RPING)) * 1000}" in shown.replace("\r", "")
    assert "NameError" in shown


@posix
@pytest.mark.skipif(
    importlib.util.find_spec("IPython") is None, reason="install IPython to run this test"
)
def test_terminal_with_ipython(home: dict[str, str]) -> None:
    """IPython shows the banner, and knows ``pkts`` and the layers."""
    shown = typed(["len(pkts) * 1000", "FPDU.__name__ * 2", "exit()"], home, RPING)
    assert "Worth typing:" in shown
    assert f"{len(rdmpa(RPING)) * 1000}" in shown
    assert "FPDUFPDU" in shown


def test_help() -> None:
    """Says how to load captures and run code."""
    shown = process("shell", "--help").stdout.decode()
    assert "scapy-mpa shell trace.pcap < script.py" in shown
    assert sys.executable not in shown

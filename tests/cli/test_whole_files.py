# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands write files completely, or leave the earlier file unchanged.

Lost output is reported: a full disk, a closed stream, a reader that has gone.
"""

import contextlib
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import BinaryIO

import pytest

from tests.clean.cleaning import frames_of
from tests.cli.command import PCAPS, RPING, environment, process, run
from tests.cli.running import on_linux, posix, running

COMMANDS: dict[str, Callable[[Path], tuple[object, ...]]] = {
    "clean": lambda target: ("clean", "-q", RPING, "-o", target),
    "craft": lambda target: ("craft", "read", "-o", target),
    "truth": lambda target: ("craft", "read", "-o", os.devnull, "--truth", target),
}
"""Commands that write to a named file."""

NO_CACHE = environment(PYTHONDONTWRITEBYTECODE="1")
"""With a limit on the size of files, Python would leave parts of compiled modules."""
OLD = b"the earlier file"


def listing(directory: Path) -> dict[str, bytes]:
    """The files of a directory with their octets, hidden ones included."""
    return {each.name: each.read_bytes() for each in directory.iterdir() if each.is_file()}


@contextlib.contextmanager
def unchanged(target: Path, before: bytes | None) -> Iterator[None]:
    """Check that a file stays unchanged or absent, and that no other file is left beside it."""
    if before is not None:
        target.write_bytes(before)
    there = listing(target.parent)
    yield
    assert listing(target.parent) == there


def limited(octets: int) -> Callable[[], None]:
    """Limit the size of the files that a process writes, as on a full disk."""
    resource = pytest.importorskip("resource")
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (octets, octets))


@posix
@pytest.mark.parametrize(("command", "before"), [("clean", None), *((c, OLD) for c in COMMANDS)])
def test_disk_is_full(command: str, before: bytes | None, tmp_path: Path) -> None:
    """One line is printed, the status is 2, and the file is unchanged."""
    target = tmp_path / "out.pcapng"
    with unchanged(target, before):
        done = process(*COMMANDS[command](target), preexec_fn=limited(100), env=NO_CACHE)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.startswith(f"scapy-mpa: {target}: ".encode())
    assert b"cannot be written (File too large)" in done.stderr


@posix
@pytest.mark.parametrize(
    ("preset", "capture", "truth", "reason"),
    [
        ("read", "x.pcapng", "none/t", "No such file"),
        ("read", "-", "none/t", "No such file"),
        ("read", "none/x", "t", "No such file"),
        # The truth is longer than the capture.
        ("read", "x.pcapng", "t", "File too large"),
        # The capture is longer, and all of it waits in a buffer.
        ("immediate --segment tiny", "x.pcapng", "t", "File too large"),
    ],
)
def test_capture_and_truth_are_written_both_or_neither(
    preset: str, capture: str, truth: str, reason: str, tmp_path: Path
) -> None:
    """If one of them cannot be written, the other is not either."""
    words = ("craft", *preset.split(), "-o", capture, "--truth", truth, "--payload")
    done = process(*words, cwd=tmp_path, preexec_fn=limited(12000), env=NO_CACHE)
    assert (done.returncode, done.stdout, listing(tmp_path)) == (2, b"", {})
    assert f"cannot be written ({reason}" in done.stderr.decode()


@posix
def test_disk_is_full_while_fuzz_writes(tmp_path: Path) -> None:
    """The captures that remain are complete, and no earlier manifest describes them."""
    command = ("fuzz", "--force", "-o", tmp_path, "--only", "*/rule-3-*reje*")
    (tmp_path / "manifest.jsonl").write_bytes(OLD)
    done = process(*command, preexec_fn=limited(3000), env=NO_CACHE)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b".part" not in done.stderr
    left = listing(tmp_path)
    assert left
    for name in left:
        assert name.endswith(".pcapng")
        frames_of(tmp_path / name)


@on_linux
@pytest.mark.parametrize(("name", "before"), [("SIGINT", None), ("SIGTERM", OLD), ("SIGHUP", OLD)])
def test_signals(name: str, before: bytes | None, tmp_path: Path) -> None:
    """One line is printed, the status is that of shells, and the file is unchanged."""
    target, number = tmp_path / "out.pcapng", getattr(signal, name)
    with unchanged(target, before), running("clean", "-q", "-", "-o", target) as it:
        it.read(RPING.read_bytes())
        printed, message, status = it.end(number)
    assert (printed, status) == (b"", 128 + number)
    assert message.splitlines()[-1] == f"scapy-mpa: {target}: not written, stopped by {name}"


@on_linux
def test_ignored_signal(tmp_path: Path) -> None:
    """After ``nohup`` the work goes on, and the file is written in the end."""
    target, expected = tmp_path / "out.pcapng", tmp_path / "expected.pcapng"
    with running("clean", "-q", "-", "-o", target, ignored=[signal.SIGHUP]) as it:
        it.read(RPING.read_bytes())
        it.process.send_signal(signal.SIGHUP)
        it.stdin.close()
        assert it.process.wait(30) == 0
    run("clean", RPING, "-o", expected)
    assert listing(tmp_path) == dict.fromkeys(
        ["out.pcapng", "expected.pcapng"], expected.read_bytes()
    )


@posix
@pytest.mark.parametrize("command", COMMANDS)
def test_mode_and_links(command: str, tmp_path: Path) -> None:
    """The umask gives the mode of a new file. A replaced file keeps its mode.

    A symbolic link stays one, whether its target existed or not.
    """
    directory = tmp_path / "there"
    directory.mkdir()
    link, target = tmp_path / "out.pcapng", directory / "out.pcapng"
    link.symlink_to(os.path.join("there", "out.pcapng"))
    mask = os.umask(0o027)
    try:
        for mode in (0o640, 0o604):
            assert run(*COMMANDS[command](link)).exit_code == 0
            assert link.is_symlink()
            assert stat.S_IMODE(target.stat().st_mode) == mode
            assert target.stat().st_size > 100
            target.write_bytes(b"short")
            target.chmod(0o604)
    finally:
        os.umask(mask)
    assert os.listdir(directory) == ["out.pcapng"]


@posix
@pytest.mark.parametrize("command", COMMANDS)
def test_named_pipe_is_written_directly(command: str, tmp_path: Path) -> None:
    """A named pipe is written directly, and stays one."""
    expected, fifo = tmp_path / "expected.pcapng", tmp_path / "fifo.pcapng"
    run(*COMMANDS[command](expected))
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()), daemon=True)
    reader.start()
    assert run(*COMMANDS[command](fifo)).exit_code == 0
    reader.join(30)
    assert fifo.is_fifo()
    assert read == [expected.read_bytes()]


@contextlib.contextmanager
def no_privileges() -> Iterator[None]:
    """Have no rights of root on files."""
    before = os.geteuid()
    os.seteuid(before or 65534)
    try:
        yield
    finally:
        os.seteuid(before)


@posix
def test_file_without_write_permission() -> None:
    """It is not replaced, although anybody may write to its directory."""
    # Other users cannot enter tmp_path.
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "out.pcapng"
        target.parent.chmod(0o777)
        octets = RPING.read_bytes()
        command = ("clean", "-q", "-", "-o", target)
        # This also imports all modules, which may be closed to other users, too.
        assert run(*command, stdin=octets).exit_code == 0
        with unchanged(target, OLD):
            target.chmod(0o444)
            with no_privileges():
                result = run(*command, stdin=octets)
    assert result.exit_code == 2
    assert "Permission denied" in result.stderr


SCENARIO = b"initiator send 10\n"
READ = {
    "clean -o": ("capture", RPING.read_bytes()),
    "craft -o": ("scenario", SCENARIO),
    f"craft -o {os.devnull} --truth": ("scenario", SCENARIO),
}
"""By a command without its input and target, what it reads."""


@posix
@pytest.mark.parametrize("link", [None, os.symlink, os.link], ids=["itself", "symbolic", "hard"])
@pytest.mark.parametrize("source", ["by its name", "-", "/dev/stdin"])
@pytest.mark.parametrize("words", READ)
def test_input_is_not_overwritten(
    words: str, source: str, link: Callable[[Path, Path], None] | None, tmp_path: Path
) -> None:
    """The same file is refused as input and output, also under different names."""
    command, *options = words.split()
    noun, octets = READ[words]
    path = target = tmp_path / "in"
    path.write_bytes(octets)
    if link is not None:
        target = tmp_path / "other"
        link(path, target)
    name = path if source == "by its name" else source
    with unchanged(target, None), path.open("rb") as file, standard_input(file):
        result = run(command, name, *options, target, stdin=octets)
    assert result.exit_code == 2
    message = f"scapy-mpa: {target}: that is the {noun} itself; write to another file\n"
    assert result.stderr == message


@contextlib.contextmanager
def standard_input(file: BinaryIO) -> Iterator[None]:
    """Open a file as standard input of this process."""
    kept = os.dup(0)
    os.dup2(file.fileno(), 0)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)


@posix
@pytest.mark.parametrize("source", ["-", "by its name"])
def test_capture_is_not_appended_to_itself(source: str, tmp_path: Path) -> None:
    """It is refused: the growing file would be read for ever."""
    path = tmp_path / "in.pcap"
    path.write_bytes(RPING.read_bytes())
    given = path if source == "by its name" else source
    with unchanged(path, None), open(path, "rb") as file, open(path, "ab") as appended:
        streams = {"stdin": file, "stdout": appended, "stderr": subprocess.PIPE}
        done = process("clean", given, "-o", "-", capture_output=False, **streams)
    assert done.returncode == 2
    assert b"standard output: that is the capture itself" in done.stderr


FULL = "/dev/full"
LARGE = PCAPS / "seqwrap_client_crcon.pcap.gz"
CLOSED = "scapy-mpa: standard output was closed"

# Only Linux must have it, and CI runs on Linux: there the tests fail without it.
needs_full = pytest.mark.skipif(
    not os.path.exists(FULL) and "CI" not in os.environ, reason="there is no /dev/full"
)

PRINTING = {
    "help": ["--help"],
    "version": ["--version"],
    "help of a command": ["clean", "--help"],
    "dissect": ["dissect", LARGE],
    "dissect with an option": ["dissect", "--json", LARGE],
    "summary": ["summary", "--json", LARGE],
    "clean": ["clean", "-q", LARGE, "-o", "-"],
    "craft": ["craft", "large-message", "-o", "-"],
    "truth": ["craft", "send", "-o", os.devnull, "--truth", "-"],
    "presets": ["craft", "--list"],
    "catalogue": ["fuzz", "--list", "--only", "*crc*"],
    "case": ["fuzz", "-o", ".", "--case", "rfc5044/4.3/fpduptr-not-pointing"],
    "shell": ["shell", "-c", "print(1)"],
}
"""Commands that write to standard output, by what they write."""


def close_reader() -> None:
    """Make standard output a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)


LOST = {
    "| true": close_reader,
    f">{FULL}": lambda: os.dup2(os.open(FULL, os.O_WRONLY), 1),
    ">&-": lambda: os.close(1),
    ">&- 2>&-": lambda: os.closerange(1, 3),
}
"""Redirections of a shell, and their effect on a process before it runs."""


def lost(redirected: str, arguments: list[object], directory: Path) -> tuple[int, str]:
    """Exit status and standard error of a command whose output is redirected."""
    options = {"capture_output": False, "cwd": directory, "preexec_fn": LOST[redirected]}
    streams = {"stdin": DEVNULL, "stdout": DEVNULL, "stderr": PIPE}
    done = process(*arguments, **options, **streams)
    return done.returncode, done.stderr.decode()


STREAMS = [
    *((what, f">{FULL}", "No space left on device") for what in PRINTING if what != "shell"),
    *((what, ">&-", "it is not open") for what in ("help", "dissect", "clean", "shell")),
    # If standard error is lost too, nothing can be reported.
    *((what, ">&- 2>&-", None) for what in ("version", "dissect", "clean")),
]


@needs_full
@pytest.mark.examples
@pytest.mark.parametrize(("what", "redirected", "reason"), STREAMS)
def test_lost_streams(
    what: str, redirected: str, reason: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line reports the loss, and the status is 2, with and without Python's buffers."""
    message = f"scapy-mpa: .*standard output cannot be written \\({reason}\\).*\n" if reason else ""
    for unbuffered in ("", "1") if what == "dissect" else ("",):
        monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
        status, stderr = lost(redirected, PRINTING[what], tmp_path)
        assert status == 2
        assert re.fullmatch(message, stderr)


@posix
@pytest.mark.parametrize(
    "what", ["clean", "craft", "dissect", "dissect with an option", "summary", "presets", "shell"]
)
def test_closed_pipe(what: str, tmp_path: Path) -> None:
    """Output into a closed pipe, as with ``| head -1``, stops the command with status 2.

    Lists end without a message: their reader has read enough.
    """
    messages = {"clean": f"{CLOSED}, so cleaning stopped\n", "craft": f"{CLOSED}\n"}
    assert lost("| true", PRINTING[what], tmp_path) == (2, messages.get(what, ""))


@needs_full
def test_stream_that_is_not_needed(tmp_path: Path) -> None:
    """A command does not fail if it has nothing to write to a full disk."""
    target = tmp_path / "new.pcapng"
    assert lost(f">{FULL}", ["clean", "-q", RPING, "-o", target], tmp_path) == (0, "")
    assert target.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


def test_other_failures() -> None:
    """A file that cannot be used is named: standard output has no part in it."""
    code = "from scapy_mpa.cli import main; main._serve = lambda: open('gone'); main.main()"
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, env=environment()
    )
    assert (done.returncode, done.stderr) == (2, b"scapy-mpa: gone: No such file or directory\n")
